"""Parse the tools and the context that the user's application offers. All of it comes from a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.agents.tool import BUILTIN_TOOLS, TOOL_NAME
from baton.domain.errors import InvalidRequest, MessageTooLarge
from baton.domain.schemas.json_schema import check_client_schema
from baton.domain.threads.client_offer import ClientOffer, ClientTool, ContextItem
from baton.domain.threads.content import is_within

MAX_TOOLS = 64
MAX_TOOLS_BYTES = 64 * 1024
"""Bytes of all tools as JSON."""
MAX_DESCRIPTION = 4_000
"""Characters of a tool's description."""
MAX_SCHEMA_DEPTH = 32
MAX_SCHEMA_VALUES = 2_000
"""Values in the schemas of all tools together."""
MAX_CONTEXT = 64
MAX_CONTEXT_BYTES = 64 * 1024
"""Bytes of all context as JSON."""
MAX_ABOUT = 1_000
"""Characters of the description of an item of context."""

# Controls, and characters that change the direction of the text after them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def client_offer(tools: object, context: object) -> ClientOffer | None:
    """Parse ``tools`` and ``context`` of a request; None if there are none.

    Raises ``InvalidRequest``, and ``MessageTooLarge`` for more than 64 KB of either.
    """
    offered, notes = _list(tools, "tools", MAX_TOOLS), _list(context, "context", MAX_CONTEXT)
    if not offered and not notes:
        return None
    _json(offered, "tools", MAX_TOOLS_BYTES)
    _json(notes, "context", MAX_CONTEXT_BYTES)
    return ClientOffer(_tools(offered), tuple(map(_context_item, range(len(notes)), notes)))


def _list(value: object, name: str, most: int) -> Sequence[Mapping[str, Any]]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise InvalidRequest(f"{name} must be a list of objects.")
    if len(value) > most:
        raise InvalidRequest(f"{name} must have at most {most} entries.")
    if not is_within(value, MAX_SCHEMA_DEPTH + 2, MAX_SCHEMA_VALUES + 8 * most):
        raise InvalidRequest(f"{name} is nested too deep, or holds too many values.")
    return value


def _json(value: object, name: str, most: int) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise InvalidRequest(f"{name} holds a number that JSON cannot represent.") from None
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise MessageTooLarge(f"{name} must be at most {most // 1024} KB of JSON.")
    return text


def _tools(offered: Sequence[Mapping[str, Any]]) -> tuple[ClientTool, ...]:
    tools: dict[str, ClientTool] = {}
    for number, fields in enumerate(offered):
        tool = _tool(fields, f"tools[{number}]")
        if tool.name in tools:
            raise InvalidRequest(f"tools[{number}].name: two tools are named {tool.name!r}.")
        tools[tool.name] = tool
    return tuple(tools.values())


def _tool(fields: Mapping[str, Any], where: str) -> ClientTool:
    name, description = fields.get("name"), fields.get("description", "")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise InvalidRequest(f"{where}.name must be 1 to 64 letters, digits, _ and -.")
    if BUILTIN_TOOLS.fullmatch(name):
        raise InvalidRequest(f"{where}.name: {name!r} is a name of Baton's own tools.")
    if not isinstance(description, str) or len(description) > MAX_DESCRIPTION:
        raise InvalidRequest(f"{where}.description must be a string of at most {MAX_DESCRIPTION} characters.")
    try:
        parameters = check_client_schema(fields.get("parameters"))
    except ValueError as error:
        raise InvalidRequest(f"{where}.parameters: {str(error)[:300]}.") from None
    return ClientTool(name, _printable(description), parameters)


def _context_item(number: int, fields: Mapping[str, Any]) -> ContextItem:
    description, value = fields.get("description"), fields.get("value")
    if not isinstance(description, str) or len(description) > MAX_ABOUT:
        raise InvalidRequest(f"context[{number}].description must be a string of at most {MAX_ABOUT} characters.")
    if not isinstance(value, str):
        raise InvalidRequest(f"context[{number}].value must be a string.")
    return ContextItem(_printable(description), _printable(value))


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text).strip()

"""Repair answers of MCP servers: an optional member of the wrong form must not cost the answer, or a list its tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ValidationError

Received = SessionMessage | Exception

BLOCKS: Mapping[Any, type[BaseModel]] = {
    "text": types.TextContent,
    "image": types.ImageContent,
    "audio": types.AudioContent,
    "resource": types.EmbeddedResource,
    "resource_link": types.ResourceLink,
}
"""Each kind of content."""
UNUSED = frozenset({"outputSchema", "icons"})
"""Members of tools that nothing here reads, and that clients check."""


@asynccontextmanager
async def repaired(transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[Any, None]:
    """Connect by ``transport``, and repair the results that it receives."""
    async with transport as (received, sent):
        yield _Repaired(received), sent


def repair(result: dict[str, Any]) -> dict[str, Any]:
    """Return a list of tools, or the result of a tool, without optional members of the wrong form.

    Tools that lack a name or a schema are left out; content of the wrong form is named.
    """
    fields = dict(result)
    if isinstance(fields.get("tools"), list):
        fields["tools"] = [tool for raw in fields["tools"] if (tool := _tool(raw)) is not None]
    if isinstance(fields.get("content"), list):
        fields["content"] = [_block(raw) for raw in fields["content"]]
    if "structuredContent" in fields and not isinstance(fields["structuredContent"], dict):
        value = fields.pop("structuredContent")
        if value is not None:
            fields["structuredContent"] = {"result": value}
    return fields


def _tool(value: Any) -> dict[str, Any] | None:
    used = {name: member for name, member in value.items() if name not in UNUSED} if isinstance(value, dict) else value
    fit = _fit(used, types.Tool)
    if fit is None:
        return None
    schema = {"type": "object", **{key: part for key, part in fit["inputSchema"].items() if part is not None}}
    forms = {"properties": dict, "required": list}
    is_usable = schema["type"] == "object" and all(isinstance(schema.get(key, of()), of) for key, of in forms.items())
    return {**fit, "inputSchema": schema} if is_usable else None


def _block(value: Any) -> Any:
    kind = BLOCKS.get(value.get("type")) if isinstance(value, dict) else None
    fit = _fit(value, kind) if kind is not None else None
    return fit if fit is not None else {"type": "text", "text": "[Content of a kind that is not understood here.]"}


def _fit(value: Any, kind: type[BaseModel]) -> dict[str, Any] | None:
    """Return the object without its wrong optional members; None if a required one is wrong or missing."""
    try:
        kind.model_validate(value, by_name=False)
    except ValidationError as error:
        wrong = {error["loc"][0] if error["loc"] else None for error in error.errors()}
        required = {field.alias or name for name, field in kind.model_fields.items() if field.is_required()}
        if None in wrong or wrong & required:
            return None
        return {name: member for name, member in value.items() if name not in wrong}
    fit: dict[str, Any] = value
    return fit


class _Repaired:
    """A stream of received messages, whose results are repaired."""

    def __init__(self, received: Any) -> None:
        self._received = received

    @property
    def last_context(self) -> Any:
        return getattr(self._received, "last_context", None)

    async def receive(self) -> Received:
        return _repaired(await self._received.receive())

    async def aclose(self) -> None:
        await self._received.aclose()

    def __aiter__(self) -> _Repaired:
        return self

    async def __anext__(self) -> Received:
        return _repaired(await self._received.__anext__())

    async def __aenter__(self) -> _Repaired:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _repaired(received: Received) -> Received:
    message = received.message if isinstance(received, SessionMessage) else None
    if isinstance(message, types.JSONRPCResponse):
        message.result = repair(message.result)
    return received

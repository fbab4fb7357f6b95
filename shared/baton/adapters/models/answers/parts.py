"""Parts of answers that are not validated: their values may have any type, and their calls any id."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from baton.domain.errors import ModelUnavailable
from baton.domain.json_values import load_json
from baton.domain.runs.tool_call import ToolCall


class TooManyParts(Exception):
    """The answer has more calls, blocks or fragments than any model makes."""


def get_text(value: object) -> str:
    """Return ``value`` if it is a text; an empty text for any other value."""
    return value if isinstance(value, str) else ""


def get_mapping(value: object) -> Mapping[str, Any]:
    """Return ``value`` if it is an object; an empty object for any other value."""
    return value if isinstance(value, Mapping) else {}


def is_object(text: str) -> bool:
    """Return whether a text is a complete JSON object."""
    return isinstance(load_json(text), dict)


def make_call_id() -> str:
    """Return an id for a call that has none."""
    return f"call_{uuid.uuid4().hex[:24]}"


def make_unique_calls(drafts: Iterable[tuple[str, str, str]]) -> list[ToolCall]:
    """Return the calls for ids, names and arguments. Raises ``ModelUnavailable`` if a call has no name.

    A missing id, and an id that an earlier call has, is replaced by a new one. Results are matched by unique ids, but
    some endpoints send no ids, or the same id for every call.
    """
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for call_id, name, arguments in drafts:
        if not name:
            raise ModelUnavailable
        unique = call_id if call_id and call_id not in taken else make_call_id()
        taken.add(unique)
        calls.append(ToolCall(unique, name, arguments))
    return calls

"""JSON texts and values: their counts and limits, the object in a model's text, and schemas of objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn


def find_json_object(text: str, *, mends_lists: bool = False) -> dict[str, Any] | None:
    """Return the JSON object of a text, which may be in a code block or between other words.

    None without an object, and for a text that is another JSON value. ``NaN`` and infinities are not JSON.
    ``mends_lists``: an object that was cut in its last member, a list of objects, is returned with the whole elements.
    """
    whole = _load(text)
    if whole is not None:
        return whole if isinstance(whole, dict) else None
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    for ending in ("", "]}") if mends_lists else ("",):
        loaded = _load(text[start : end + 1] + ending)
        if isinstance(loaded, dict):
            return loaded
    return None


def load_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; None for a text that is not JSON, and for ``null``."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def make_closed_object(properties: Mapping[str, Any], *, optional: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an object that has ``properties``, all of them but the ``optional`` ones, and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def write_canonical_text(value: Any) -> str:
    """Return JSON text that is the same for equal values. ``1`` and ``1.0`` are equal, ``1`` and ``true`` are not."""
    return json.dumps(_convert_whole_numbers(value), sort_keys=True)


def _convert_whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _convert_whole_numbers(member) for name, member in value.items()}
    return [_convert_whole_numbers(member) for member in value] if isinstance(value, list) else value


def _load(text: str) -> Any:
    """Return the value of a JSON text; None for ``null``, and for a text that is not JSON, such as one with ``NaN``."""
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_constant=refuse_constant)
    return None


def refuse_constant(constant: str) -> NoReturn:
    """Raise ``ValueError`` for ``NaN`` and infinities: ``parse_constant`` of ``json.loads``."""
    raise ValueError(f"{constant} is no JSON")


MAX_MEMBERS = 1_000
"""Members of one object in a request. Validation reports each unknown member, and collects all reports before one is
used. Free maps (a client's state, metadata, arguments of tools) have the same limit."""
_COMMA, _OBJECT = b",{"
_OPENING = b"[{"
_NO_MARKS = bytes(set(range(256)) - set(b",[]{}"))
_NO_OBJECT = -(2**60)
"""The initial count within a list, so low that its elements never count as members."""


class ValueCount:
    """A count of commas and opening brackets outside strings, which is at least the number of values less one.

    The text may come in pieces, cut anywhere. The count is exact for valid JSON and takes about 5 ms a megabyte.
    """

    def __init__(self) -> None:
        self.count = 0
        self._in_string = False
        self._is_escaped = False

    def add(self, piece: bytes) -> int:
        """Count a piece and return the count so far."""
        outside = self._take_outside(piece)
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        return self.count

    def _take_outside(self, piece: bytes) -> bytes:
        """Return the part of the next piece that is outside strings."""
        if self._is_escaped and piece:
            piece, self._is_escaped = piece[1:], False
        if b"\\" in piece:
            slashes = len(piece) - len(piece.rstrip(b"\\"))
            if slashes % 2:
                piece, self._is_escaped = piece[:-1], True
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"')
        outside = b"".join(parts[1 if self._in_string else 0 :: 2])
        self._in_string ^= len(parts) % 2 == 0
        return outside

    def end_line(self) -> None:
        """End a line. JSON strings contain no line ends, so no string is open after it."""
        self._in_string = self._is_escaped = False


class MemberCount(ValueCount):
    """A count of values, and of the largest object's members. It takes up to 8 ms for 128 KB of brackets alone."""

    def __init__(self) -> None:
        super().__init__()
        self.members = 0
        """The number of members of the largest object so far."""
        self._above: list[int] = []
        self._members = _NO_OBJECT

    def add(self, piece: bytes) -> int:
        """Count a piece and return the count of values so far."""
        outside = self._take_outside(piece)
        for mark in outside.translate(None, _NO_MARKS):
            if mark == _COMMA:
                self._members += 1
            elif mark in _OPENING:
                self._above.append(self._members)
                self._members = 1 if mark == _OBJECT else _NO_OBJECT
            else:
                self.members = max(self.members, self._members)
                self._members = self._above.pop() if self._above else _NO_OBJECT
        self.members = max(self.members, self._members)
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        return self.count


def count_values(text: str | bytes) -> int:
    """Return the count of a whole text: see ``ValueCount``."""
    return ValueCount().add(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))


def is_within(value: object, levels: int, values: int) -> bool:
    """Return whether a JSON value has at most ``levels`` of nesting and contains at most ``values`` values."""
    level, remaining = [value], values
    for _ in range(levels + 1):
        containers = [part for part in level if isinstance(part, dict | list)]
        if not containers:
            return True
        level = []
        for container in containers:
            remaining -= len(container)
            if remaining < 0:
                return False
            level += container.values() if isinstance(container, dict) else container
    return False

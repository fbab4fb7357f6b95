"""Fields of a message that later requests send back to its endpoint, joined from the pieces of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.runs.provider_parts import MAX_WITHHELD_BYTES
from baton.domain.text import replace_surrogates

_JOINED = ("text", "thinking", "summary", "data", "signature")
"""Texts of entries that arrive in pieces."""
MAX_ENTRIES = 2_000
"""The maximum number of entries of a list that are kept."""
OF_THE_API = frozenset({"annotations", "audio", "content", "function_call", "name", "refusal", "role", "tool_calls"})
"""Fields of a message that OpenAI's API knows."""
THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Fields of a delta with thinking as text."""
_MISSING = object()


class ReplayedFields:
    """The unknown fields of one message. Texts are joined, entries of lists by their index."""

    def __init__(self, names: Sequence[str]) -> None:
        """``names`` are the fields that are sent back to the endpoint. Others are kept in case it asks for them."""
        self._names = names
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, _Entries] = {}
        self._others: dict[str, Any] = {}
        self._room = MAX_WITHHELD_BYTES
        """The characters left for fields that are not sent back. Below 0, none of these fields is kept."""

    def take(self, delta: Mapping[str, Any]) -> int:
        """Take the fields of a delta. Return the approximate number of their characters that are sent back.

        Thinking that is text is left out, because the answer's reader counts it.
        """
        size = sum(self._add_field(name, delta.get(name)) for name in self._names)
        for name in delta.keys() - OF_THE_API if self._room >= 0 else ():
            if name not in self._names and delta[name] is not None:
                self._room -= len(str(delta[name]))
                self._add_field(name, delta[name])
        return size

    def _add_field(self, name: str, value: Any) -> int:
        """Add to a field. Return its added characters, 0 for thinking that is text."""
        if isinstance(value, str):
            self._texts.setdefault(name, []).append(value)
            return 0 if name in THINKING_FIELDS else len(value)
        if isinstance(value, list):
            return self._lists.setdefault(name, _Entries()).take(value)
        if value is None:
            return 0
        self._others[name] = value
        return len(str(value))

    @property
    def replayed(self) -> dict[str, Any]:
        """The fields that are sent back."""
        return {name: value for name, value in self.joined.items() if name in self._names}

    @property
    def withheld(self) -> dict[str, Any]:
        """The fields that are not sent back unless the endpoint asks for them."""
        return {name: value for name, value in self.joined.items() if name not in self._names and self._room >= 0}

    @property
    def joined(self) -> dict[str, Any]:
        """All non-empty fields, with their pieces joined as in a message that is not streamed."""
        texts = {name: replace_surrogates("".join(pieces)) for name, pieces in self._texts.items()}
        lists = {name: entries.joined for name, entries in self._lists.items()}
        fields = {**texts, **lists, **self._others}
        return {name: value for name, value in fields.items() if value}


class _Entries:
    """The entries of a list, each of which may arrive in pieces."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._pieces: list[dict[str, list[str]]] = []
        """The unjoined texts of each entry. Joining them piece by piece would take quadratic time."""
        self._places: dict[tuple[str, str], int] = {}
        """The place of the newest entry of a type and index."""

    @property
    def joined(self) -> list[dict[str, Any]]:
        """The entries, with their texts joined."""
        return [
            {**entry, **{key: replace_surrogates("".join(texts)) for key, texts in pieces.items()}}
            for entry, pieces in zip(self._entries, self._pieces, strict=True)
        ]

    def take(self, values: Sequence[Any]) -> int:
        """Take entries, and return how many characters they add. Values that pieces repeat are not counted."""
        return sum(self._take(entry) for entry in values if isinstance(entry, Mapping))

    def _take(self, entry: Mapping[str, Any]) -> int:
        """Add an entry, or continue an earlier one with it. Return the characters that it adds.

        Entries beyond ``MAX_ENTRIES`` are dropped, and add 0.
        """
        position, size = self._find_continued_place(entry), 0
        if position is None:
            if len(self._entries) >= MAX_ENTRIES:
                return 0
            position = len(self._entries)
            self._entries.append({})
            self._pieces.append({})
            self._places[_get_kind(entry)] = position
        whole, pieces = self._entries[position], self._pieces[position]
        for key, value in entry.items():
            if key in _JOINED and isinstance(value, str) and (key in pieces or key not in whole):
                pieces.setdefault(key, []).append(value)
                whole.setdefault(key, None)
                size += len(value)
            elif (value is not None or key not in whole) and whole.get(key, _MISSING) != value:
                whole[key] = value
                pieces.pop(key, None)
                size += len(key) + len(str(value))
        return size

    def _find_continued_place(self, entry: Mapping[str, Any]) -> int | None:
        """Return the place of the entry that ``entry`` continues; None if it is a new one."""
        position = self._places.get(_get_kind(entry))
        if position is None or entry.get("index") is not None:
            return position
        is_whole = any(self._pieces[position].get("signature", ())) or self._entries[position].get("signature")
        return None if is_whole or entry.get("type") == "redacted_thinking" or "id" in entry else position


def _get_kind(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the type and the index of an entry, as texts."""
    return str(entry.get("type")), str(entry.get("index"))

"""Fields of a message that its endpoint wants back, joined from the pieces of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_JOINED = ("text", "thinking", "summary", "data", "signature")
"""Texts of entries that arrive in pieces."""
MAX_ENTRIES = 2_000


class ReplayedFields:
    """The fields of one message. Texts are joined, entries of lists by their index."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._others: dict[str, Any] = {}

    def take(self, extra: Mapping[str, Any]) -> int:
        """Take the unknown fields of a delta, and return their size in characters, of lists and objects roughly."""
        size = 0
        for name in self._names:
            value = extra.get(name)
            if isinstance(value, str):
                self._texts.setdefault(name, []).append(value)
            elif isinstance(value, list):
                size += len(str(value))
                for entry in value:
                    self._take_entry(self._lists.setdefault(name, []), entry)
            elif value is not None:
                size += len(str(value))
                self._others[name] = value
        return size

    @property
    def joined(self) -> dict[str, Any]:
        """The fields as one message has them, without empty ones."""
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        found = {**texts, **self._lists, **self._others}
        return {name: value for name, value in found.items() if value}

    @staticmethod
    def _take_entry(entries: list[dict[str, Any]], entry: Any) -> None:
        if not isinstance(entry, Mapping):
            return
        index = entry.get("index")
        same = next((each for each in reversed(entries) if _continues(each, entry, index)), None)
        if same is None:
            if len(entries) < MAX_ENTRIES:
                entries.append(dict(entry))
            return
        for key, value in entry.items():
            if key in _JOINED and isinstance(value, str) and isinstance(same.get(key), str):
                same[key] += value
            elif value is not None:
                same[key] = value


def _continues(earlier: Mapping[str, Any], entry: Mapping[str, Any], index: object) -> bool:
    if earlier.get("type") != entry.get("type"):
        return False
    if index is not None:
        return bool(earlier.get("index") == index)
    return not earlier.get("signature") and earlier.get("type") != "redacted_thinking" and "id" not in entry

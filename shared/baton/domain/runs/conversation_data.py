"""The data that tools keep in a conversation: a small JSON object that is committed with the turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from baton.domain.json_values import write_canonical_text

MAX_DATA_BYTES = 8 * 1024
"""Bytes of the data as compact JSON. They are read and written with the thread."""


@dataclass(frozen=True, slots=True)
class DataChange:
    """The fields that one call has set or removed."""

    values: Mapping[str, Any] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Mapping[str, Any], after: Mapping[str, Any]) -> Self | None:
        """Return the change between the two; None if they are equal. Raises ``ValueError`` if ``after`` is not JSON."""
        plain = _as_json(after)
        # To Python, true equals 1, and [false] equals [0].
        values = {
            name: value
            for name, value in plain.items()
            if name not in before or write_canonical_text(before[name]) != write_canonical_text(value)
        }
        removed = tuple(name for name in before if name not in plain)
        return cls(values, removed) if values or removed else None


class ConversationData:
    """The data during a run. Each call works on a copy, and its changes are applied once it has succeeded."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        """``values`` is the stored data; None if none was ever stored."""
        self.values = values

    def copy(self) -> dict[str, Any]:
        """Return a copy that a function may change."""
        return deepcopy(dict(self.values or {}))

    def apply(self, change: DataChange) -> None:
        """Apply a change. Of simultaneous calls that set the same field, the last one wins.

        Raises ``ValueError``, and changes nothing, if the data would be too large or has text that UTF-8 lacks.
        """
        remaining = {name: value for name, value in (self.values or {}).items() if name not in change.removed}
        values = {**remaining, **change.values}
        size = len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode())
        if size > MAX_DATA_BYTES:
            raise ValueError(
                f"The state of the conversation would have {size} bytes; at most {MAX_DATA_BYTES} are kept."
            )
        self.values = values


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        encoded = json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"The state of the conversation must hold JSON values only: {problem}.") from None
    plain: dict[str, Any] = json.loads(encoded)
    return plain

"""Secrets of the operator: model keys, embed keys."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    """Secrets by name. Thread-safe; blocks for a network call when the value is not cached.

    Every method raises ``NotFound`` for a secret without a value and ``StoreUnavailable`` when the store does not
    answer and no recent value is known.
    """

    def get(self, name: str) -> str:
        """The value, at most some minutes old."""
        ...

    def renewed(self, name: str) -> str:
        """The value, at most some seconds old: for a caller to whom the known one no longer fits (rotation)."""
        ...

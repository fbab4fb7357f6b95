"""Secrets of the operator: model keys, embed keys."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    """Secrets by name. Thread-safe; blocks for a network call when the value is not cached.

    Every method raises ``NotFound`` for a secret without a value, and ``StoreUnavailable`` if the store does not
    answer and no recent value is cached.
    """

    def get(self, name: str) -> str:
        """Return the value, at most some minutes old."""
        ...

    def renewed(self, name: str) -> str:
        """Return the value, at most some seconds old, for a caller whose value stopped working (rotation)."""
        ...

"""The numbers of items that a restore puts back, replaces, removes and leaves alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class ItemCounts:
    """Numbers of items of a conversation, of a partition or of a whole restore."""

    items: Counter[str] = field(default_factory=Counter)
    """The items that were put back, by kind."""
    removable: Counter[str] = field(default_factory=Counter)
    """Missing items that were left out, because somebody may have removed them, by kind."""
    replaced: int = 0
    removed: int = 0
    differing: int = 0
    """Items that differ, and were left alone."""

    def add(self, more: ItemCounts) -> None:
        """Add the numbers of another part."""
        self.items += more.items
        self.removable += more.removable
        self.replaced += more.replaced
        self.removed += more.removed
        self.differing += more.differing

"""The numbers of items that a restore puts back, replaces, removes and keeps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class ItemCounts:
    """The numbers of items of a conversation, of a partition or of a whole restore."""

    items: Counter[str] = field(default_factory=Counter)
    """The numbers of items that were put back, by kind."""
    removable: Counter[str] = field(default_factory=Counter)
    """The numbers of missing items that were left out because they may have been removed on purpose, by kind."""
    contradicting: int = 0
    """The number of missing items that were left out because they contradict newer ones."""
    replaced: int = 0
    removed: int = 0
    differing: int = 0
    """The number of differing items that were kept."""

    def add(self, more: ItemCounts) -> None:
        """Add the numbers of another part."""
        self.items += more.items
        self.removable += more.removable
        self.contradicting += more.contradicting
        self.replaced += more.replaced
        self.removed += more.removed
        self.differing += more.differing

"""The halves of what one release begins and another continues."""

from __future__ import annotations

from typing import Protocol

from tests.upgrade.people import World


class Matter(Protocol):
    """Something that is in the middle of its work when the release changes."""

    def begin(self, world: World) -> None:
        """Do the first half, with the release that writes."""

    def go_on(self, world: World) -> None:
        """Do the second half, with the release that reads, and check everything that a user sees of both."""

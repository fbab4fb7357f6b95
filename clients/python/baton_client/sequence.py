"""The order of a conversation's events: which event is next, which was read already, and which are missing."""

from __future__ import annotations

import enum

from baton_client.events import AnyEvent, EventType, metadata_of, seq_of


class Place(enum.Enum):
    """The place of an event among those that were read."""

    NEXT = "next"
    REPEATED = "repeated"
    BEHIND_GAP = "behind_gap"
    """Events before it are missing: ask for the events after ``Sequence.last``."""


class Sequence:
    """A check of events' numbers, which grow by one, except after a worker that died (``previousSeq``)."""

    def __init__(self, after: int | None = None) -> None:
        """``after`` is the number of the last known event; without it the first event may have any number."""
        self.last = after or 0
        self._is_restart = after is None
        self._gap_asked_at: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether there is a number to continue from."""
        return not self._is_restart

    def take(self, event: AnyEvent) -> Place:
        """Return an event's place.

        An event behind a gap is not taken the first time, so that the missing events are requested. The second time it
        is taken, because the server no longer has them.
        """
        seq = seq_of(event)
        if seq is None:
            # The log does not reach back to the number asked for: messages stand for the events that are gone.
            if event.type == EventType.MESSAGES_SNAPSHOT and not metadata_of(event).get("replayed"):
                self._is_restart = True
            return Place.NEXT
        if not self._is_restart and seq <= self.last:
            return Place.REPEATED
        if not self._is_next(event, seq) and self._gap_asked_at != self.last:
            self._gap_asked_at = self.last
            return Place.BEHIND_GAP
        self.last = seq
        self._is_restart = False
        return Place.NEXT

    def _is_next(self, event: AnyEvent, seq: int) -> bool:
        previous = metadata_of(event).get("previousSeq")
        return self._is_restart or seq == self.last + 1 or (isinstance(previous, int) and previous <= self.last)

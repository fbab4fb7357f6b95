"""A call for a turn: who asks, for what, until when, and where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.domain.queued import RecordDelivery
from baton.outbox.outbox import Emit
from baton.outbox.subscriber import Subscriber
from baton.ports.queue_records import HeldRecord
from baton.requests.turn_requests import TurnRequest


class StillWaiting(Exception):
    """Answers were kept; others are still missing."""


@dataclass(frozen=True, slots=True)
class TurnCall:
    """One caller of ``Turns`` and how to reach it."""

    scope: Scope
    request: TurnRequest
    emit: Emit
    deadline: float
    """Event loop time at which the turn must have ended."""
    wait_until: float
    """Event loop time at which the caller stops waiting for the thread to be free."""
    subscriber: Subscriber | None = None
    gives_up: bool = False
    """Whether the run is to be ended as interrupted, without an answer."""
    record: HeldRecord | None = None
    """The queue record it came with; None: over HTTP."""

    @property
    def delivery(self) -> RecordDelivery | None:
        """The delivery of the queue record, for which the lease is wanted."""
        return delivery_of(self.record)


def delivery_of(record: HeldRecord | None) -> RecordDelivery | None:
    """What a lease is wanted for that is taken while the record is worked on."""
    return record.delivery if record is not None else None


def once_each(emit: Emit) -> Emit:
    """Drop what was given out before: a run that was followed is replayed when it turns out to be finished."""
    last_seq = 0

    def emit_new(event: Event) -> None:
        nonlocal last_seq
        if event.seq is not None:
            if event.seq <= last_seq:
                return
            last_seq = event.seq
        emit(event)

    return emit_new


def discard(event: Event) -> None:
    """Take an event that nobody waits for: a run that is taken over has no caller."""

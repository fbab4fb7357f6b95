"""One call of ``Turns``: its caller, its request, its deadlines, and the receiver of its events."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.domain.threads.queued import RecordDelivery, Subscriber
from baton.domain.threads.turn_requests import TurnRequest
from baton.memory.early_recall import EarlyRecall
from baton.ports.threads.turn_queue import HeldRecord
from baton.tenants.rates import RunPermit
from baton.threads.outbox.outbox import Emit


@dataclass(frozen=True, slots=True)
class TurnCall:
    """One request to ``Turns``, with the ways to reach its caller."""

    scope: Scope
    request: TurnRequest
    emit: Emit
    deadline: float
    """Event loop time at which the turn must have ended."""
    wait_until: float
    """Event loop time at which the caller stops waiting for the thread to be free."""
    subscriber: Subscriber | None = None
    gives_up: bool = False
    """True to end the run as interrupted, without an answer."""
    record: HeldRecord | None = None
    """The queue record of the request; None if it came over HTTP."""
    permit: RunPermit | None = None
    """The permit of the limits; None if nothing limits the run, or it was accepted before."""
    early: EarlyRecall | None = None
    """The search of the user's past for the message; None if it begins with the run, or there is none."""

    @property
    def delivery(self) -> RecordDelivery | None:
        """The delivery of the queue record that the lease is taken for; None without a record."""
        return delivery_of(self.record)


def delivery_of(record: HeldRecord | None) -> RecordDelivery | None:
    """Return the delivery of ``record`` that a lease is taken for; None without a record."""
    return record.delivery if record is not None else None


def once_each(emit: Emit) -> Emit:
    """Return an ``Emit`` that drops repeated events, because a followed run is replayed once it has finished."""
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
    """Drop the event: no caller waits for it."""

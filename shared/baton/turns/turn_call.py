"""One caller who wants a turn, and how to reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.outbox.subscriber import Subscriber
from baton.ports.queue_records import HeldRecord
from baton.requests.turn_requests import TurnRequest

Emit = Callable[[Event], None]


class StillWaiting(Exception):
    """Answers were kept; others are still missing."""


@dataclass(frozen=True, slots=True)
class TurnCall:
    """One caller of ``Turns.run`` and how to reach it."""

    scope: Scope
    request: TurnRequest
    emit: Emit
    deadline: float
    """Event loop time at which the turn must have ended."""
    wait_until: float
    """Event loop time at which the caller stops waiting for the thread to be free."""
    subscriber: Subscriber | None
    gives_up: bool = False
    record: HeldRecord | None = None
    """The queue record it came with; None: over HTTP."""


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

"""Sending a run's events: number each event, keep it for the log, pass it to the caller, post it to connections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ag_ui.core import BaseEvent

from baton.domain.threads.events import Event
from baton.threads.outbox.delivery import Delivery
from baton.threads.outbox.event_log import EventLog

Emit = Callable[[Event], None]
"""Takes an event for the caller of the turn."""


def discard(event: Event) -> None:
    """Drop the event: no caller waits for it."""


def drop_repeats(emit: Emit) -> Emit:
    """Return an ``Emit`` that passes each event to ``emit`` once: a followed run is replayed once it has finished."""
    last_seq = 0

    def emit_new(event: Event) -> None:
        nonlocal last_seq
        if event.seq is not None:
            if event.seq <= last_seq:
                return
            last_seq = event.seq
        emit(event)

    return emit_new


class Outbox:
    """The events of one attempt at a run, sent in order. While it is closed, as it is at first, they wait."""

    def __init__(self, log: EventLog, delivery: Delivery, emit: Emit) -> None:
        self.log = log
        self.delivery = delivery
        self._emit = emit
        self._waiting: list[BaseEvent] | None = []

    @property
    def is_open(self) -> bool:
        """True if events are sent at once."""
        return self._waiting is None

    def close(self) -> None:
        """Hold later events back."""
        if self._waiting is None:
            self._waiting = []

    def open(self) -> None:
        """Send the waiting events, and send later events at once."""
        waiting, self._waiting = self._waiting or (), None
        for event in waiting:
            self.send(event)

    def number_waiting(self) -> Sequence[Event]:
        """Return the waiting events with their numbers, for ``send_numbered``. Later events are sent at once."""
        waiting, self._waiting = self._waiting or (), None
        return [self.log.number(event) for event in waiting]

    def discard_waiting(self) -> None:
        """Drop the waiting events without sending them, and hold later events back."""
        self._waiting = []

    def send_heartbeat(self, event: Event) -> None:
        """Send a heartbeat, unless the run's first event has yet to be sent."""
        if self._waiting is None:
            self.send_numbered([event])

    def send(self, event: BaseEvent) -> None:
        """Number the event and send it."""
        if self._waiting is not None:
            self._waiting.append(event)
        else:
            self.send_numbered([self.log.number(event)])

    def send_numbered(self, events: Iterable[Event]) -> None:
        """Send events that are numbered already, or that have no number."""
        events = list(events)
        for event in events:
            self._emit(event)
        self.delivery.post(events)

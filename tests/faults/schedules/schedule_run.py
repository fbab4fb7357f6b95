"""One schedule: who comes when, what goes wrong at which of their requests; and what must be true in the end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import StrEnum

from baton.domain.errors import (
    BatonError,
    LeaseLost,
    MessageIdConflict,
    StoreUnavailable,
    ThreadBusy,
    ThreadUnavailable,
)
from baton.domain.threads.events import Event
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import EndReason
from baton.entry.actions import Caller
from tests.faults.schedules.held_record import Held
from tests.faults.schedules.processes import Process, ProcessLoop
from tests.faults.schedules.screen import Said, Screen
from tests.faults.schedules.simulation import Fault, Simulation, SlowModel

PATIENCE_SECONDS = 45.0
"""Of a caller over HTTP who hears nothing."""
DELIVERIES = 7


class ArrivalKind(StrEnum):
    """A request and its interface."""

    BY_SOCKET = "a message by socket"
    BY_HTTP = "a message by HTTP"
    CLOSE = "a close"
    RESUME = "a resume"
    CANCEL = "a cancel"


@dataclass(frozen=True)
class Arrival:
    """Somebody comes. Messages that fail come again; of the faults, each delivery but the first two has none."""

    kind: ArrivalKind
    message_id: str = "m1"
    content: str = "Hello"
    at: float = 0.0
    faults: tuple[tuple[int, int, Fault], ...] = ()
    """Number of the delivery, number of its request, what happens there."""


@dataclass(frozen=True)
class Plan:
    """A schedule, whole: carried out twice, it goes the same way."""

    arrivals: tuple[Arrival, ...]
    delays: tuple[int, ...] = (1,)
    model_seconds: float = 0.3
    failing: frozenset[int] = frozenset()


class ScheduleRun:
    """A plan being carried out."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.loop = ProcessLoop()
        self.simulation = Simulation(self.loop, SlowModel(plan.model_seconds, plan.failing), plan.delays)
        self._harness = self.simulation.harness
        self._answered: dict[str, str] = {}
        """Content of the messages whose answer somebody has received."""
        self._emitted: list[tuple[str, list[Event]]] = []
        self._stuck: list[str] = []
        self._processes: list[Process] = []

    def run(self) -> None:
        """Raises ``AssertionError`` with the story of what led there."""
        try:
            self.loop.run_until_complete(self._carry_out())
        except AssertionError as error:
            raise AssertionError("\n".join((str(error), *self.simulation.trace))) from None
        finally:
            self.loop.run_until_complete(self.simulation.end(self._processes))
            self.loop.close()

    @property
    def first_requests(self) -> int:
        """The number of requests of the first process."""
        return self._processes[0].operations

    async def _carry_out(self) -> None:
        expires = self._harness.clock.now().replace(year=2041)
        await self._harness.live.attach(self._harness.ada, self.simulation.thread_id, "tab", expires)
        await asyncio.gather(*(self._arrive(number, arrival) for number, arrival in enumerate(self._plan.arrivals)))
        await asyncio.sleep(120)  # anybody who was frozen has gone on, whatever lease was left has run out
        await self._recover()
        await self._check()

    async def _arrive(self, number: int, arrival: Arrival) -> None:
        await asyncio.sleep(arrival.at)
        for delivery in range(DELIVERIES):
            process = Process(f"{arrival.kind.value} {number}.{delivery}")
            self.simulation.faults[process.name] = {step: fault for d, step, fault in arrival.faults if d == delivery}
            self._processes.append(process)
            held = Held(RecordDelivery(f"record-{number}", delivery + 1))
            task = self.loop.start(process, self._deliver(number, arrival, held))
            task.add_done_callback(lambda end: end.cancelled() or end.exception())  # nobody may be waiting for it
            if arrival.kind is ArrivalKind.BY_SOCKET:
                keeper = self.loop.start(process, held.keep_hidden())
                await held.wait_for_end(task)
                if task.done():
                    keeper.cancel()
            else:
                await asyncio.wait([task], timeout=PATIENCE_SECONDS)
            if task.done() and _is_over(task):
                return
            if task.done() or arrival.kind is not ArrivalKind.BY_SOCKET:
                await asyncio.sleep(2)
        self._stuck.append(f"{arrival} was never carried out")

    async def _deliver(self, number: int, arrival: Arrival, held: Held) -> None:
        harness, thread_id = self._harness, self.simulation.thread_id
        match arrival.kind:
            case ArrivalKind.BY_SOCKET:
                subscriber = harness.subscriber(f"connection-{number}")
                request = harness.request(arrival.message_id, arrival.content)
                await self.simulation.turns.run(
                    harness.ada,
                    request,
                    lambda event: None,
                    seconds=60,
                    patience=20,
                    subscriber=subscriber,
                    record=held,
                )
                self._is_answered(arrival)
            case ArrivalKind.BY_HTTP:
                events: list[Event] = []
                request = harness.request(arrival.message_id, arrival.content)
                await self.simulation.turns.run(harness.ada, request, events.append, seconds=60)
                self._is_answered(arrival)
                self._emitted.append((arrival.message_id, events))
            case ArrivalKind.CLOSE:
                await self.simulation.closer.close(harness.ada, thread_id, EndReason.USER_CLOSED, patience=20)
            case ArrivalKind.RESUME:
                screen = Screen()
                screen.show(harness.connections.events("tab"))
                now = harness.clock.now()
                caller = Caller(harness.ada, "tab", f"request-{number}", now.replace(year=2041), now)
                frame = {"action": "resume", "threadId": thread_id, "after": screen.seen}
                await self.simulation.actions.handle(caller, json.dumps(frame))
                if harness.queue.sent:  # the resume asked for a takeover
                    await self.simulation.turns.finish_interrupted(harness.ada, thread_id)
            case ArrivalKind.CANCEL:
                run_id = harness.request(arrival.message_id).run_id
                await self.simulation.live.request_cancel(harness.ada, thread_id, run_id)

    def _is_answered(self, arrival: Arrival) -> None:
        content = self._answered.setdefault(arrival.message_id, arrival.content)
        assert content == arrival.content, f"{arrival.message_id} was answered with two contents"

    async def _recover(self) -> None:
        """Finish the remaining work without further faults."""
        try:
            await self.simulation.turns.finish_interrupted(self._harness.ada, self.simulation.thread_id)
        except ThreadUnavailable:
            assert not self._answered

    async def _check(self) -> None:
        assert not self._stuck, self._stuck
        row = self._harness.store.rows.get(("acme", self.simulation.thread_id))
        if row is None:
            return
        assert row.owner is None, "a lease is left"
        assert row.thread.run is None, "a run is left"
        messages = self._harness.store.committed("acme", self.simulation.thread_id)
        stored: list[Said] = [(message.id, message.text) for message in messages]
        ids = [message.id for message in messages]
        for arrival in self._plan.arrivals:
            if arrival.kind in (ArrivalKind.BY_SOCKET, ArrivalKind.BY_HTTP):
                assert arrival.message_id in ids, f"{arrival.message_id} was never answered"
        assert len(ids) == len(set(ids)), f"stored twice: {ids}"
        for message_id, content in self._answered.items():
            assert (message_id, content) in stored, f"{message_id} was answered and is not stored: {stored}"
        for connection_id in ("tab", *self._harness.connections.frames, "newcomer"):
            screen = Screen()
            frames = self._harness.connections.events(connection_id)
            assert all(frame.get("code") != "invalid_sequence" for frame in frames), "a client was ahead of the thread"
            screen.show(frames)
            replay = await self._harness.replays.replay_after(
                self._harness.ada, row.to_thread(self._harness.clock.now()), screen.seen
            )
            screen.show([event.body for event in (*([replay.snapshot] if replay.snapshot else []), *replay.events)])
            assert screen.messages == stored, f"{connection_id} shows {screen.messages}, stored is {stored}"
        for message_id, events in self._emitted:
            run_id = self._harness.request(message_id).run_id
            screen = Screen(seen=min((event.seq for event in events if event.seq is not None), default=1) - 1)
            screen.show([event.body for event in events])
            run = [(m.id, m.text) for m in messages if m.run_id == run_id]
            assert screen.messages == run, f"the caller of {message_id} was told {screen.messages}, stored is {run}"


def _is_over(task: asyncio.Task[None]) -> bool:
    """Return whether the record needs no further delivery."""
    error = task.exception()
    if error is None or isinstance(error, MessageIdConflict | ThreadUnavailable):
        return True
    if isinstance(error, LeaseLost | StoreUnavailable | ThreadBusy):
        return False
    assert isinstance(error, BatonError), f"{error!r}"
    raise AssertionError(f"refused: {error!r}")

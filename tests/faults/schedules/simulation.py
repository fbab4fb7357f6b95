"""The real turns over the stores in memory, where every request to the outside may be the last, late, or lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from baton.composition.app import build
from baton.domain.errors import ModelUnavailable, StoreUnavailable
from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, TextDelta
from baton.ports.threads.connections import ConnectionBusy
from baton_testing.fakes.clock import NOON, FakeClock
from tests.faults.schedules.processes import PROCESS, Process, ProcessLoop
from tests.harness.harness import Harness

FROZEN_SECONDS = 50.0
"""Longer than a lease, and than a queue record stays hidden."""
WATCHED = ("store", "log", "live", "connections", "records", "episodes")
"""The ports whose requests may be the last, late or lost."""


class Fault(StrEnum):
    """A fault at one request of one worker."""

    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    FREEZES_BEFORE = "freezes before"
    FREEZES_AFTER = "freezes after"
    FAILS = "fails"
    ANSWER_LOST = "is carried out, its answer lost"
    SLOW = "is slow"


class LoopClock(FakeClock):
    """A clock that goes with the event loop."""

    def now(self) -> datetime:
        try:
            passed = asyncio.get_running_loop().time()
        except RuntimeError:
            passed = 0.0
        # Real clocks have microseconds, and the table has none.
        return NOON + timedelta(seconds=round(passed, 3), microseconds=437)


class SlowModel:
    """A model that says something else each time it is asked, and fails on request."""

    def __init__(self, seconds: float, failing: frozenset[int]) -> None:
        self._seconds = seconds
        self._failing = failing
        self._requests = 0

    async def stream(self, *_: Any, **__: Any) -> AsyncGenerator[ModelChunk, None]:
        self._requests += 1
        number = self._requests
        for piece in range(4):
            await asyncio.sleep(self._seconds)
            if number in self._failing and piece == 2:
                raise ModelUnavailable
            yield TextDelta(f"{number}.{piece} ")
        yield Finished(FinishReason.STOP, "model", Usage(10, 4))


@dataclass
class Simulation:
    """A harness whose ports are watched; ``trace`` has the events, line by line."""

    loop: ProcessLoop
    model: SlowModel
    delays: Sequence[int] = (1,)
    """The durations of requests, in hundredths of a second, over and over."""
    trace: list[str] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        self.faults: dict[str, Mapping[int, Fault]] = {}
        """Of each process by name: the numbers of the requests at which something happens."""
        self.harness = harness = Harness(clock=LoopClock(seed=1))
        self.thread_id = harness.thread_id = "5f3d6c1e-0000-4000-8000-000000000001"
        self._requests = 0
        self._seen_by_monitor: tuple[int, int, int] = (0, 0, 0)
        self._committed: dict[int, tuple[str, str, str]] = {}
        self._taken_up: dict[str, str] = {}
        watched = {name: _Watched(name, getattr(harness, name), self._request) for name in WATCHED}
        app = build(harness.with_ports(model=self.model, **watched))
        self.live = app.ports.live
        self.turns, self.closer, self.actions = app.turns, app.closer, app.actions

    async def _request(self, call: str, carry_out: Callable[[], Awaitable[Any]]) -> Any:
        process = PROCESS.get()
        if self.is_over:
            raise StoreUnavailable
        if process is None:
            return await carry_out()
        number, process.operations = process.operations, process.operations + 1
        fault = self.faults.get(process.name, {}).get(number)
        note = f"{process.name} #{number} {call}"
        self._requests += 1
        delay = self.delays[self._requests % len(self.delays)] / 100
        await asyncio.sleep(delay + (3.0 if fault is Fault.SLOW else 0.0))
        if fault is not None:
            note += f" -- {fault.value}"
        self.trace.append(f"{self.loop.time():8.2f} {note}")
        if fault is Fault.DIES_BEFORE:
            await self._die(process)
        if fault is Fault.FREEZES_BEFORE:
            await self._freeze(process)
        if fault is Fault.FAILS:
            raise ConnectionBusy if call.startswith("connections") else StoreUnavailable
        try:
            answer = await carry_out()
        finally:
            self._look()
        if fault is Fault.DIES_AFTER:
            await self._die(process)
        if fault is Fault.FREEZES_AFTER:
            await self._freeze(process)
        if fault is Fault.ANSWER_LOST and not call.startswith("connections"):
            raise StoreUnavailable
        await asyncio.sleep(delay)
        return answer

    async def _die(self, process: Process) -> None:
        process.is_dead = True
        await asyncio.sleep(0)

    async def _freeze(self, process: Process) -> None:
        self.loop.freeze(process, FROZEN_SECONDS)
        await asyncio.sleep(0)

    def _look(self) -> None:
        """After every request: nothing goes back, and what was committed stays as it was."""
        row = self.harness.store.rows.get(("acme", self.thread_id))
        if row is None:
            return
        now = (row.fence, row.thread.next_ordinal, row.thread.last_seq)
        assert all(new >= old for new, old in zip(now, self._seen_by_monitor, strict=True)), "something went back"
        self._seen_by_monitor = now
        for (_, message_id), turn in self.harness.store.turns.items():
            first = self._taken_up.setdefault(message_id, turn.digest)
            assert turn.digest == first, f"{message_id} was taken up with one content and then with another"
        for message in self.harness.store.committed("acme", self.thread_id):
            what = (message.id, message.run_id, message.text)
            assert self._committed.setdefault(message.ordinal, what) == what, "a committed message changed"

    async def end(self, processes: Sequence[Process]) -> None:
        """Let every task come to its end without touching anything any more, those of the dead included."""
        self.is_over = True
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for process in processes:
            process.is_dead, process.frozen_until = False, 0.0
            self.loop.thaw(process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Watched:
    """A port, each of whose methods is announced before it is carried out."""

    def __init__(
        self, name: str, port: object, request: Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]
    ) -> None:
        self._name = name
        self._port = port
        self._request = request

    def __getattr__(self, method: str) -> Any:
        carry_out = getattr(self._port, method)

        async def carry_out_announced(*args: Any, **fields: Any) -> Any:
            return await self._request(f"{self._name}.{method}", lambda: carry_out(*args, **fields))

        return carry_out_announced

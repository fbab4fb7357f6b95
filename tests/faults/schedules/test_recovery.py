"""A dead worker's run goes on soon, and a living worker keeps its run however it is starved: in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from baton.domain.errors import ThreadBusy
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import USUAL_TIMES as TIMES
from baton.domain.times import from_millis
from tests.faults.schedules.held_record import Held
from tests.faults.schedules.processes import Process, ProcessLoop
from tests.faults.schedules.simulation import Simulation, SlowModel

WORD_SECONDS = 14.0
"""Between two words of the model, of which there are four: a run outlasts leases and what hides records."""


class Workers:
    """Workers at one thread, each a separate process."""

    def __init__(self, loop: ProcessLoop, delay: int = 1) -> None:
        """``delay``: hundredths of a second before each request takes effect, and again until it is answered."""
        self.loop = loop
        self.simulation = Simulation(loop, SlowModel(WORD_SECONDS, frozenset()), (delay,))
        self.harness = self.simulation.harness
        self.processes: list[Process] = []

    def start_work(self, receives: int, *, extends: bool = True) -> tuple[asyncio.Task[Any], Held, Process]:
        """Start a worker with the record; with ``extends``, it hides the record from other workers."""
        harness, process = self.harness, Process(f"worker {receives}")
        self.processes.append(process)
        held = Held(RecordDelivery("record", receives))
        if extends:
            self.loop.start(process, held.keep_hidden())
        subscriber, request = harness.subscriber("tab"), harness.request("m1")
        turn = self.simulation.turns.run(
            harness.ada, request, lambda event: None, seconds=600, patience=20, subscriber=subscriber, record=held
        )
        task = self.loop.start(process, turn)  # type: ignore[arg-type]
        task.add_done_callback(lambda end: end.cancelled() or end.exception())
        return task, held, process

    def call(self) -> tuple[asyncio.Task[Any], Process]:
        """Start the same request over HTTP."""
        harness, process = self.harness, Process(f"http {len(self.processes)}")
        self.processes.append(process)
        turn = self.simulation.turns.run(harness.ada, harness.request("m1"), lambda event: None, seconds=600)
        return self.loop.start(process, turn), process  # type: ignore[arg-type]

    async def attach_tab(self) -> None:
        """Attach the tab before a run that begins over HTTP."""
        token_expires_at = self.harness.clock.now().replace(year=2041)
        await self.simulation.live.attach(self.harness.ada, self.harness.thread_id, "tab", token_expires_at)

    @property
    def attempts(self) -> list[int]:
        """The attempts of which the tab has events, in order."""
        return list(dict.fromkeys(e["metadata"]["attempt"] for e in self.events if e["metadata"].get("attempt")))

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.harness.connections.events("tab")

    async def wait_for_event(self, attempt: int) -> None:
        """Wait until the tab has an event of an attempt."""
        while attempt not in self.attempts:  # noqa: ASYNC110 - time is virtual, and this looks on
            await asyncio.sleep(0.1)


def outcome_of(scenario: Callable[[Workers], Awaitable[None]], *, delay: int = 1) -> Workers:
    """Carry out a scenario in virtual time."""
    loop = ProcessLoop()
    workers = Workers(loop, delay)
    try:
        loop.run_until_complete(asyncio.wait_for(scenario(workers), 1_000))
    finally:
        loop.run_until_complete(workers.simulation.end(workers.processes))
        loop.close()
    return workers


def test_a_record_that_comes_again_goes_on_with_the_run_while_the_dead_workers_lease_lives() -> None:
    async def scenario(workers: Workers) -> None:
        _, held, worker = workers.start_work(1)
        await workers.wait_for_event(1)
        worker.is_dead = True
        died = workers.loop.time()
        await asyncio.sleep(held.count_seconds_left())
        workers.start_work(2)
        await workers.wait_for_event(2)
        assert workers.loop.time() - died < TIMES.hidden + 1 < TIMES.lease

    workers = outcome_of(scenario)
    started = next(event for event in workers.events if event["metadata"].get("attempt") == 2)
    assert (started["type"], started["metadata"]["previousSeq"]) == ("RUN_STARTED", 0)


def test_the_last_wills_of_a_dead_worker_let_its_run_go_on_at_once() -> None:
    async def scenario(workers: Workers) -> None:
        harness = workers.harness
        _, _, worker = workers.start_work(1)
        await workers.wait_for_event(1)
        worker.is_dead = True
        died = workers.loop.time()
        harness.store.rows["acme", harness.thread_id].until = from_millis(0)
        second, _, _ = workers.start_work(2)
        await workers.wait_for_event(2)
        assert workers.loop.time() - died < 1
        await second

    workers = outcome_of(scenario)
    assert workers.attempts == [1, 2]
    assert workers.events[-1]["type"] == "RUN_FINISHED"


def test_a_worker_that_cannot_extend_its_record_keeps_the_run() -> None:
    async def scenario(workers: Workers) -> None:
        first, held, _ = workers.start_work(1, extends=False)
        await workers.wait_for_event(1)
        await asyncio.sleep(held.count_seconds_left())
        second, _, _ = workers.start_work(2)
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([first])
        assert first.exception() is None

    workers = outcome_of(scenario)
    assert workers.attempts == [1]
    assert workers.events[-1]["type"] == "RUN_FINISHED"


def test_a_watcher_gets_everything_from_a_worker_whose_every_request_is_slow() -> None:
    async def scenario(workers: Workers) -> None:
        task, _, _ = workers.start_work(1)
        await task

    events = [event for event in outcome_of(scenario, delay=130).events if event["metadata"].get("seq")]
    assert [event["metadata"]["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")


@pytest.mark.parametrize("seconds", [5.0, 12.0, 25.0])
def test_a_starved_worker_loses_its_run_once_at_most(seconds: float) -> None:
    async def scenario(workers: Workers) -> None:
        receives, task = 1, None
        while task is None or not task.done() or task.exception() is not None:
            task, held, worker = workers.start_work(receives)
            receives += 1
            while not task.done() and held.count_seconds_left() > 0:
                await asyncio.sleep(3)
                workers.loop.freeze(worker, seconds)
                await asyncio.sleep(min(seconds, max(held.count_seconds_left(), 0)) + 0.01)

    workers = outcome_of(scenario)
    assert workers.attempts[-1] <= 2
    assert workers.events[-1]["type"] == "RUN_FINISHED"


def test_a_worker_that_has_lost_its_record_takes_over_no_run() -> None:
    async def scenario(workers: Workers) -> None:
        await workers.attach_tab()
        _, caller = workers.call()
        await workers.wait_for_event(1)
        caller.is_dead = True
        first, held, worker = workers.start_work(1, extends=False)
        workers.loop.freeze(worker, held.count_seconds_left() + 1)
        await asyncio.wait([first])
        assert isinstance(first.exception(), ThreadBusy)
        second, _, _ = workers.start_work(2)
        await second

    workers = outcome_of(scenario)
    assert workers.attempts == [1, 2]
    assert workers.events[-1]["type"] == "RUN_FINISHED"


def test_a_worker_that_wakes_up_after_its_successor_began_says_no_more() -> None:
    async def scenario(workers: Workers) -> None:
        first, held, worker = workers.start_work(1)
        await workers.wait_for_event(1)
        workers.loop.freeze(worker, 2 * TIMES.hidden)
        await asyncio.sleep(held.count_seconds_left())
        second, _, _ = workers.start_work(2)
        await asyncio.wait([first, second])
        assert first.exception() is not None

    workers = outcome_of(scenario)
    reported = [event["metadata"]["attempt"] for event in workers.events if event["metadata"].get("attempt")]
    assert reported == sorted(reported)
    assert set(reported) == {1, 2}


def test_a_caller_who_comes_back_takes_over_from_a_dead_one_before_its_lease_ends() -> None:
    async def scenario(workers: Workers) -> None:
        _, process = workers.call()
        await workers.attach_tab()
        await workers.wait_for_event(1)
        process.is_dead = True
        died = workers.loop.time()
        again, _ = workers.call()
        await workers.wait_for_event(2)
        assert workers.loop.time() - died < TIMES.lease / 2
        await again

    assert outcome_of(scenario).events[-1]["type"] == "RUN_FINISHED"


def test_a_caller_who_comes_back_leaves_a_living_worker_alone_however_silent_it_is() -> None:
    async def scenario(workers: Workers) -> None:
        first, _ = workers.call()
        await asyncio.sleep(0.5)
        again, _ = workers.call()
        await asyncio.gather(first, again)

    workers = outcome_of(scenario)
    [message] = [m for m in workers.harness.store.committed("acme", workers.harness.thread_id) if m.end is not None]
    assert message.attempt == 1


def test_a_living_worker_that_is_asked_for_a_sign_of_life_renews_its_lease_once() -> None:
    async def scenario(workers: Workers) -> None:
        harness = workers.harness
        workers.call()
        await asyncio.sleep(2)
        seen = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert seen.lease is not None
        for _ in range(2):
            await harness.live.ask(harness.ada, harness.thread_id, seen.lease)
            await asyncio.sleep(TIMES.answer / 2)
        renewals = [line for line in workers.simulation.trace if line.endswith("store.renew")]
        assert len(renewals) == 1
        now = await harness.store.get_thread(harness.ada, harness.thread_id)
        assert now.lease is not None
        assert now.lease.fence == seen.lease.fence
        assert now.lease.until > seen.lease.until

    outcome_of(scenario)


def test_a_run_that_was_taken_over_is_not_presumed_dead_again_when_its_worker_is_held_up() -> None:
    async def scenario(workers: Workers) -> None:
        await workers.attach_tab()
        _, dead = workers.call()
        await workers.wait_for_event(1)
        dead.is_dead = True
        second, held_up = workers.call()
        await workers.wait_for_event(2)
        workers.loop.freeze(held_up, TIMES.lease / 2)
        third, _ = workers.call()
        await asyncio.gather(second, third)

    workers = outcome_of(scenario)
    assert workers.attempts == [1, 2]
    assert workers.events[-1]["type"] == "RUN_FINISHED"


def test_who_follows_a_run_learns_of_its_workers_death_before_the_lease_ends() -> None:
    async def scenario(workers: Workers) -> None:
        harness = workers.harness
        reported: list[float] = []

        async def when_dead(*_: object) -> bool:
            reported.append(workers.loop.time())
            return False

        _, process = workers.call()
        await asyncio.sleep(1)
        process.is_dead = True
        died = workers.loop.time()
        async for _ in harness.app.follower.follow(
            harness.ada, harness.thread_id, after=0, seconds=60, when_dead=when_dead
        ):
            pass
        assert reported
        assert reported[0] - died < TIMES.lease / 2

    outcome_of(scenario)

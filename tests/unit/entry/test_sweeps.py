"""The sweeper handles sessions and runs that just stop; those that fail keep no other waiting."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from itertools import pairwise

import pytest

from baton.domain.errors import SearchUnavailable
from baton.domain.memory.episode import MAX_ATTEMPTS
from baton.domain.metrics import Metric, collect_counts
from baton.domain.threads.thread import EndReason, RunStatus, ThreadStatus
from baton.entry.jobs.sweep import MAX_PAUSE
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sessions import close, make_episode


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def test_an_idle_session_is_closed_by_timeout(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    harness.clock.advance(31 * 60)
    report = await harness.sweeper.sweep(seconds=5)
    assert report.closed == 1
    assert [ref.reason for ref in harness.closings.started.values()] == [EndReason.TIMEOUT]


async def test_a_session_that_went_on_is_looked_at_later(harness: Harness) -> None:
    await harness.say("m1")
    harness.clock.advance(20 * 60)
    await harness.say("m2")
    harness.clock.advance(11 * 60)
    report = await harness.sweeper.sweep(seconds=5)
    assert (report.closed, report.postponed) == (0, 1)
    harness.clock.advance(20 * 60)
    assert (await harness.sweeper.sweep(seconds=5)).closed == 1


async def test_a_message_that_comes_while_the_sweeper_looks_keeps_the_session(harness: Harness) -> None:
    await harness.say("m1")
    harness.clock.advance(31 * 60)
    harness.idle.seen = lambda: harness.say("m2")
    report = await harness.sweeper.sweep(seconds=5)
    assert (report.closed, report.postponed) == (0, 1)
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.ACTIVE
    assert (await harness.say("m3", patience=0)).seqs[0] == 13


async def test_a_run_that_dies_while_the_sweeper_looks_stays_to_be_taken_over(harness: Harness) -> None:
    async def die() -> None:
        harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1))
        dead = asyncio.ensure_future(harness.say("m2"))
        await harness.wait_for_requests(2)
        dead.cancel()
        await asyncio.wait([dead])

    await harness.say("m1")
    harness.clock.advance(31 * 60)
    harness.idle.seen = die
    assert (await harness.sweeper.sweep(seconds=5)).postponed == 1
    harness.idle.seen = None
    harness.clock.advance(60)
    assert (await harness.sweeper.sweep(seconds=5)).resumed == 1
    assert [queued.action for _, queued in harness.queue.sent] == ["takeover"]


async def test_sweeps_at_the_same_time_close_a_session_once(harness: Harness) -> None:
    await harness.say()
    harness.clock.advance(31 * 60)
    await asyncio.gather(*(harness.sweeper.sweep(seconds=5) for _ in range(4)))
    assert len(harness.closings.started) == 1
    closed = [r for r in harness.audit.records if r.outcome == "closed"]
    assert len(closed) == 1


async def test_a_thread_that_cannot_be_swept_is_counted_and_hinders_no_other(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    await harness.say("m1", thread_id=str(uuid.uuid4()))
    harness.clock.advance(31 * 60)
    harness.closings.failure = RuntimeError("no such state machine")
    report = await harness.sweeper.sweep(seconds=5)
    assert (report.looked_at, report.closed, report.failed) == (2, 1, 1)


async def test_a_sweep_queues_the_run_of_a_dead_worker(harness: Harness) -> None:
    harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1), "taken over")
    dead = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(31 * 60)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.run is not None
    assert thread.run.status is RunStatus.INTERRUPTED
    assert (await harness.sweeper.sweep(seconds=5)).resumed == 1
    assert [queued.action for _, queued in harness.queue.sent] == ["takeover"]
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.run, thread.next_ordinal) == (None, 2)


async def test_a_closing_that_got_stuck_is_started_again(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    harness.clock.advance(6 * 60)
    await harness.sweeper.sweep(seconds=5)
    assert sorted(attempt for _, attempt in harness.closings.started) == [1, 3]


async def test_a_closing_that_never_stores_an_episode_is_started_less_and_less(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    for _ in range(24 * 12):
        harness.clock.advance(5 * 60)
        await harness.sweeper.sweep(seconds=5)
    assert len(harness.closings.started) <= 14


async def test_a_settled_thread_is_not_looked_at_any_more(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    await make_episode(harness)
    harness.clock.advance(3600)
    assert (await harness.sweeper.sweep(seconds=5)).looked_at == 0


async def test_an_episode_with_missing_parts_is_completed_by_a_later_run(harness: Harness) -> None:
    for number in range(2):
        await harness.say(f"m{number}")
    await close(harness)
    harness.search.failure = SearchUnavailable()
    await make_episode(harness, failing=True)
    harness.search.failure = None
    harness.clock.advance(6 * 60)
    assert (await harness.sweeper.sweep(seconds=5)).resumed == 1
    assert len(harness.closings.started) == 2
    assert (await make_episode(harness)).missing == ()
    harness.clock.advance(24 * 3600)
    assert (await harness.sweeper.sweep(seconds=5)).looked_at == 0


async def test_an_episode_that_stays_incomplete_is_left_alone_in_the_end(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    harness.search.failure = SearchUnavailable()
    looked_at = 0
    for _ in range(MAX_ATTEMPTS + 5):
        await make_episode(harness, failing=True)
        harness.clock.advance(7 * 3600)
        looked_at += (await harness.sweeper.sweep(seconds=5)).looked_at
    assert looked_at == MAX_ATTEMPTS - 1


# Threads that fail


async def test_a_thread_that_cannot_be_looked_at_is_put_off_for_longer_each_time(harness: Harness) -> None:
    await harness.say()
    harness.idle.unreadable.add(harness.thread_id)
    harness.clock.advance(1800)
    looks: list[float] = []
    for _ in range(24 * 60):
        report = await harness.sweeper.sweep(seconds=5)
        if report.looked_at:
            assert report.failed == 1
            looks.append(harness.clock.now().timestamp())
        harness.clock.advance(60)
    pauses = [later - earlier for earlier, later in pairwise(looks)]
    assert pauses[:6] == [60, 120, 240, 480, 960, 1920]
    assert max(pauses) <= MAX_PAUSE.total_seconds() + 60


async def test_a_thread_that_can_be_looked_at_again_is_treated_like_any_other(harness: Harness) -> None:
    await harness.say()
    harness.idle.unreadable.add(harness.thread_id)
    harness.clock.advance(1800)
    for _ in range(3):
        await harness.sweeper.sweep(seconds=5)
        harness.clock.advance(240)
    harness.idle.unreadable.clear()
    assert (await harness.sweeper.sweep(seconds=5)).closed == 1
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.status is ThreadStatus.CLOSED


async def test_the_failures_of_a_sweep_are_counted(harness: Harness) -> None:
    await harness.say()
    harness.idle.unreadable.add(harness.thread_id)
    harness.clock.advance(1800)
    counts: Counter[Metric] = Counter()
    with collect_counts(counts.update):
        await harness.sweeper.sweep(seconds=5)
    assert counts == {Metric.SWEEP_FAILURES: 1, Metric.INTERNAL_FAULTS: 1}


async def test_a_sweep_that_leaves_something_is_counted(harness: Harness) -> None:
    await harness.say()
    harness.clock.advance(1800)
    counts: Counter[Metric] = Counter()
    with collect_counts(counts.update):
        report = await harness.sweeper.sweep(seconds=-1)
    assert (report.looked_at, report.is_complete) == (0, False)
    assert counts == {Metric.SWEEPS_UNFINISHED: 1}

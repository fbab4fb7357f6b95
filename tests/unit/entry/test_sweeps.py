"""The sweeper among threads that fail: each is left alone for a while, and keeps nobody waiting."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from baton.domain.metrics import Metric, counting
from baton.domain.thread import ThreadStatus
from baton.entry.sweep import MAX_PAUSE
from tests.harness.harness import Harness


@pytest.fixture
def harness() -> Harness:
    return Harness()


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
    with counting(counts.update):
        await harness.sweeper.sweep(seconds=5)
    assert counts == {Metric.SWEEP_FAILURES: 1}


async def test_a_sweep_that_leaves_something_is_counted(harness: Harness) -> None:
    await harness.say()
    harness.clock.advance(1800)
    counts: Counter[Metric] = Counter()
    with counting(counts.update):
        report = await harness.sweeper.sweep(seconds=-1)
    assert (report.looked_at, report.is_complete) == (0, False)
    assert counts == {Metric.SWEEPS_UNFINISHED: 1}

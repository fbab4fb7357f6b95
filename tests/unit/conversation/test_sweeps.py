"""The sweeper among threads that fail: each is left alone for a while, and keeps nobody waiting."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from baton.conversation.sweep import LONGEST_PAUSE
from baton.domain.metrics import Metric, counting
from baton.domain.thread import ThreadStatus
from tests.unit.conversation.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_a_thread_that_cannot_be_looked_at_is_put_off_for_longer_each_time(stage: Stage) -> None:
    await stage.say()
    stage.idle.unreadable.add(stage.thread_id)
    stage.clock.advance(1800)
    looks: list[float] = []
    for _ in range(24 * 60):
        report = await stage.sweeper.sweep(seconds=5)
        if report.looked_at:
            assert report.failed == 1
            looks.append(stage.clock.now().timestamp())
        stage.clock.advance(60)
    pauses = [later - earlier for earlier, later in pairwise(looks)]
    assert pauses[:6] == [60, 120, 240, 480, 960, 1920]
    assert max(pauses) <= LONGEST_PAUSE.total_seconds() + 60


async def test_a_thread_that_can_be_looked_at_again_is_treated_like_any_other(stage: Stage) -> None:
    await stage.say()
    stage.idle.unreadable.add(stage.thread_id)
    stage.clock.advance(1800)
    for _ in range(3):
        await stage.sweeper.sweep(seconds=5)
        stage.clock.advance(240)
    stage.idle.unreadable.clear()
    assert (await stage.sweeper.sweep(seconds=5)).closed == 1
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    assert thread.status is ThreadStatus.CLOSED


async def test_the_failures_of_a_sweep_are_counted(stage: Stage) -> None:
    await stage.say()
    stage.idle.unreadable.add(stage.thread_id)
    stage.clock.advance(1800)
    counts: Counter[Metric] = Counter()
    with counting(counts.update):
        await stage.sweeper.sweep(seconds=5)
    assert counts == {Metric.SWEEP_FAILURES: 1}


async def test_a_sweep_that_leaves_something_is_counted(stage: Stage) -> None:
    await stage.say()
    stage.clock.advance(1800)
    counts: Counter[Metric] = Counter()
    with counting(counts.update):
        report = await stage.sweeper.sweep(seconds=-1)
    assert (report.looked_at, report.is_complete) == (0, False)
    assert counts == {Metric.SWEEPS_UNFINISHED: 1}

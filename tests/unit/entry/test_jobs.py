"""Jobs of one invocation: whichever of them fail or hang, the others are done."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.errors import StoreUnavailable
from baton.domain.metrics import TIMES, Metric, collect_counts
from baton.entry.jobs.isolation import Job, JobsFailed, run_jobs
from baton_testing.virtual_time import VirtualTimeLoop

METRICS = [metric for metric in Metric if metric not in TIMES]


async def work(number: int) -> int:
    await asyncio.sleep(1)
    return number


async def fail(number: int) -> int:
    raise StoreUnavailable if number % 2 else KeyError(number)


async def hang(number: int) -> int:
    await asyncio.sleep(3600)
    return number


@given(st.lists(st.sampled_from([work, fail, hang]), max_size=6))
def test_the_other_jobs_are_done_and_each_failure_is_counted(kinds: list[Callable[[int], Awaitable[int]]]) -> None:
    done: list[int] = []
    counter: Counter[Metric] = Counter()

    async def run_and_note(number: int) -> int:
        result = await kinds[number](number)
        done.append(number)
        return result

    async def run() -> None:
        jobs = [
            Job(str(number), partial(run_and_note, number), METRICS[number], seconds=5) for number in range(len(kinds))
        ]
        failing = {METRICS[number]: 1 for number, kind in enumerate(kinds) if kind is not work}
        expected = Counter(failing)
        expected[Metric.INTERNAL_FAULTS] += sum(kind is fail and number % 2 == 0 for number, kind in enumerate(kinds))
        with collect_counts(counter.update):
            if failing:
                with pytest.raises(JobsFailed) as raised:
                    await run_jobs(jobs)
                assert len(raised.value.exceptions) == len(failing)
            else:
                assert await run_jobs(jobs) == {str(number): number for number in range(len(kinds))}
        assert counter == +expected

    loop = VirtualTimeLoop()
    loop.run_until_complete(run())
    loop.close()
    assert done == [number for number, kind in enumerate(kinds) if kind is work]

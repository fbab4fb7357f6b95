"""Runs of pipelines begin when there is room for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.documents.pipelines import LONGEST_RUN, Pipeline, PipelineLimits, PipelineRun, RunsInProgress
from baton.domain.errors import StoreUnavailable
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton_testing.fakes.clock import FakeClock
from tests.contracts.pipelines import run_of
from tests.fakes.pipelines import FakeExecutions, FakePipelineQueue


class Runs:
    """An admission over fakes, and the subjects of the runs that it has begun and that have not ended."""

    def __init__(self, at_once: int = 3, of_tenant: int = 2) -> None:
        self.clock = FakeClock()
        self.queue = FakePipelineQueue()
        self.executions = FakeExecutions()
        self.admission = PipelineAdmission(self.queue, self.executions, self.clock, PipelineLimits(at_once, of_tenant))
        self.finished_runs: set[str] = set()

    @property
    def begun_subjects(self) -> list[str]:
        """The subjects of the runs in the order in which they began."""
        return [run.subject for run in self.executions.started]

    @property
    def in_progress(self) -> list[PipelineRun]:
        return [run for run in self.executions.started if run.subject not in self.finished_runs]

    async def start(self, *runs: PipelineRun) -> None:
        for run in runs:
            self.clock.advance(1)
            await self.admission.start(run)

    async def end(self, subject: str) -> None:
        self.finished_runs.add(subject)
        await self.admission.note_end(Pipeline.CLOSING, subject)


async def test_a_run_waits_until_another_one_ends() -> None:
    runs = Runs(at_once=2)
    await runs.start(*(run_of("acme", f"s{number}") for number in range(4)))
    assert runs.begun_subjects == ["s0", "s1"]
    await runs.end("s1")
    assert runs.begun_subjects == ["s0", "s1", "s2"]
    await runs.end("s0")
    await runs.end("s2")
    assert runs.begun_subjects == ["s0", "s1", "s2", "s3"]


async def test_the_pipelines_do_not_wait_for_each_other() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "session"), run_of("acme", "document", Pipeline.INGESTION))
    assert runs.begun_subjects == ["session", "document"]


async def test_a_tenant_with_many_runs_leaves_room_for_others() -> None:
    runs = Runs(at_once=3, of_tenant=2)
    await runs.start(*(run_of("flood", f"f{number}") for number in range(20)), run_of("acme", "a0"))
    assert runs.begun_subjects == ["f0", "f1", "a0"]
    await runs.start(run_of("acme", "a1"), run_of("globex", "g0"))
    await runs.end("f0")
    assert runs.begun_subjects[3:] == ["g0"]  # the tenant with none in progress comes first
    await runs.end("f1")
    assert runs.begun_subjects[4:] == ["f2"]  # then of those with one, the one that has waited longest


async def test_a_run_that_waits_behind_others_begins_after_later_ones_of_its_tenant() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "s0"))
    for subject in ("old-1", "old-2"):
        await runs.admission.start(run_of("acme", subject), behind=timedelta(days=1))
    await runs.start(run_of("acme", "new"))
    for subject in ("s0", "new", "old-1", "old-2"):
        await runs.end(subject)
    assert runs.begun_subjects == ["s0", "new", "old-1", "old-2"]


async def test_an_attempt_that_is_repeated_begins_and_waits_once() -> None:
    runs = Runs(at_once=1)
    first, second = run_of("acme", "s1"), run_of("acme", "s2")
    await runs.start(first, second, first, second, replace(second, name="s2-2"), replace(first, name="s1-2"))
    assert runs.begun_subjects == ["s1"]
    await runs.end("s1")
    await runs.end("s2")
    assert runs.begun_subjects == ["s1", "s2"]
    assert not (await runs.queue.read_running(Pipeline.CLOSING)).slots


async def test_a_subject_is_pending_while_its_run_waits_or_is_in_progress() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "s1"), run_of("acme", "s2"))

    async def pending() -> list[bool]:
        return [await runs.admission.is_pending(Pipeline.CLOSING, subject) for subject in ("s1", "s2", "s3")]

    assert await pending() == [True, True, False]
    await runs.end("s1")
    assert await pending() == [False, True, False]
    await runs.end("s2")
    assert await pending() == [False, False, False]


async def test_a_run_that_cannot_be_started_leaves_its_place() -> None:
    runs = Runs(at_once=1)
    runs.executions.is_down = True
    with pytest.raises(StoreUnavailable):
        await runs.start(run_of("acme", "s1"))
    runs.executions.is_down = False
    await runs.start(run_of("acme", "s2"))
    assert runs.begun_subjects == ["s2"]


async def test_a_run_whose_worker_died_before_it_began_begins_with_a_later_attempt() -> None:
    runs = Runs()
    run = run_of("acme", "s1")
    before = await runs.queue.read_running(Pipeline.CLOSING)
    await runs.queue.save_running(Pipeline.CLOSING, before.begin(run, runs.clock.now()))
    await runs.start(replace(run, name="s1-2"))
    assert [entry.name for entry in runs.executions.started] == [run.name]


async def test_what_has_ended_already_takes_no_place() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "s1"))
    await runs.end("s1")
    await runs.start(run_of("acme", "s1"), run_of("acme", "s2"))  # a late repetition of the first
    assert runs.begun_subjects == ["s1", "s2"]


async def test_a_run_without_an_end_loses_its_place() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "dead"), run_of("acme", "s2"))
    runs.clock.advance(LONGEST_RUN.total_seconds() - 10)
    assert await runs.admission.admit_all() == 0
    runs.clock.advance(20)
    assert await runs.admission.admit_all() == 1
    assert runs.begun_subjects == ["dead", "s2"]


async def test_runs_of_an_engine_that_has_ended_hold_no_places() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "dead"), run_of("acme", "s2"))
    runs.clock.advance(10)
    restarted = replace(runs.admission, since=runs.clock.now() - timedelta(seconds=1))
    assert await restarted.admit_all() == 1
    assert runs.begun_subjects == ["dead", "s2"]


async def test_the_end_of_a_run_succeeds_though_the_next_one_does_not_begin() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "s1"), run_of("acme", "s2"))
    runs.executions.is_down = True
    await runs.end("s1")
    runs.executions.is_down = False
    assert await runs.admission.admit_all() == 1
    assert runs.begun_subjects == ["s1", "s2"]


async def test_many_that_start_at_once_stay_within_the_limits() -> None:
    runs = Runs(at_once=5, of_tenant=3)
    await asyncio.gather(*(runs.admission.start(run_of(f"t{number % 4}", f"s{number}")) for number in range(100)))
    assert len(runs.begun_subjects) == 5
    while runs.in_progress:
        for run in runs.in_progress:
            await runs.end(run.subject)
            counts = Counter(entry.tenant_id for entry in runs.in_progress)
            assert sum(counts.values()) <= 5
            assert max(counts.values(), default=0) <= 3
    assert sorted(runs.begun_subjects) == sorted(f"s{number}" for number in range(100))


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30)), max_size=60), st.integers(1, 4), st.integers(1, 4)
)
async def test_every_run_begins_once_within_the_limits_and_in_its_tenants_order(
    steps: list[tuple[str, int]], at_once: int, of_tenant: int
) -> None:
    runs = Runs(at_once, of_tenant)
    request: dict[str, list[str]] = {}
    for tenant_id, number in steps:
        if number % 3 == 0 and runs.in_progress:
            await runs.end(runs.in_progress[number % len(runs.in_progress)].subject)
        else:
            subject = f"{tenant_id}{number}"
            if subject not in request.setdefault(tenant_id, []):
                request[tenant_id].append(subject)
            await runs.start(run_of(tenant_id, subject))
        counts = Counter(run.tenant_id for run in runs.in_progress)
        assert sum(counts.values()) <= at_once
        assert max(counts.values(), default=0) <= of_tenant
    while runs.in_progress:
        await runs.end(runs.in_progress[0].subject)
    for tenant_id, subjects in request.items():
        assert [run.subject for run in runs.executions.started if run.tenant_id == tenant_id] == subjects


async def test_a_place_is_handed_on_in_one_write() -> None:
    runs = Runs(at_once=1)
    await runs.start(*(run_of("acme", f"s{number}") for number in range(3)))
    before = (await runs.queue.read_running(Pipeline.CLOSING)).revision
    await runs.end("s0")
    after = await runs.queue.read_running(Pipeline.CLOSING)
    assert (after.revision - before, list(after.slots)) == (1, ["s1"])


async def test_a_run_that_begins_to_wait_while_the_last_one_ends_is_not_overlooked() -> None:
    runs = Runs(at_once=1)
    await runs.start(run_of("acme", "s0"))
    save = runs.queue.save_running

    async def save_late(pipeline: Pipeline, running: RunsInProgress) -> bool:
        runs.queue.save_running = save  # type: ignore[method-assign]
        await runs.start(run_of("acme", "s1"))
        assert runs.begun_subjects == ["s0"], "there is no room yet"
        return await save(pipeline, running)

    runs.queue.save_running = save_late  # type: ignore[method-assign]
    await runs.end("s0")
    assert runs.begun_subjects == ["s0", "s1"]


async def test_a_waiting_run_that_has_ended_before_gives_its_place_to_the_next_one() -> None:
    runs = Runs(at_once=1)
    runs.executions.started.append(run_of("acme", "s1"))  # begun by a worker that died before it noted so
    await runs.start(run_of("acme", "s0"))
    await runs.start(run_of("acme", "s1"), run_of("acme", "s2"))
    await runs.end("s0")
    assert runs.begun_subjects == ["s1", "s0", "s2"]

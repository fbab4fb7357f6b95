"""Executions of the pipelines, by their names."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from baton.adapters.aws.step_functions import StepFunctionsExecutions
from baton.domain.documents.document import DocumentRef
from baton.domain.documents.pipelines import Pipeline, PipelineLimits
from baton.domain.memory.capture import CaptureRef
from baton.domain.memory.episode import EpisodeRef
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.entry.jobs.pipeline_starts import AdmittedCaptures, AdmittedClosings, AdmittedIngestions
from baton_local.account import ACCOUNT
from baton_local.engines.clients import client
from baton_testing.fakes.clock import FakeClock
from tests.contracts.stores import new_thread_id
from tests.fakes.pipelines import FakePipelineQueue

ADA = Scope("acme", "ada")
STRANGER = Scope("globex", "ada")
MARCH = datetime(2026, 3, 14, 10, 0, tzinfo=UTC)
LATER = MARCH + timedelta(hours=1)


class Machine:
    """A state machine that does nothing, and an admission that starts its executions."""

    def __init__(self, stepfunctions: "object", arn: str) -> None:
        self.client, self.arn = stepfunctions, arn
        executions = StepFunctionsExecutions(self.client, dict.fromkeys(Pipeline, lambda: arn))  # type: ignore[arg-type]
        self.admission = PipelineAdmission(FakePipelineQueue(), executions, FakeClock(), PipelineLimits(9, 9))

    @property
    def started(self) -> list[str]:
        """The names of the executions."""
        results = self.client.list_executions(stateMachineArn=self.arn)["executions"]  # type: ignore[attr-defined]
        return [execution["name"] for execution in results]

    async def end(self) -> None:
        """End all runs, as the last step of each does."""
        for pipeline in Pipeline:
            for subject in (await self.admission.queue.read_running(pipeline)).slots:
                await self.admission.note_end(pipeline, subject)


@pytest.fixture
def machine(moto_server: str) -> Iterator[Machine]:
    stepfunctions = client("stepfunctions", moto_server)
    state_machine = stepfunctions.create_state_machine(
        name=f"pipeline-{new_thread_id()}",
        definition=json.dumps({"StartAt": "Nothing", "States": {"Nothing": {"Type": "Pass", "End": True}}}),
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/pipeline",
    )
    yield Machine(stepfunctions, state_machine["stateMachineArn"])
    stepfunctions.delete_state_machine(stateMachineArn=state_machine["stateMachineArn"])
    stepfunctions.close()


def session() -> EpisodeRef:
    return EpisodeRef(new_thread_id(), 1, 0, 2, EndReason.USER_CLOSED, MARCH, thread_created_at=MARCH)


def task() -> CaptureRef:
    return CaptureRef(new_thread_id(), "assistant", 0, 8, MARCH)


def document() -> DocumentRef:
    return DocumentRef("acme", "assistant", f"doc_{new_thread_id().replace('-', '')}", 1)


async def test_an_attempt_at_closing_a_session_is_started_once(machine: Machine) -> None:
    closings, ref = AdmittedClosings(machine.admission), session()
    for attempt in (1, 1, 2):
        await closings.start(ADA, ref, attempt=attempt)
        await machine.end()
    assert len(machine.started) == 2


async def test_the_thread_id_of_a_forgotten_session_may_be_used_again(machine: Machine) -> None:
    closings, forgotten = AdmittedClosings(machine.admission), session()
    await closings.start(ADA, forgotten, attempt=1)
    # An import of what was exported before ends when the forgotten session did.
    await closings.start(ADA, replace(forgotten, thread_created_at=LATER), attempt=1)
    assert len(machine.started) == 2


async def test_an_attempt_at_a_capture_is_started_once(machine: Machine) -> None:
    captures, ref = AdmittedCaptures(machine.admission), task()
    for attempt in (1, 1, 2):
        await captures.start(ADA, ref, attempt=attempt)
        await machine.end()
    assert len(machine.started) == 2


async def test_threads_of_two_tenants_with_one_id_have_captures_of_their_own(machine: Machine) -> None:
    captures, ref = AdmittedCaptures(machine.admission), task()
    await captures.start(ADA, ref, attempt=1)
    await captures.start(STRANGER, ref, attempt=1)
    await captures.start(ADA, replace(ref, thread_created_at=LATER), attempt=1)
    assert len(machine.started) == 3


async def test_an_attempt_at_a_version_is_started_once_in_a_documents_life(machine: Machine) -> None:
    ingestions, ref = AdmittedIngestions(machine.admission), document()
    for attempt in (0, 0, 1):
        await ingestions.start(ref, attempt=attempt, created_at=MARCH)
        await machine.end()
    await ingestions.start(ref, attempt=0, created_at=LATER)
    await ingestions.start(replace(ref, version=2), attempt=0, created_at=MARCH)
    assert len(machine.started) == 4


async def test_a_removal_waits_for_no_other_run(machine: Machine) -> None:
    full = replace(machine.admission, limits=PipelineLimits(1, 1))
    ingestions = AdmittedIngestions(full)
    first, second, deleted = document(), document(), document()
    await ingestions.start(first, attempt=0, created_at=MARCH)
    await ingestions.start(second, attempt=0, created_at=MARCH)
    await ingestions.start(deleted, attempt=0, created_at=MARCH, removes=True)
    assert len(machine.started) == 2
    assert [await ingestions.is_pending(item, created_at=MARCH) for item in (first, second, deleted)] == [
        True,
        True,
        False,
    ]


async def test_the_longest_names_are_ones_that_step_functions_takes(machine: Machine) -> None:
    captures, closings = AdmittedCaptures(machine.admission), AdmittedClosings(machine.admission)
    await captures.start(ADA, replace(task(), first_ordinal=999_999_999_998, end_ordinal=999_999_999_999), attempt=9)
    await closings.start(ADA, replace(session(), number=999_999), attempt=99_999)
    await AdmittedIngestions(machine.admission).start(document(), attempt=9, created_at=MARCH)
    assert len(machine.started) == 3
    assert all(len(name) <= 80 for name in machine.started)


async def test_a_rebuild_is_started_once_until_it_ends_and_then_again(machine: Machine) -> None:
    clock = machine.admission.clock
    assert isinstance(clock, FakeClock)
    ingestions, ref = AdmittedIngestions(machine.admission), document()
    assert [await ingestions.rebuild(ref, created_at=MARCH) for _ in range(2)] == [True, False]
    await machine.end()
    clock.advance(1)
    assert await ingestions.rebuild(ref, created_at=MARCH)
    assert len(machine.started) == 2

"""Executions of the pipeline that captures procedures, by their names."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from baton.adapters.step_functions import StepFunctionsCaptures
from baton.domain.capture import CaptureRef
from baton.domain.identity import Scope
from baton_local.account import ACCOUNT
from baton_local.engines.clients import client
from tests.contracts.stores import new_thread_id

ADA = Scope("acme", "ada")
STRANGER = Scope("globex", "ada")
MARCH = datetime(2026, 3, 14, 10, 0, tzinfo=UTC)


@pytest.fixture
def captures(moto_server: str) -> Iterator[StepFunctionsCaptures]:
    """Captures by a state machine that does nothing."""
    stepfunctions = client("stepfunctions", moto_server)
    made = stepfunctions.create_state_machine(
        name=f"capture-{new_thread_id()}",
        definition=json.dumps({"StartAt": "Nothing", "States": {"Nothing": {"Type": "Pass", "End": True}}}),
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/capture",
    )
    yield StepFunctionsCaptures(stepfunctions, made["stateMachineArn"])
    stepfunctions.delete_state_machine(stateMachineArn=made["stateMachineArn"])
    stepfunctions.close()


def task() -> CaptureRef:
    return CaptureRef(new_thread_id(), "assistant", 0, 8, MARCH)


def started(captures: StepFunctionsCaptures) -> list[str]:
    found = captures.client.list_executions(stateMachineArn=captures.state_machine_arn)["executions"]
    return [each["name"] for each in found]


async def test_an_attempt_at_a_capture_is_started_once(captures: StepFunctionsCaptures) -> None:
    ref = task()
    for attempt in (1, 1, 2):
        await captures.start(ADA, ref, attempt=attempt)
    assert len(started(captures)) == 2


async def test_threads_of_two_tenants_with_one_id_have_captures_of_their_own(captures: StepFunctionsCaptures) -> None:
    ref = task()
    await captures.start(ADA, ref, attempt=1)
    await captures.start(STRANGER, ref, attempt=1)
    assert len(started(captures)) == 2


async def test_the_thread_id_of_a_forgotten_conversation_may_be_used_again(captures: StepFunctionsCaptures) -> None:
    forgotten = task()
    await captures.start(ADA, forgotten, attempt=1)
    await captures.start(ADA, replace(forgotten, thread_created_at=MARCH + timedelta(hours=1)), attempt=1)
    assert len(started(captures)) == 2


async def test_the_longest_name_is_one_that_step_functions_takes(captures: StepFunctionsCaptures) -> None:
    await captures.start(ADA, replace(task(), first_ordinal=999_999_999_998, end_ordinal=999_999_999_999), attempt=9)
    assert all(len(name) <= 80 for name in started(captures))

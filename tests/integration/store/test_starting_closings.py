"""Executions of the closing pipeline, by their names."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from baton.adapters.step_functions import StepFunctionsClosings
from baton.domain.episode import EndReason, EpisodeRef
from baton.domain.identity import Scope
from baton_local.account import ACCOUNT
from baton_local.engines.clients import client
from tests.contracts.stores import new_thread_id

ADA = Scope("acme", "ada")
MARCH = datetime(2026, 3, 14, 10, 0, tzinfo=UTC)


@pytest.fixture
def closings(moto_server: str) -> Iterator[StepFunctionsClosings]:
    """Closings by a state machine that does nothing."""
    stepfunctions = client("stepfunctions", moto_server)
    made = stepfunctions.create_state_machine(
        name=f"closing-{new_thread_id()}",
        definition=json.dumps({"StartAt": "Nothing", "States": {"Nothing": {"Type": "Pass", "End": True}}}),
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/closing",
    )
    yield StepFunctionsClosings(stepfunctions, made["stateMachineArn"])
    stepfunctions.delete_state_machine(stateMachineArn=made["stateMachineArn"])
    stepfunctions.close()


def started(closings: StepFunctionsClosings) -> int:
    return len(closings.client.list_executions(stateMachineArn=closings.state_machine_arn)["executions"])


async def test_an_attempt_at_closing_a_session_is_started_once(closings: StepFunctionsClosings) -> None:
    ref = EpisodeRef(new_thread_id(), 1, 0, 2, EndReason.USER_CLOSED, MARCH, thread_created_at=MARCH)
    for attempt in (1, 1, 2):
        await closings.start(ADA, ref, attempt=attempt)
    assert started(closings) == 2


async def test_the_thread_id_of_a_forgotten_conversation_may_be_used_again(closings: StepFunctionsClosings) -> None:
    forgotten = EpisodeRef(new_thread_id(), 1, 0, 2, EndReason.USER_CLOSED, MARCH, thread_created_at=MARCH)
    await closings.start(ADA, forgotten, attempt=1)
    # An import of what was exported before ends when the forgotten session did.
    await closings.start(ADA, replace(forgotten, thread_created_at=MARCH + timedelta(hours=1)), attempt=1)
    assert started(closings) == 2

"""Shapes: what the domain keeps comes out of a body as it went in, whatever models, tools and users have written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.shapes import (
    HANDOFF,
    MESSAGE,
    PENDING,
    PROCEDURE,
    TASK,
    TOOL_CALL,
    WORKFLOW,
    pack_call,
    pack_conversation,
    pack_task_messages,
    unpack_conversation,
)
from baton.domain.errors import StoreUnavailable
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.procedure import Procedure
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.task import Task
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import ConversationChange, ConversationState
from baton.domain.times import from_millis
from tests.unit.adapters.dynamodb.strategies import (
    calls,
    changes,
    conversations,
    handoffs,
    messages,
    pending,
    procedures,
    tasks,
    workflows,
)

ANSWER = StoredMessage("m", Role.ASSISTANT, "Hi.", 0, "r", from_millis(0), 1)
CALL = ToolCallRecord(
    id="c",
    run_id="r",
    agent_id="a",
    tool_name="t",
    input={},
    output=None,
    succeeded=True,
    error_message=None,
    called_at=from_millis(0),
    duration=timedelta(),
)


@given(messages)
def test_any_message_comes_back(message: StoredMessage) -> None:
    assert read(MESSAGE.pack(message), message) == message


@given(changes)
def test_whatever_a_run_does_to_the_conversation_state_comes_back(change: ConversationChange) -> None:
    message = replace(ANSWER, end=RunEnd(OutcomeType.SUCCESS, Usage(), change=change))
    assert read(MESSAGE.pack(message), message) == message


@given(pending)
def test_whatever_a_thread_waits_for_comes_back(waiting: PendingInterrupts) -> None:
    assert PENDING.unpack(PENDING.pack(waiting)) == waiting


@given(conversations)
def test_any_conversation_state_comes_back(conversation: ConversationState) -> None:
    assert unpack_conversation(conversation.agent_id, pack_conversation(conversation)) == conversation


@given(st.text(max_size=20))
def test_a_conversation_state_of_which_nothing_is_known_takes_no_room(agent_id: str) -> None:
    assert pack_conversation(ConversationState(agent_id)) is None


@given(handoffs)
def test_any_handoff_comes_back(request: HandoffRequest) -> None:
    unpacked = HANDOFF.unpack(
        HANDOFF.pack(request),
        thread_id=request.thread_id,
        tenant_id=request.tenant_id,
        ordinal=request.ordinal,
        number=request.number,
        started_at=request.started_at,
    )
    assert unpacked == request


@given(workflows)
def test_any_workflow_comes_back(workflow: Workflow) -> None:
    assert WORKFLOW.unpack(WORKFLOW.pack(workflow), id=workflow.id, thread_id=workflow.thread_id) == workflow


@given(procedures)
def test_any_skill_comes_back(procedure: Procedure) -> None:
    unpacked = PROCEDURE.unpack(
        PROCEDURE.pack(procedure),
        tenant_id=procedure.tenant_id,
        version=procedure.version,
        status=procedure.status,
        decided_by=procedure.decided_by,
        decided_at=procedure.decided_at,
        reason=procedure.reason,
        used=procedure.used,
        went_well=procedure.went_well,
    )
    assert unpacked == procedure


@given(calls)
def test_a_call_comes_back_as_it_was(call: ToolCallRecord) -> None:
    assert there_and_back(call) == call


@given(tasks)
def test_a_task_comes_back_as_it_was(task: Task) -> None:
    message = unpack(pack_task_messages(task.messages))
    packed = TASK.pack(task)
    assert TASK.unpack(packed, id=task.id, run_id=task.run_id, started_at=task.started_at, messages=message) == task


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "😀"),
        ({"\udc00": ["\ud800x"]}, {"\ufffd": ["\ufffdx"]}),
        ({"x": float("inf"), "y": "é"}, '{"x": Infinity, "y": "é"}'),
    ],
    ids=repr,
)
def test_what_cannot_be_sent_as_json_is_kept_as_what_can(written: Any, stored: Any) -> None:
    call = replace(CALL, input=written)
    assert there_and_back(call) == replace(call, input=stored)


def test_arguments_nested_deeply_come_back() -> None:
    arguments: dict[str, Any] = {}
    for _ in range(600):
        arguments = {"inner": arguments}
    call = replace(CALL, input=arguments)
    assert there_and_back(call) == call


def test_a_field_is_stored_under_its_own_name_unless_it_has_its_default_or_the_item_has_it() -> None:
    message = replace(ANSWER, agent_id="assistant", is_cut=True)
    assert unpack(MESSAGE.pack(message)) == {
        "role": "assistant",
        "content": "Hi.",
        "timestamp": 0,
        "is_cut": True,
        "agent_id": "assistant",
    }


def test_times_are_stored_in_whole_milliseconds_and_durations_in_seconds() -> None:
    message = replace(ANSWER, timestamp=from_millis(1_700_000_000_123) + timedelta(microseconds=456))
    assert unpack(MESSAGE.pack(message))["timestamp"] == 1_700_000_000_123
    assert unpack(pack_call(replace(CALL, duration=timedelta(microseconds=1_234_567))))["duration"] == 1.234


def test_what_a_newer_version_has_added_is_ignored() -> None:
    body = unpack(MESSAGE.pack(ANSWER)) | {"mood": "good", "end": {"outcome": "success", "usage": {"cached": 3}}}
    assert read(pack(body), ANSWER) == replace(ANSWER, end=RunEnd(OutcomeType.SUCCESS, Usage()))


@pytest.mark.parametrize(
    "body", [[], "text", {}, {"role": "assistant", "content": "secret", "timestamp": "when?"}], ids=repr
)
def test_a_damaged_body_is_a_failure_of_the_store_and_not_quoted(body: Any) -> None:
    with pytest.raises(StoreUnavailable, match="damaged") as raised:
        read(pack(body), ANSWER)
    assert "secret" not in f"{raised.value} {raised.value.__cause__}"


def read(packed: bytes, message: StoredMessage) -> StoredMessage:
    return MESSAGE.unpack(
        packed,
        id=message.id,
        ordinal=message.ordinal,
        run_id=message.run_id,
        tokens=message.tokens,
        fence=message.fence,
    )


def there_and_back(call: ToolCallRecord) -> ToolCallRecord:
    return TOOL_CALL.unpack(pack_call(call), id=call.id, run_id=call.run_id, called_at=call.called_at)

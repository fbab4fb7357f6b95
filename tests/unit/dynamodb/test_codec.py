"""Packing: what goes into the table comes out of it, and takes little room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.dynamodb.codec import (
    pack,
    pack_conversation,
    pack_message,
    pack_pending,
    unpack,
    unpack_conversation,
    unpack_message,
    unpack_pending,
)
from baton.domain.conversation_state import ConversationChange, ConversationState
from baton.domain.handoff import ContextMode, HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.interrupt import AnswerStatus, Interrupt, InterruptAnswer, PendingInterrupts
from baton.domain.message import MessageStatus, OutcomeType, Role, RunEnd, StoredMessage
from baton.domain.times import from_millis
from baton.domain.tool_call import CallEnd, ToolCall
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow, WorkflowStatus
from tests.unit.domain.strategies import contents

STORED = "01abc61591a915c0b4a6e45e7478cfe1f9a9204f031d64a8034e1e467aa6b1b500"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
counts = st.integers(0, 10**12)
maybe_text = st.none() | st.text(max_size=20)
moments = st.integers(0, 10**13).map(from_millis)
interrupts = st.builds(
    lambda answer, **fields: Interrupt(**fields, answer=replace(answer, interrupt_id=fields["id"]) if answer else None),
    id=st.text(max_size=40),
    tool_call_id=st.text(max_size=40),
    tool_name=st.text(max_size=40),
    message=st.text(max_size=40),
    expires_at=moments,
    answer=st.none() | st.builds(InterruptAnswer, st.just(""), st.sampled_from(AnswerStatus), json_values, maybe_text),
)
pending = st.builds(
    PendingInterrupts,
    run_id=st.text(max_size=20),
    message_id=st.text(max_size=20),
    agent_id=st.text(max_size=20),
    permissions=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    first_ordinal=counts,
    interrupts=st.lists(interrupts, max_size=3).map(tuple),
)
names = st.text(max_size=20)
workflows = st.builds(
    Workflow,
    id=names,
    agent_id=names,
    name=names,
    state=names,
    data=st.dictionaries(names, objects, max_size=3),
    thread_id=names,
    version=names,
    updated_at=moments,
    expires_at=moments,
    status=st.sampled_from(WorkflowStatus),
)
handoffs = st.builds(
    HandoffRequest,
    thread_id=names,
    tenant_id=names,
    user_id=names,
    ordinal=counts,
    number=st.integers(0, 99),
    source_agent_id=names,
    target_agent_id=names,
    context_mode=st.sampled_from(ContextMode),
    context_summary=names,
    recent_messages=st.lists(names, max_size=3).map(tuple),
    handoff_reason=names,
    started_at=moments,
    preserve_state=st.booleans(),
    return_expected=st.booleans(),
    show_tool_calls=st.booleans(),
    workflow_id=maybe_text,
    remote_task_id=maybe_text,
    child_thread_id=maybe_text,
    outcome=st.none() | st.sampled_from(HandoffOutcome),
    ended_at=st.none() | moments,
)
conversations = st.builds(
    ConversationState,
    agent_id=names,
    handoff=st.none() | st.builds(HandoffPlace, counts, counts, counts),
    workflow=st.none() | workflows,
    resumable=st.lists(workflows, max_size=3).map(tuple),
    taught_at=st.none() | moments,
)
changes = st.builds(
    ConversationChange,
    conversation=conversations,
    handoffs=st.lists(handoffs, max_size=3).map(tuple),
    workflows=st.lists(workflows, max_size=3).map(tuple),
    moved_from=st.none() | workflows,
    offered_id=maybe_text,
)
ends = st.builds(
    RunEnd,
    outcome=st.sampled_from(OutcomeType),
    usage=st.builds(Usage, counts, counts),
    model=maybe_text,
    error_code=maybe_text,
    error_detail=maybe_text,
    tail=st.lists(objects, max_size=3).map(tuple),
    tail_seq=counts,
    first_seq=counts,
    interrupts=st.lists(interrupts, max_size=3).map(tuple),
    parent_run_id=maybe_text,
    change=st.none() | changes,
)
messages = st.builds(
    StoredMessage,
    id=st.text(min_size=1, max_size=128),
    role=st.sampled_from(Role),
    content=contents,
    ordinal=counts,
    run_id=st.uuids().map(str),
    timestamp=moments,
    tokens=counts,
    status=st.sampled_from(MessageStatus),
    agent_id=maybe_text,
    agent_name=maybe_text,
    is_handoff_summary=st.booleans(),
    is_tool_result=st.booleans(),
    tool_name=maybe_text,
    source=maybe_text,
    sources=st.lists(objects, max_size=3).map(tuple),
    tool_calls=st.lists(st.builds(ToolCall, st.text(), st.text(), st.text()), max_size=3).map(tuple),
    tool_call_id=maybe_text,
    attempt=st.integers(1, 99),
    end=st.none() | ends,
)


@given(json_values)
def test_any_json_comes_back(value: Any) -> None:
    assert unpack(pack(value)) == value


@given(messages)
def test_any_message_comes_back(message: StoredMessage) -> None:
    again = unpack_message(
        pack_message(message),
        message_id=message.id,
        ordinal=message.ordinal,
        run_id=message.run_id,
        tokens=message.tokens,
    )
    assert again == message


@given(pending)
def test_whatever_a_thread_waits_for_comes_back(waiting: PendingInterrupts) -> None:
    assert unpack_pending(pack_pending(waiting)) == waiting


@given(conversations)
def test_any_floor_comes_back(conversation: ConversationState) -> None:
    assert unpack_conversation(conversation.agent_id, pack_conversation(conversation)) == conversation


@given(st.text(max_size=20))
def test_a_floor_of_which_nothing_is_known_takes_no_room(agent_id: str) -> None:
    assert pack_conversation(ConversationState(agent_id)) is None


@given(changes)
def test_whatever_a_run_does_to_the_conversation_state_comes_back(change: ConversationChange) -> None:
    end = RunEnd(OutcomeType.SUCCESS, Usage(), change=change)
    message = StoredMessage("m", Role.ASSISTANT, "Hi.", 0, "r", from_millis(0), 1, end=end)
    again = unpack_message(pack_message(message), message_id="m", ordinal=0, run_id="r", tokens=1)
    assert again.end == end


@pytest.mark.parametrize("end", CallEnd)
def test_how_a_call_ended_is_kept(end: CallEnd) -> None:
    message = StoredMessage("m", Role.TOOL, "Well.", 0, "r", from_millis(0), 1, tool_call_id="c", call_end=end)
    again = unpack_message(pack_message(message), message_id="m", ordinal=0, run_id="r", tokens=1)
    assert again == message


@given(json_values)
def test_the_same_value_is_always_packed_the_same(value: Any) -> None:
    assert pack(value) == pack(unpack(pack(value)))


@pytest.mark.parametrize("packed", [b"", b"\x00abc", b"\x03abc", b"{}"])
def test_another_format_is_named_instead_of_misread(packed: bytes) -> None:
    with pytest.raises(ValueError, match="format"):
        unpack(packed)


def test_this_format_is_still_read_in_later_versions() -> None:
    """Written by the first release; if this fails, the dictionary or the format changed under stored data."""
    assert unpack(bytes.fromhex(STORED)) == {"type": "RUN_FINISHED", "text": "Grüße", "n": [1, None, 2.5]}


def test_the_events_of_a_short_answer_take_little_room() -> None:
    events = [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "Assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": f"piece {n} "} for n in range(10)),
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {"sources": []}},
    ]
    assert len(pack(events)) < 250

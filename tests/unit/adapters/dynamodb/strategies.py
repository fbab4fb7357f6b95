"""Values that the table stores, of every shape."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st

from baton.domain.handoffs.handoff import ContextMode, HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.memory.procedure import (
    Procedure,
    ProcedureDraft,
    ProcedureScope,
    ProcedureSource,
    ProcedureStatus,
    ProcedureStep,
)
from baton.domain.runs.interrupt import DecisionStatus, Interrupt, InterruptDecision, PendingInterrupts
from baton.domain.runs.task import Task, TaskMessage, TaskStatus
from baton.domain.runs.tool_call import CallEnd, ToolCall, ToolCallRecord
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import MessageStatus, Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import ConversationChange, ConversationState
from baton.domain.times import from_millis
from tests.unit.domain.strategies import contents

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
counts = st.integers(0, 10**12)
maybe_text = st.none() | st.text(max_size=20)
moments = st.integers(0, 10**13).map(from_millis)
names = st.text(max_size=20)
interrupts = st.builds(
    lambda answer, **fields: Interrupt(**fields, answer=replace(answer, interrupt_id=fields["id"]) if answer else None),
    id=st.text(max_size=40),
    tool_call_id=st.text(max_size=40),
    tool_name=st.text(max_size=40),
    message=st.text(max_size=40),
    expires_at=moments,
    arguments=st.text(max_size=40),
    answer=st.none()
    | st.builds(InterruptDecision, st.just(""), st.sampled_from(DecisionStatus), json_values, maybe_text),
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
    error_resets_at=st.none() | moments,
    error_can_continue=st.booleans(),
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
    is_cut=st.booleans(),
    agent_id=maybe_text,
    agent_name=maybe_text,
    is_handoff_summary=st.booleans(),
    is_rewritten=st.booleans(),
    is_tool_result=st.booleans(),
    tool_name=maybe_text,
    source=maybe_text,
    sources=st.lists(objects, max_size=3).map(tuple),
    tool_calls=st.lists(st.builds(ToolCall, st.text(), st.text(), st.text()), max_size=3).map(tuple),
    tool_call_id=maybe_text,
    call_end=st.sampled_from(CallEnd),
    attempt=st.integers(1, 99),
    end=st.none() | ends,
)
calls = st.builds(
    ToolCallRecord,
    id=names,
    run_id=names,
    agent_id=names,
    tool_name=names,
    input=objects | names,
    output=maybe_text,
    succeeded=st.booleans(),
    error_message=maybe_text,
    called_at=moments,
    duration=st.integers(0, 10**7).map(lambda millis: timedelta(milliseconds=millis)),
    task_id=maybe_text,
)
tasks = st.builds(
    Task,
    id=names,
    run_id=names,
    tool_call_id=names,
    agent_id=names,
    message=names,
    started_at=moments,
    status=st.sampled_from(TaskStatus),
    result=maybe_text,
    error=maybe_text,
    ended_at=st.none() | moments,
    usage=st.builds(Usage, counts, counts),
    messages=st.lists(
        st.builds(TaskMessage, st.sampled_from(["user", "assistant", "tool"]), names, moments, maybe_text), max_size=3
    ).map(tuple),
)
procedures = st.builds(
    Procedure,
    st.builds(
        ProcedureDraft,
        name=names,
        description=names,
        triggers=st.lists(names, max_size=3).map(tuple),
        steps=st.lists(st.builds(ProcedureStep, names, maybe_text), max_size=3).map(tuple),
        allowed_tools=st.lists(names, max_size=3).map(tuple),
    ),
    tenant_id=names,
    agent_id=names,
    created_by=names,
    created_at=moments,
    version=st.integers(0, 999),
    status=st.sampled_from(ProcedureStatus),
    scope=st.sampled_from(ProcedureScope),
    source=st.none()
    | st.builds(ProcedureSource, names, maybe_text, maybe_text, st.lists(names, max_size=3).map(tuple)),
    decided_by=maybe_text,
    decided_at=st.none() | moments,
    reason=maybe_text,
    used=counts,
    went_well=counts,
)

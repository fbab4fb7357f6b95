"""Whatever events Baton can emit, for property tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ag_ui.core import BaseEvent
from hypothesis import strategies as st

from baton.domain.desks.desk_session import Person
from baton.domain.errors import list_error_classes
from baton.domain.runs.interrupt import DecisionStatus, Interrupt, InterruptDecision
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.events import (
    Event,
    RunStamp,
    make_custom,
    make_messages_snapshot,
    make_reasoning_content,
    make_reasoning_end,
    make_reasoning_start,
    make_run_error,
    make_run_finished,
    make_run_started,
    make_state_snapshot,
    make_text_content,
    make_text_end,
    make_text_start,
    make_thread_closed,
    make_unsequenced,
    to_body,
)
from baton.domain.threads.message import MessageStatus, Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.run_events import (
    HANDOFF,
    RETURN,
    list_state_changes,
    make_activity,
    make_activity_change,
    make_handover_notice,
    make_step_finished,
    make_step_started,
    make_subagent_error,
    make_subagent_finished,
    make_subagent_started,
    make_tool_call,
    make_tool_result,
)
from baton.domain.threads.thread import EndReason
from baton_testing.fakes.agents.shipped_agents import agent
from baton_testing.fakes.clock import NOON
from tests.unit.domain.strategies import contents

ids = st.text(min_size=1, max_size=12)
texts = st.text(max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=8), values, max_size=3)
agents = st.builds(agent, st.from_regex(r"[a-z]{1,8}", fullmatch=True))
calls = st.builds(ToolCall, ids, ids, texts)
usages = st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9))
errors = st.sampled_from([cls for cls in list_error_classes() if cls.code]).map(lambda cls: cls())
interrupts = st.builds(
    Interrupt, ids, ids, ids, texts, st.integers(1, 10**6).map(lambda seconds: NOON + timedelta(seconds=seconds))
)
answers = st.builds(InterruptDecision, ids, st.sampled_from(DecisionStatus), st.none() | objects, ids)

questions = st.builds(
    lambda message_id, content: StoredMessage(message_id, Role.USER, content, 0, "r-1", NOON, 5), ids, contents
)
spoken = st.builds(
    lambda message_id, role, content, status, name, value, call_id: StoredMessage(
        message_id,
        role,
        content,
        1,
        "r-1",
        NOON,
        5,
        status,
        agent_name=name,
        tool_calls=tuple(value),
        tool_call_id=call_id,
    ),
    ids,
    st.sampled_from([Role.ASSISTANT, Role.TOOL]),
    texts,
    st.sampled_from(MessageStatus),
    st.none() | ids,
    st.lists(calls, max_size=2),
    st.none() | ids,
)
messages = questions | spoken


def _make_started(
    message: StoredMessage, previous_seq: int | None, parent_run_id: str | None, value: list[InterruptDecision]
) -> BaseEvent:
    if value:
        message = replace(message, role=Role.TOOL, content="")
    return make_run_started(
        "t-1", "r-1", message, previous_seq=previous_seq, parent_run_id=parent_run_id, answers=value
    )


started = st.builds(
    _make_started, messages, st.none() | st.integers(1, 10**9), st.none() | ids, st.lists(answers, max_size=2)
)
finished = st.builds(
    lambda usage, model, outcome, waits: make_run_finished(
        "t-1", "r-1", usage=usage, model=model, outcome_type=outcome, interrupts=waits
    ),
    st.none() | usages,
    st.none() | ids,
    st.sampled_from([OutcomeType.SUCCESS, OutcomeType.CANCELLED]),
    st.lists(interrupts, max_size=2),
)
KINDS: tuple[st.SearchStrategy[BaseEvent], ...] = (
    started,
    finished,
    st.builds(make_run_error, errors, st.none() | usages, st.none() | ids),
    st.builds(make_state_snapshot, objects),
    st.builds(make_text_start, ids, agents),
    st.builds(make_text_content, ids, texts.filter(bool)),
    st.builds(make_text_end, ids, st.lists(objects, max_size=2)),
    st.builds(lambda *of: make_reasoning_start(*of)[0], ids, agents),
    st.builds(lambda *of: make_reasoning_start(*of)[1], ids, agents),
    st.builds(lambda *of: make_reasoning_content(*of)[0], ids, texts.filter(bool)),
    st.builds(lambda *of: make_reasoning_end(*of)[0], ids),
    st.builds(lambda *of: make_reasoning_end(*of)[1], ids),
    st.builds(make_messages_snapshot, st.lists(messages, max_size=4)),
    st.builds(make_custom, ids, objects),
    st.builds(
        make_thread_closed, st.sampled_from(EndReason), st.none() | ids, st.none() | st.just(Person("anna", "Anna"))
    ),
    st.builds(make_tool_call, calls, ids).map(list).flatmap(st.sampled_from),
    st.builds(make_tool_result, calls, ids, texts),
    st.builds(make_subagent_started, ids, agents, calls),
    st.builds(make_subagent_finished, ids),
    st.builds(make_subagent_error, ids, ids, texts),
    st.builds(make_activity, ids, ids, objects),
    st.builds(make_activity_change, ids, ids, st.dictionaries(st.just("/notice"), values, min_size=1)),
    st.builds(make_handover_notice, ids, st.sampled_from([HANDOFF, RETURN]), agents, agents, texts, texts),
    st.builds(lambda state: next(list_state_changes({}, {"workflow": state})), values),
    st.builds(make_step_started, ids),
    st.builds(make_step_finished, ids),
)
bare_events = st.one_of(*KINDS)


def _on_the_wire(event: BaseEvent, seq: int | None, run_id: str | None) -> Event:
    if seq is None:
        return make_unsequenced(event, threadId="t-1", runId=run_id, replayed=True)
    return RunStamp("t-1", run_id, 1).number(to_body(event), seq)


events: st.SearchStrategy[Event] = st.builds(
    _on_the_wire, bare_events, st.none() | st.integers(1, 10**12), st.none() | ids
)
"""Events as they leave Baton, numbered and not."""

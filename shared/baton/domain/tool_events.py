"""The events of tool calls, of sub-agents, and of what is going on while the user waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuccessOutcome,
    SubagentStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from baton.domain.agent import AgentDefinition
from baton.domain.events import MAX_DELTA_CHARS
from baton.domain.tool_call import CallEnd, ToolCall


def tool_call(call: ToolCall, parent_message_id: str) -> Iterator[BaseEvent]:
    """A call, from TOOL_CALL_START to TOOL_CALL_END; long arguments in several deltas."""
    yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name, parent_message_id=parent_message_id)
    for start in range(0, len(call.arguments), MAX_DELTA_CHARS):
        yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.arguments[start : start + MAX_DELTA_CHARS])
    yield ToolCallEndEvent(tool_call_id=call.id)


def tool_result(call: ToolCall, message_id: str, content: str, end: CallEnd) -> ToolCallResultEvent:
    """What a call came to, as the message ``message_id`` says it."""
    metadata = {"outcome": end.value}
    return ToolCallResultEvent(
        message_id=message_id, tool_call_id=call.id, content=content, role="tool", metadata=metadata
    )


def subagent_started(task_id: str, agent: AgentDefinition, call: ToolCall) -> SubagentStartedEvent:
    return SubagentStartedEvent(
        subagent_run_id=task_id,
        name=agent.name,
        description=agent.description,
        parent_tool_call_id=call.id,
        metadata={"agentId": agent.id},
    )


def subagent_finished(task_id: str) -> SubagentFinishedEvent:
    """The sub-agent has answered; its answer is not sent to the user."""
    return SubagentFinishedEvent(subagent_run_id=task_id, outcome=SubagentFinishedSuccessOutcome(type="success"))


def subagent_error(task_id: str, code: str, message: str) -> SubagentErrorEvent:
    return SubagentErrorEvent(subagent_run_id=task_id, code=code, message=message)


def activity(message_id: str, kind: str, content: Mapping[str, Any]) -> ActivitySnapshotEvent:
    """Something that goes on, or a notice, shown in the conversation as an entry of its own."""
    return ActivitySnapshotEvent(message_id=message_id, activity_type=kind, content=dict(content), replace=True)


def activity_change(message_id: str, kind: str, changes: Mapping[str, Any]) -> ActivityDeltaEvent:
    """New values in an activity's content, by JSON Pointer."""
    patch = [{"op": "add", "path": path, "value": value} for path, value in changes.items()]
    return ActivityDeltaEvent.model_validate({"messageId": message_id, "activityType": kind, "patch": patch})

"""Events inside a run: tool calls, sub-agents, activities, the active agent and the state of its workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ag_ui.core as ag_ui

from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.workflow import Workflow
from baton.domain.runs.tool_call import CallEnd, ToolCall
from baton.domain.threads.events import MAX_DELTA_CHARS


def make_tool_call(call: ToolCall, parent_message_id: str) -> Iterator[ag_ui.BaseEvent]:
    """Yield a call, from TOOL_CALL_START to TOOL_CALL_END; long arguments in several deltas."""
    yield ag_ui.ToolCallStartEvent(
        tool_call_id=call.id, tool_call_name=call.name, parent_message_id=parent_message_id, metadata=call.metadata
    )
    for start in range(0, len(call.arguments), MAX_DELTA_CHARS):
        yield ag_ui.ToolCallArgsEvent(tool_call_id=call.id, delta=call.arguments[start : start + MAX_DELTA_CHARS])
    yield ag_ui.ToolCallEndEvent(tool_call_id=call.id)


def make_tool_result(call: ToolCall, message_id: str, content: str, end: CallEnd) -> ag_ui.ToolCallResultEvent:
    """Return TOOL_CALL_RESULT for the message ``message_id``."""
    metadata = {"outcome": end.value}
    return ag_ui.ToolCallResultEvent(
        message_id=message_id, tool_call_id=call.id, content=content, role="tool", metadata=metadata
    )


def make_subagent_started(task_id: str, agent: AgentDefinition, call: ToolCall) -> ag_ui.SubagentStartedEvent:
    """Return SUBAGENT_STARTED for the sub-task ``task_id``, in which ``call`` asks ``agent``."""
    return ag_ui.SubagentStartedEvent(
        subagent_run_id=task_id,
        name=agent.name,
        description=agent.description,
        parent_tool_call_id=call.id,
        metadata={"agentId": agent.id},
    )


def make_subagent_finished(task_id: str) -> ag_ui.SubagentFinishedEvent:
    """Return SUBAGENT_FINISHED. The sub-agent's answer is not sent to the user."""
    return ag_ui.SubagentFinishedEvent(
        subagent_run_id=task_id, outcome=ag_ui.SubagentFinishedSuccessOutcome(type="success")
    )


def make_subagent_error(task_id: str, code: str, message: str) -> ag_ui.SubagentErrorEvent:
    """Return SUBAGENT_ERROR for a sub-task that has failed."""
    return ag_ui.SubagentErrorEvent(subagent_run_id=task_id, code=code, message=message)


def make_activity(message_id: str, kind: str, content: Mapping[str, Any]) -> ag_ui.ActivitySnapshotEvent:
    """Return an activity or a notice, which clients show as an entry of the conversation."""
    return ag_ui.ActivitySnapshotEvent(message_id=message_id, activity_type=kind, content=dict(content), replace=True)


def make_activity_change(message_id: str, kind: str, changes: Mapping[str, Any]) -> ag_ui.ActivityDeltaEvent:
    """Return a change of an activity's content; ``changes`` maps JSON Pointers to values."""
    patch = [{"op": "add", "path": path, "value": value} for path, value in changes.items()]
    return ag_ui.ActivityDeltaEvent.model_validate({"messageId": message_id, "activityType": kind, "patch": patch})


MAX_SHOWN_RESULT = 1_000
"""Characters of the answer of the tool that has completed a workflow, in its event."""
HANDOFF = "handoff"
RETURN = "return"


def make_handover_notice(
    activity_id: str, kind: str, source: AgentDefinition, target: AgentDefinition, label: str, reason: str
) -> ag_ui.ActivitySnapshotEvent:
    """Return the notice that ``target`` has become active. ``kind`` is ``HANDOFF`` or ``RETURN``."""
    content = {"from": source.id, "to": target.id, "label": label, "reason": reason}
    return make_activity(activity_id, kind, content)


def list_state_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[ag_ui.StateDeltaEvent]:
    """Yield an event for each part of a thread's state that is new or has changed."""
    for name, value in after.items():
        if name not in before or before[name] != value:
            yield ag_ui.StateDeltaEvent(delta=[{"op": "replace", "path": f"/{name}", "value": value}])


def make_workflow_completed(workflow: Workflow) -> ag_ui.BaseEvent:
    """Return the event of a workflow that has reached its end. Its data, which may be large, are read over the API."""
    value = {
        "workflowId": workflow.id,
        "agentId": workflow.agent_id,
        "name": workflow.name,
        "state": workflow.state,
        "result": workflow.result[:MAX_SHOWN_RESULT] if workflow.result is not None else None,
    }
    return ag_ui.CustomEvent(name="workflow_completed", value=value)


def make_step_started(state: str) -> ag_ui.StepStartedEvent:
    """Return STEP_STARTED for the workflow's ``state``."""
    return ag_ui.StepStartedEvent(step_name=state)


def make_step_finished(state: str) -> ag_ui.StepFinishedEvent:
    """Return STEP_FINISHED for the workflow's ``state``, which it has left or in which the run ends."""
    return ag_ui.StepFinishedEvent(step_name=state)

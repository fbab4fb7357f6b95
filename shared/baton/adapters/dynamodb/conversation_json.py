"""The conversation state, its handoffs and its workflows as JSON with short keys, to be packed."""

from __future__ import annotations

from typing import Any

from baton.domain.conversation_state import ConversationChange, ConversationState
from baton.domain.handoff import ContextMode, HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.times import from_millis, to_millis
from baton.domain.workflow import Workflow, WorkflowStatus


def handoff_as_json(request: HandoffRequest) -> dict[str, Any]:
    """Return a handoff without its thread, tenant and place."""
    body: dict[str, Any] = {
        "u": request.user_id,
        "s": request.source_agent_id,
        "t": request.target_agent_id,
        "m": request.context_mode.value,
        "c": request.context_summary,
        "r": list(request.recent_messages),
        "h": request.handoff_reason,
        "p": request.preserve_state,
        "x": request.return_expected,
        "v": request.show_tool_calls,
        "w": request.workflow_id,
        "k": request.remote_task_id,
        "f": request.child_thread_id,
        "o": request.outcome.value if request.outcome is not None else None,
        "e": to_millis(request.ended_at) if request.ended_at is not None else None,
    }
    return {key: value for key, value in body.items() if value is not None}


def handoff_from_json(body: dict[str, Any], *, thread_id: str, tenant_id: str, place: HandoffPlace) -> HandoffRequest:
    """Read what ``handoff_as_json`` made."""
    return HandoffRequest(
        thread_id=thread_id,
        tenant_id=tenant_id,
        user_id=body["u"],
        ordinal=place.ordinal,
        number=place.number,
        source_agent_id=body["s"],
        target_agent_id=body["t"],
        context_mode=ContextMode(body["m"]),
        context_summary=body["c"],
        recent_messages=tuple(body["r"]),
        handoff_reason=body["h"],
        started_at=from_millis(place.started),
        preserve_state=body["p"],
        return_expected=body["x"],
        show_tool_calls=body["v"],
        workflow_id=body.get("w"),
        remote_task_id=body.get("k"),
        child_thread_id=body.get("f"),
        outcome=HandoffOutcome(body["o"]) if "o" in body else None,
        ended_at=from_millis(body["e"]) if "e" in body else None,
    )


def workflow_as_json(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow without its id and thread."""
    return {
        "a": workflow.agent_id,
        "n": workflow.name,
        "s": workflow.state,
        "d": {state: dict(collected) for state, collected in workflow.data.items()},
        "v": workflow.version,
        "u": to_millis(workflow.updated_at),
        "x": to_millis(workflow.expires_at),
        "t": workflow.status.value,
    }


def workflow_from_json(body: dict[str, Any], *, workflow_id: str, thread_id: str) -> Workflow:
    """Read what ``workflow_as_json`` made."""
    return Workflow(
        id=workflow_id,
        agent_id=body["a"],
        name=body["n"],
        state=body["s"],
        data=body["d"],
        thread_id=thread_id,
        version=body["v"],
        updated_at=from_millis(body["u"]),
        expires_at=from_millis(body["x"]),
        status=WorkflowStatus(body["t"]),
    )


def conversation_as_json(conversation: ConversationState) -> dict[str, Any]:
    """Return the conversation state without the agent that has it."""
    body = {
        "h": list(conversation.handoff) if conversation.handoff is not None else None,
        "w": _named(conversation.workflow) if conversation.workflow is not None else None,
        "r": [_named(workflow) for workflow in conversation.resumable] or None,
        "t": to_millis(conversation.taught_at) if conversation.taught_at is not None else None,
    }
    return {key: value for key, value in body.items() if value is not None}


def conversation_from_json(agent_id: str, body: dict[str, Any]) -> ConversationState:
    """Read what ``conversation_as_json`` made."""
    return ConversationState(
        agent_id=agent_id,
        handoff=HandoffPlace(*body["h"]) if "h" in body else None,
        workflow=_from_named(body["w"]) if "w" in body else None,
        resumable=tuple(_from_named(each) for each in body.get("r", ())),
        taught_at=from_millis(body["t"]) if "t" in body else None,
    )


def change_as_json(change: ConversationChange) -> dict[str, Any]:
    """Everything a run does to the conversation state."""
    return {
        "a": change.conversation.agent_id,
        "f": conversation_as_json(change.conversation),
        "h": [
            [request.tenant_id, request.thread_id, list(request.place), handoff_as_json(request)]
            for request in change.handoffs
        ],
        "w": [_named(workflow) for workflow in change.workflows],
        "m": _named(change.moved_from) if change.moved_from is not None else None,
        "o": change.offered_id,
    }


def change_from_json(body: dict[str, Any]) -> ConversationChange:
    """Read what ``change_as_json`` made."""
    return ConversationChange(
        conversation=conversation_from_json(body["a"], body["f"]),
        handoffs=tuple(
            handoff_from_json(request, thread_id=thread_id, tenant_id=tenant_id, place=HandoffPlace(*place))
            for tenant_id, thread_id, place, request in body["h"]
        ),
        workflows=tuple(_from_named(each) for each in body["w"]),
        moved_from=_from_named(body["m"]) if body["m"] is not None else None,
        offered_id=body["o"],
    )


def _named(workflow: Workflow) -> list[Any]:
    return [workflow.id, workflow.thread_id, workflow_as_json(workflow)]


def _from_named(named: list[Any]) -> Workflow:
    workflow_id, thread_id, body = named
    return workflow_from_json(body, workflow_id=workflow_id, thread_id=thread_id)

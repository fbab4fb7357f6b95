"""Handoffs, workflows and skills as compact bytes: everything that no key or condition needs."""

from __future__ import annotations

from typing import Any

from baton.adapters.dynamodb.codec import pack, unpack
from baton.domain.handoff import ContextMode, HandoffOutcome, HandoffRequest
from baton.domain.skill import Skill, SkillDraft, SkillStatus, SkillStep
from baton.domain.times import from_millis, to_millis
from baton.domain.workflow import Workflow, WorkflowStatus


def pack_handoff(request: HandoffRequest) -> bytes:
    """A handoff without its thread, tenant and place."""
    body: dict[str, Any] = {
        "u": request.user_id,
        "s": request.source_agent_id,
        "t": request.target_agent_id,
        "m": request.context_mode.value,
        "c": request.context_summary,
        "r": list(request.recent_messages),
        "h": request.handoff_reason,
        "b": to_millis(request.started_at),
        "p": request.preserve_state,
        "x": request.return_expected,
        "v": request.show_tool_calls,
        "w": request.workflow_id,
        "f": request.child_thread_id,
        "o": request.outcome.value if request.outcome is not None else None,
        "e": to_millis(request.ended_at) if request.ended_at is not None else None,
    }
    return pack({key: value for key, value in body.items() if value is not None})


def unpack_handoff(packed: bytes, *, thread_id: str, tenant_id: str, ordinal: int, number: int) -> HandoffRequest:
    """The handoff whose keyed attributes are given and whose rest was packed."""
    body = unpack(packed)
    return HandoffRequest(
        thread_id=thread_id,
        tenant_id=tenant_id,
        user_id=body["u"],
        ordinal=ordinal,
        number=number,
        source_agent_id=body["s"],
        target_agent_id=body["t"],
        context_mode=ContextMode(body["m"]),
        context_summary=body["c"],
        recent_messages=tuple(body["r"]),
        handoff_reason=body["h"],
        started_at=from_millis(body["b"]),
        preserve_state=body["p"],
        return_expected=body["x"],
        show_tool_calls=body["v"],
        workflow_id=body.get("w"),
        child_thread_id=body.get("f"),
        outcome=HandoffOutcome(body["o"]) if "o" in body else None,
        ended_at=from_millis(body["e"]) if "e" in body else None,
    )


def pack_workflow(workflow: Workflow) -> bytes:
    """A workflow without its id and thread."""
    return pack(
        {
            "a": workflow.agent_id,
            "n": workflow.name,
            "s": workflow.state,
            "d": {state: dict(collected) for state, collected in workflow.data.items()},
            "v": workflow.version,
            "u": to_millis(workflow.updated_at),
            "x": to_millis(workflow.expires_at),
            "t": workflow.status.value,
        }
    )


def unpack_workflow(packed: bytes, *, workflow_id: str, thread_id: str) -> Workflow:
    """The workflow whose keyed attributes are given and whose rest was packed."""
    body = unpack(packed)
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


def pack_skill(skill: Skill) -> bytes:
    """A skill without its tenant, agent and version, and without its status, which is a question of another item."""
    draft = skill.draft
    return pack(
        {
            "n": draft.name,
            "d": draft.description,
            "t": list(draft.triggers),
            "s": [[step.text, step.condition] for step in draft.steps],
            "a": list(draft.allowed_tools),
            "u": skill.created_by,
            "c": to_millis(skill.created_at),
        }
    )


def unpack_skill(packed: bytes, *, tenant_id: str, agent_id: str, version: int, status: SkillStatus) -> Skill:
    """The skill whose keyed attributes are given and whose rest was packed."""
    body = unpack(packed)
    return Skill(
        draft=SkillDraft(
            name=body["n"],
            description=body["d"],
            triggers=tuple(body["t"]),
            steps=tuple(SkillStep(text, condition) for text, condition in body["s"]),
            allowed_tools=tuple(body["a"]),
        ),
        tenant_id=tenant_id,
        agent_id=agent_id,
        created_by=body["u"],
        created_at=from_millis(body["c"]),
        version=version,
        status=status,
    )

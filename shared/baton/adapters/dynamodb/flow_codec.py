"""Handoffs, workflows and skills as compact bytes: everything that no key or condition needs."""

from __future__ import annotations

from baton.adapters.dynamodb.codec import pack, unpack
from baton.adapters.dynamodb.conversation_json import (
    handoff_as_json,
    handoff_from_json,
    workflow_as_json,
    workflow_from_json,
)
from baton.domain.handoff import HandoffPlace, HandoffRequest
from baton.domain.skill import Skill, SkillDraft, SkillStatus, SkillStep
from baton.domain.times import from_millis, to_millis
from baton.domain.workflow import Workflow


def pack_handoff(request: HandoffRequest) -> bytes:
    """Return a handoff without its thread, tenant and place."""
    return pack(handoff_as_json(request))


def unpack_handoff(packed: bytes, *, thread_id: str, tenant_id: str, place: HandoffPlace) -> HandoffRequest:
    """Return the handoff whose keyed attributes are given and whose rest was packed."""
    return handoff_from_json(unpack(packed), thread_id=thread_id, tenant_id=tenant_id, place=place)


def pack_workflow(workflow: Workflow) -> bytes:
    """Return a workflow without its id and thread."""
    return pack(workflow_as_json(workflow))


def unpack_workflow(packed: bytes, *, workflow_id: str, thread_id: str) -> Workflow:
    """Return the workflow whose keyed attributes are given and whose rest was packed."""
    return workflow_from_json(unpack(packed), workflow_id=workflow_id, thread_id=thread_id)


def pack_skill(skill: Skill) -> bytes:
    """Pack a skill without its tenant, agent and version, and without its status, which another item has."""
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
    """Return the skill whose keyed attributes are given and whose rest was packed."""
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

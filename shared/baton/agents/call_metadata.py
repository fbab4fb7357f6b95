"""What a request to a model is about, as data beside the prompt: who asks, and where the workflow stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton.domain.agent import AgentDefinition
from baton.domain.running_conversation import RunningConversation
from baton.domain.skill import Skill


def call_metadata(
    agent: AgentDefinition, conversation: RunningConversation | None, skills: Sequence[Skill] = ()
) -> dict[str, Any]:
    """Flat names with JSON values. ``conversation`` is None for an agent that another one consults."""
    told: dict[str, Any] = {"agent": agent.id}
    if skills:
        draft = skills[0].draft
        told |= {"skill.name": draft.name, "skill.steps": [step.text for step in draft.steps]}
    if conversation is None:
        return told
    if conversation.resumable:
        told["unfinished"] = {workflow.id: workflow.name for workflow in conversation.resumable}
    workflow = conversation.workflow
    if workflow is not None:
        told |= {"workflow.id": workflow.id, "workflow.name": workflow.name, "workflow.state": workflow.state}
        for fields in workflow.data.values():
            told |= {f"workflow.data.{name}": value for name, value in fields.items()}
    return told

"""Make skills of the data that the skill creation workflow has collected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from baton.domain.errors import TooManyProcedures
from baton.domain.identity import Permission, Scope
from baton.domain.procedure import (
    InvalidProcedure,
    Procedure,
    ProcedureDraft,
    ProcedureSource,
    ProcedureStatus,
    collected_fields,
    draft_from,
    try_draft,
)
from baton.domain.skill_markdown import parse_skill_markdown, skill_markdown
from baton.domain.workflow import Workflow, WorkflowStatus
from baton.domain.workflow_moves import IllegalTransition
from baton.ports.procedures import ProcedureStore
from baton.procedures.limit import check_room

_NEEDED = frozenset({"name", "description", "triggers", "steps"})


def review_skill(workflow: Workflow, scope: Scope, goes_to: Callable[[str], str | None]) -> str:
    """Return a review of the skill for the model: its SKILL.md, and which sample messages start it.

    The review is empty while parts of the skill are missing. ``goes_to`` returns the agent that a message would be
    handed over to before any skill could answer it. Raises ``IllegalTransition`` for an invalid skill, and for
    completing one that was not tried or that the user may not create.
    """
    fields = collected_fields(workflow.data)
    is_complete = workflow.status is WorkflowStatus.COMPLETED
    if not fields.keys() >= _NEEDED and not is_complete:
        return ""
    try:
        draft = draft_from(fields)
        parse_skill_markdown(skill_markdown(draft))
    except InvalidProcedure as invalid:
        raise IllegalTransition(f"The skill is not valid yet: {invalid}.") from None
    for trigger in draft.triggers:
        taker = goes_to(trigger)
        if taker is not None:
            raise IllegalTransition(f"The trigger {trigger!r} hands users over to {taker}: choose another one.")
    trials = [
        replace(trial, trigger=None) if goes_to(trial.sample) is not None else trial
        for trial in try_draft(draft, _samples(workflow))
    ]
    if is_complete and not scope.has(Permission.SKILL_CREATE):
        raise IllegalTransition(f"The user lacks the permission {Permission.SKILL_CREATE.value}.")
    if is_complete and not any(trial.matches for trial in trials):
        raise IllegalTransition("None of the sample messages starts the skill: mend its triggers or the samples first.")
    told = [f"The SKILL.md:\n{skill_markdown(draft)}"]
    told += [
        f"The message {trial.sample!r} starts it by the trigger {trial.trigger!r}."
        if trial.matches
        else f"The message {trial.sample!r} does not start it."
        for trial in trials
    ]
    if is_complete:
        told = [f"The skill {draft.name!r} is saved and active."]
    return "\n".join(told)


async def check_limit(procedures: ProcedureStore, scope: Scope, agent_id: str, workflow: Workflow) -> None:
    """Raise ``IllegalTransition`` if the workflow is completed and its skill would be one too many for the agent."""
    if workflow.status is not WorkflowStatus.COMPLETED:
        return
    try:
        await check_room(procedures, scope, agent_id, draft_from(collected_fields(workflow.data)).slug)
    except TooManyProcedures:
        raise IllegalTransition(
            "The skill cannot be saved: the assistant has as many skills as it may have. "
            "Tell the user that one has to be retired first"
        ) from None


async def publish_skill(procedures: ProcedureStore, scope: Scope, agent_id: str, workflow: Workflow) -> Procedure:
    """Save the skill of a completed workflow as the next version of a procedure, approved by its user.

    A repetition changes nothing. Raises ``InvalidProcedure`` and ``TooManyProcedures``, which the review has ruled out.
    """
    draft: ProcedureDraft = draft_from(collected_fields(workflow.data))
    await check_room(procedures, scope, agent_id, draft.slug)
    made = Procedure(
        draft,
        scope.tenant_id,
        agent_id,
        created_by=scope.user_id,
        created_at=workflow.updated_at,
        status=ProcedureStatus.APPROVED,
        source=ProcedureSource(workflow.thread_id, workflow_id=workflow.id),
        decided_by=scope.user_id,
        decided_at=workflow.updated_at,
    )
    return await procedures.put(scope, made)


def _samples(workflow: Workflow) -> list[str]:
    values: list[Any] = [value for fields in workflow.data.values() for value in fields.get("samples", ())]
    return [value for value in values if isinstance(value, str)]

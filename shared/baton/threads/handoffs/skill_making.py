"""Make private skills from the data that the skill creation workflow has collected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.handoffs.workflow_moves import IllegalTransition
from baton.domain.memory.private_skill import MAX_PRIVATE
from baton.domain.memory.procedure import (
    TENANT_PREFIX,
    InvalidProcedure,
    Procedure,
    ProcedureScope,
    make_slug,
    parse_draft,
    select_collected_fields,
    try_draft,
)
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.memory.skill_markdown import parse_skill_markdown, write_skill_markdown
from baton.domain.tenants.identity import Permission, Scope, derive_record_id
from baton.memory.procedures.approved_procedures import ApprovedProcedures
from baton.ports.memory.procedures import PrivateSkills, ProcedureStore
from baton.ports.tenants.audit import AuditLog, Once

PRIVATE_NOTE = "Only the user can use it until it is shared."
"""A sentence for the model, which passes it on to the user."""
_REQUIRED_FIELDS = frozenset({"name", "description", "triggers", "steps"})


def review_skill(workflow: Workflow, scope: Scope, find_handoff_target: Callable[[str], str | None]) -> str:
    """Return a review of the skill for the model: its SKILL.md, and the sample messages that start it.

    The review is empty while parts of the skill are missing. ``find_handoff_target`` returns the agent to which a
    message would be handed over before any skill could answer it; None if there is none. Raises ``IllegalTransition``
    for an invalid skill, and for completing one that no sample message starts or that the user may not create.
    """
    fields = select_collected_fields(workflow.data)
    is_complete = workflow.status is WorkflowStatus.COMPLETED
    if not fields.keys() >= _REQUIRED_FIELDS and not is_complete:
        return ""
    try:
        draft = parse_draft(fields)
        parse_skill_markdown(write_skill_markdown(draft))
    except InvalidProcedure as invalid:
        raise IllegalTransition(f"The skill is not valid yet: {invalid}.") from None
    for trigger in draft.triggers:
        target = find_handoff_target(trigger)
        if target is not None:
            raise IllegalTransition(f"The trigger {trigger!r} hands users over to {target}: choose another one.")
    trials = [
        replace(trial, trigger=None) if find_handoff_target(trial.sample) is not None else trial
        for trial in try_draft(draft, _list_samples(workflow))
    ]
    if is_complete and not scope.has(Permission.SKILL_CREATE):
        raise IllegalTransition(f"The user lacks the permission {Permission.SKILL_CREATE.value}.")
    if is_complete and not any(trial.matches for trial in trials):
        raise IllegalTransition("None of the sample messages starts the skill: mend its triggers or the samples first.")
    parts = [f"The SKILL.md:\n{write_skill_markdown(draft)}"]
    parts += [
        f"The message {trial.sample!r} starts it by the trigger {trial.trigger!r}."
        if trial.matches
        else f"The message {trial.sample!r} does not start it."
        for trial in trials
    ]
    parts.append(PRIVATE_NOTE)
    if is_complete:
        parts = [f"The skill {draft.name!r} is saved and active. {PRIVATE_NOTE}"]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class SkillMaking:
    """A maker of private skills from completed workflows.

    A skill is made for its user alone, even if the user may approve procedures: a model leads the conversation, and a
    conversation publishes nothing to others.
    """

    procedures: ProcedureStore
    skills: PrivateSkills
    approved: ApprovedProcedures
    audit: AuditLog

    async def check(self, scope: Scope, agent_id: str, workflow: Workflow) -> str:
        """Return a note on the sample messages that approved procedures answer first; empty if there are none.

        Raises ``IllegalTransition`` if the skill's name is taken, or if the user has reached the limit of skills.
        """
        fields = select_collected_fields(workflow.data)
        name = fields.get("name")
        if isinstance(name, str) and await self._is_taken(scope, agent_id, make_slug(name)):
            raise IllegalTransition(
                f"The name {name!r} is taken by an approved procedure, which no skill replaces. Choose another name"
            )
        if workflow.status is not WorkflowStatus.COMPLETED:
            return await self._describe_answered_samples(scope, agent_id, workflow)
        own_skills = await self.skills.in_use(scope, agent_id)
        if len(own_skills) >= MAX_PRIVATE and all(procedure.slug != make_slug(str(name)) for procedure in own_skills):
            raise IllegalTransition(
                "The skill cannot be saved: the user has reached the limit of skills. "
                "Tell the user that one has to be removed first"
            )
        return ""

    async def save(self, scope: Scope, agent_id: str, workflow: Workflow) -> Procedure:
        """Save the skill of a completed workflow for its user. A repetition changes nothing.

        Raises ``InvalidProcedure``, which the review has ruled out.
        """
        draft = parse_draft(select_collected_fields(workflow.data))
        procedure = Procedure(
            draft, scope.tenant_id, agent_id, created_by=scope.user_id, created_at=workflow.updated_at
        )
        skill = await self.skills.save(scope, procedure, made_of=f"{workflow.thread_id}#{workflow.id}")
        await self.audit.record(
            scope,
            "skill.activate",
            thread_id=workflow.thread_id,
            outcome="active",
            detail={"skill": skill.id, "version": skill.version, "agentId": skill.agent_id},
            once=Once(derive_record_id(workflow.thread_id, "skill.activate", workflow.id), workflow.updated_at),
        )
        return skill

    async def _describe_answered_samples(self, scope: Scope, agent_id: str, workflow: Workflow) -> str:
        samples = _list_samples(workflow)
        if not samples:
            return ""
        procedures = await self.approved.of(scope, agent_id)
        size = sum(map(len, samples)) * procedures.triggers
        return await off_loop(size, _list_answered_before, procedures, samples)

    async def _is_taken(self, scope: Scope, agent_id: str, slug: str) -> bool:
        names = (slug, f"{TENANT_PREFIX}{slug}")
        procedures = await gather_all(*(self.procedures.get_approved(scope, agent_id, name) for name in names))
        return any(procedure is not None for procedure in procedures)


def _list_answered_before(procedures: ProcedureSet, samples: Sequence[str]) -> str:
    """Return a line for each sample message that an approved procedure answers before any private skill."""
    lines = []
    for sample in samples:
        first = next(iter(procedures.find_triggered(sample)), None)
        if first is not None and first.procedure.scope is not ProcedureScope.USER:
            name = first.procedure.draft.name
            lines.append(f"The message {sample!r} is answered by the approved procedure {name!r} before any skill.")
    return "\n".join(lines)


def _list_samples(workflow: Workflow) -> list[str]:
    values: list[Any] = [value for fields in workflow.data.values() for value in fields.get("samples", ())]
    return [value for value in values if isinstance(value, str)]

"""Who may be handed over to, and whom a message asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from baton.domain.agent import AgentDefinition
from baton.domain.handoff import HandoffDefinition
from baton.domain.identity import Scope
from baton.domain.triggers import matching
from baton.domain.workflow import Workflow, WorkflowStatus


class RefusalReason(StrEnum):
    """Why an agent is not handed over to."""

    UNKNOWN = "unknown"
    """There is no such agent, or the one that answers does not declare it."""
    SELF = "self"
    FORBIDDEN = "forbidden"
    SECOND_WORKFLOW = "second_workflow"
    NESTED = "nested"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A handoff that does not take place; the agent that answers stays in charge."""

    reason: RefusalReason
    explanation: str
    """For the model that wanted it."""
    permission: str | None = None
    """The permission that is missing, for the audit."""
    session: str | None = None
    """What the conversation is in the middle of, for the sentence ``busy``."""

    @property
    def sentence(self) -> str | None:
        """The name of the fixed sentence that the user is told; None: the model is told, and finds its own words."""
        return _SENTENCES.get(self.reason)


_SENTENCES = {
    RefusalReason.FORBIDDEN: "forbidden",
    RefusalReason.SECOND_WORKFLOW: "busy",
    RefusalReason.NESTED: "busy",
    RefusalReason.UNAVAILABLE: "unavailable",
}


def declared_handoff(source: AgentDefinition, target_id: str) -> HandoffDefinition | None:
    """How ``source`` hands over to ``target_id``, if it does."""
    return next((handoff for handoff in source.handoffs if handoff.agent == target_id), None)


def may_hand_off(
    source: AgentDefinition,
    target_id: str,
    target: AgentDefinition | None,
    scope: Scope,
    *,
    session: AgentDefinition | None = None,
    workflow: Workflow | None = None,
    is_available: bool = True,
) -> Refusal | None:
    """Why ``source`` must not hand the conversation over to ``target_id`` now; None if it may.

    ``target`` is the deployment's definition of it, ``session`` the agent that the conversation was handed over to
    before, if it was, and ``workflow`` the one it is in.

    Several reasons may hold at once; the one told is the one that would last longest, so that nobody is sent to clear
    one obstacle away only to find the next: first what is wrong with the request itself (unknown, self), then what the
    user may never do (forbidden), then what the conversation has to finish first (its workflow, whose sentence says
    so, before the plain handoff around it), and last what passes by itself (unavailable). Finding that out may cost a
    request: ask with ``is_available`` at its default first.
    """
    handoff = declared_handoff(source, target_id)
    if target_id == source.id:
        return Refusal(RefusalReason.SELF, "You are this agent already; answer the user yourself.")
    if target is None or handoff is None:
        return Refusal(RefusalReason.UNKNOWN, f"There is no agent {target_id[:80]!r} to hand over to.")
    for permission in (*target.required_permissions, *handoff.required_permissions):
        if not scope.has(permission):
            explanation = f"The user lacks the permission {permission}, which {target.name} needs."
            return Refusal(RefusalReason.FORBIDDEN, explanation, permission=permission)
    refusal = busy(target, session, workflow)
    if refusal is not None:
        return refusal
    if not is_available:
        return Refusal(RefusalReason.UNAVAILABLE, f"{target.name} is not available at the moment.")
    return None


def busy(target: AgentDefinition, session: AgentDefinition | None, workflow: Workflow | None) -> Refusal | None:
    """What the conversation has to finish before it goes to ``target``: the ``session`` it is in, its ``workflow``."""
    if workflow is not None and workflow.status is WorkflowStatus.ACTIVE and (session is not None or target.workflow):
        name = session.workflow.name if session is not None and session.workflow is not None else workflow.name
        explanation = f"The user is in the middle of another workflow ({name}), which must be finished or left first."
        return Refusal(RefusalReason.SECOND_WORKFLOW, explanation, session=name)
    if session is not None:
        explanation = "The conversation was handed over to you; return it to the main agent instead."
        return Refusal(RefusalReason.NESTED, explanation, session=session.name)
    return None


def triggered(
    source: AgentDefinition, targets: Iterable[AgentDefinition], text: str, *, active_agent_id: str | None = None
) -> tuple[AgentDefinition, str] | None:
    """The first agent ``source`` hands over to that the message asks for by a trigger, and that trigger.

    ``targets`` are the deployment's agents. While a specialist has the conversation, ``source`` is the main agent and
    ``active_agent_id`` the specialist, whose own triggers then mean nothing: people who talk to it about a new skill
    are where they want to be.
    """
    by_id = {target.id: target for target in targets}
    for handoff in source.handoffs:
        target = by_id.get(handoff.agent)
        if target is None or target.id in (source.id, active_agent_id):
            continue
        trigger = matching(target.triggers, text)
        if trigger is not None:
            return target, trigger
    return None

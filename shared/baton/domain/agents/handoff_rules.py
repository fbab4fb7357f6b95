"""Decide whether a handoff is allowed, and which agent a message's triggers ask for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.handoffs.triggers import find_first_match
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.tenants.identity import Scope


class RefusalReason(StrEnum):
    """The reason why a handoff is refused."""

    UNKNOWN = "unknown"
    """There is no such agent, or the active agent declares no handoff to it."""
    SELF = "self"
    FORBIDDEN = "forbidden"
    SECOND_WORKFLOW = "second_workflow"
    NESTED = "nested"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused handoff. The active agent stays active."""

    reason: RefusalReason
    explanation: str
    """The reason, for the model that asked for the handoff."""
    permission: str | None = None
    """The missing permission, for the audit."""
    session: str | None = None
    """The name of the current session, for the sentence ``busy``."""

    @property
    def sentence(self) -> str | None:
        """The name of the fixed sentence for the user; None if only the model gets the explanation."""
        return _SENTENCES.get(self.reason)


_SENTENCES = {RefusalReason.FORBIDDEN: "forbidden", RefusalReason.SECOND_WORKFLOW: "busy", RefusalReason.NESTED: "busy"}


def find_declared_handoff(source: AgentDefinition, target_id: str) -> HandoffDefinition | None:
    """Return the handoff to ``target_id`` that ``source`` declares; None if it declares none."""
    return next((handoff for handoff in source.handoffs if handoff.agent == target_id), None)


def find_handoff_refusal(
    source: AgentDefinition,
    target_id: str,
    target: AgentDefinition | None,
    scope: Scope,
    *,
    session: AgentDefinition | None = None,
    workflow: Workflow | None = None,
) -> Refusal | None:
    """Return the reason why ``source`` may not hand over to ``target_id`` now; None if it may.

    ``target`` is None if there is no such agent. ``session`` is the active specialist, if there is one, and
    ``workflow`` its workflow.

    If several reasons apply, the result is the one that lasts longest, so that users do not clear one obstacle only to
    meet the next: first an invalid request (unknown, self), then a missing permission (forbidden), and last a session
    that must be finished (its workflow before the handoff itself).
    """
    handoff = find_declared_handoff(source, target_id)
    if target_id == source.id:
        return Refusal(RefusalReason.SELF, "You are this agent already; answer the user yourself.")
    if target is None or handoff is None:
        return Refusal(RefusalReason.UNKNOWN, f"There is no agent {target_id[:80]!r} to hand over to.")
    for permission in (*target.required_permissions, *handoff.required_permissions):
        if not scope.has(permission):
            explanation = f"The user lacks the permission {permission}, which {target.name} needs."
            return Refusal(RefusalReason.FORBIDDEN, explanation, permission=permission)
    return find_session_refusal(target, session, workflow)


def list_needed_permissions(main: AgentDefinition, target: AgentDefinition) -> tuple[str, ...]:
    """Return the permissions that a user needs to talk to ``target`` in a conversation of the main agent."""
    handoff = find_declared_handoff(main, target.id)
    return (*target.required_permissions, *(handoff.required_permissions if handoff is not None else ()))


def find_session_refusal(
    target: AgentDefinition, session: AgentDefinition | None, workflow: Workflow | None
) -> Refusal | None:
    """Return a refusal if a ``session`` or ``workflow`` must be finished before a handoff to ``target``; else None."""
    if workflow is not None and workflow.status is WorkflowStatus.ACTIVE and (session is not None or target.workflow):
        name = session.workflow.name if session is not None and session.workflow is not None else workflow.name
        explanation = f"The user is in the middle of another workflow ({name}), which must be finished or left first."
        return Refusal(RefusalReason.SECOND_WORKFLOW, explanation, session=name)
    if session is not None:
        explanation = "The conversation was handed over to you; return it to the main agent instead."
        return Refusal(RefusalReason.NESTED, explanation, session=session.name)
    return None


def find_triggered(
    source: AgentDefinition, targets: Iterable[AgentDefinition], text: str, *, active_agent_id: str | None = None
) -> tuple[AgentDefinition, str] | None:
    """Return the first target of the handoffs of ``source`` whose trigger matches ``text``, and that trigger.

    None if no trigger matches. ``targets`` are the deployment's agents. While a specialist is active, ``source`` is the
    main agent and ``active_agent_id`` the specialist, whose triggers are ignored because the user talks to it already.
    """
    by_id = {target.id: target for target in targets}
    for handoff in source.handoffs:
        target = by_id.get(handoff.agent)
        if target is None or target.id in (source.id, active_agent_id):
            continue
        trigger = find_first_match(target.triggers, text)
        if trigger is not None:
            return target, trigger
    return None

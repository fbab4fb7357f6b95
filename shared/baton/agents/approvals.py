"""Interrupts of runs: who may decide on them, and the outcomes of interrupted calls after the decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from baton.agents.call_outcome import CallOutcome
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import write_sentence
from baton.domain.errors import InvalidRequest, ThreadUnavailable
from baton.domain.runs.call_card import CallCard
from baton.domain.runs.interrupt import (
    DecisionStatus,
    Interrupt,
    InterruptDecision,
    PendingInterrupts,
    derive_decision_message_id,
    derive_interrupt_id,
    is_client_call,
    shorten_arguments,
)
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.thread import Run
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.threads import ThreadStore

REFUSED = "The user refused this call. Do not try it again unless they ask for it."
COMMENT = " They said: "
"""Precedes a person's comment."""
EXPIRED = "Nobody approved this call in time. Ask again if it is still wanted."
NOT_DONE = "The user's application did not carry out this call."
NO_RESULT = "The user's application gave no result in time. Call again if it is still wanted."


class Approvals:
    """Decisions on interrupts, by the thread's user and holders of ``tool:approve``. Refusals are audited."""

    def __init__(self, store: ThreadStore, audit: AuditLog) -> None:
        self._store = store
        self._audit = audit

    async def are_superseded(
        self, scope: Scope, thread_id: str, answers: Sequence[InterruptDecision], message_id: str
    ) -> bool:
        """Return whether ``answers`` only cancel interrupts because the user has sent the new message ``message_id``.

        An AG-UI client that sends a new message cancels open interrupts in the same request. In a request that only
        refuses calls, ``message_id`` is the message that the interrupted run answers.
        """
        if any(answer.status is not DecisionStatus.CANCELLED for answer in answers):
            return False
        try:
            thread = await self._store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            return False
        if thread.user_id != scope.user_id:
            return False  # a permission to approve another user's calls is no permission to write in their name
        turn = await self._store.get_turn(scope, thread_id, message_id)
        if turn is None:
            return True
        # The message was sent before, or is the question of the interrupted run.
        decision_id = derive_decision_message_id(answers[0].interrupt_id)
        if thread.pending is not None and thread.pending.message_id == decision_id:
            return turn.first_ordinal > thread.pending.first_ordinal
        return await self._store.get_turn(scope, thread_id, decision_id) is None

    async def find_owner(
        self, scope: Scope, thread_id: str, answers: Sequence[InterruptDecision], *, is_whole: bool = False
    ) -> Scope:
        """Return the scope of the thread's user, in which the run continues.

        The scope has no permissions: the permissions of the interrupted run are stored with the interrupts.

        Raises ``ThreadUnavailable`` unless the caller may decide: only the thread's user may give results of the
        client's tools. Raises ``InvalidRequest`` if ``is_whole`` and ``answers`` decide some open interrupts of the
        thread, but not all open approvals.
        """
        may_approve = scope.has(Permission.TOOL_APPROVE)
        reader = replace(scope, permissions=scope.permissions | {Permission.THREAD_READ_ALL}) if may_approve else scope
        try:
            thread = await self._store.get_thread(reader, thread_id)
            has_results = any(is_client_call(answer.interrupt_id) for answer in answers)
            if thread.user_id != scope.user_id and (has_results or not may_approve):
                raise ThreadUnavailable
        except ThreadUnavailable as refusal:
            detail = {"interruptIds": [answer.interrupt_id for answer in answers]}
            outcome = refusal.audited_as
            await self._audit.record(scope, "tool.approve", thread_id=thread_id, outcome=outcome, detail=detail)
            raise
        if is_whole and thread.pending is not None:
            answered_ids = {answer.interrupt_id for answer in answers}
            missing_ids = [
                interrupt.id
                for interrupt in thread.pending.open
                if interrupt.id not in answered_ids and not interrupt.is_client_call
            ]
            if missing_ids and any(thread.pending.get(answered_id) is not None for answered_id in answered_ids):
                raise InvalidRequest(f"resume: answer every open interrupt at once; missing: {', '.join(missing_ids)}.")
        # The token is sealed for the caller. If the thread belongs to another user, the run cannot use the token.
        return Scope(scope.tenant_id, thread.user_id, subject_token=scope.subject_token)


def make_interrupts(
    calls: Sequence[ToolCall],
    cards: Mapping[str, CallCard],
    run: Run,
    agent: AgentDefinition,
    thread_id: str,
    clock: Clock,
) -> tuple[Interrupt, ...]:
    """Return the interrupts for ``calls``. They expire after the hours in the agent's limits.

    ``cards`` are by call id. Calls of the user's application have no cards.
    """
    expires_at = clock.now() + timedelta(hours=agent.limits.approval_hours)

    def make_interrupt(number: int, call: ToolCall) -> Interrupt:
        is_client = is_client_call(call.id)
        card = cards.get(call.id) or CallCard("", write_sentence(agent, "client_tool_waiting", tool=call.name))
        return Interrupt(
            id=call.id if is_client else derive_interrupt_id(thread_id, run.message_id, number),
            tool_call_id=call.id,
            tool_name=call.name,
            message=card.text,
            expires_at=expires_at,
            arguments="" if is_client else shorten_arguments(call.arguments),
            label=card.label,
            fields=card.fields,
        )

    return tuple(make_interrupt(number, call) for number, call in enumerate(calls, start=1))


def make_pending_interrupts(
    interrupts: tuple[Interrupt, ...],
    run: Run,
    agent_id: str,
    permissions: Iterable[str],
    *,
    first_ordinal: int,
    offered_by: str | None,
) -> PendingInterrupts | None:
    """Return the pending interrupts of a thread after a run with ``permissions``; None without interrupts.

    ``first_ordinal`` is the ordinal of the user's message that began the exchange. ``offered_by`` is the message id of
    the turn whose client offer is in force.
    """
    if not interrupts:
        return None
    return PendingInterrupts(
        run_id=run.run_id,
        message_id=derive_decision_message_id(interrupts[0].id),
        agent_id=agent_id,
        permissions=tuple(sorted(permissions)),
        first_ordinal=first_ordinal,
        interrupts=interrupts,
        offered_by=offered_by,
    )


def find_settled_calls(answered: PendingInterrupts) -> Mapping[str, CallOutcome]:
    """Return the outcomes of the interrupted calls, by call id.

    They are refusals, also of calls that have expired, and the results of the application. Approved calls have no
    outcome yet, because Baton executes them now.
    """
    outcomes: dict[str, CallOutcome] = {}
    for interrupt in answered.interrupts:
        answer, is_client = interrupt.answer, interrupt.is_client_call
        if answer is None or answer.answered_by is None:
            outcome = CallOutcome.refused(NO_RESULT if is_client else EXPIRED)
        elif is_client and answer.status is not DecisionStatus.CANCELLED:
            outcome = CallOutcome.failed(answer.result) if answer.is_error else CallOutcome(answer.result)
        elif not is_client and answer.approves:
            continue
        else:
            comment = f"{COMMENT}{answer.comment}" if answer.comment else ""
            outcome = CallOutcome.refused((NOT_DONE if is_client else REFUSED) + comment)
        outcomes[interrupt.tool_call_id] = outcome
    return outcomes


async def audit_decision(audit: AuditLog, owner: Scope, thread_id: str, interrupt: Interrupt) -> None:
    """Audit the decision on an interrupt, or its result, under the user who gave it. Without a decision, do nothing.

    A decision by nobody is that of an expired interrupt, and is audited as expired under the thread's user.
    """
    answer = interrupt.answer
    if answer is None:
        return
    if interrupt.is_client_call:
        action, result = "tool.client", "failed" if answer.is_error else "succeeded"
        outcome = result if answer.status is DecisionStatus.RESOLVED else "refused"
    else:
        action, outcome = "tool.approve", "approved" if answer.approves else "refused"
    if answer.answered_by is None:
        outcome = "expired"
    actor = Scope(owner.tenant_id, answer.answered_by or owner.user_id)
    detail = {"interruptId": interrupt.id, "tool": interrupt.tool_name, "toolCallId": interrupt.tool_call_id}
    await audit.record(actor, action, thread_id=thread_id, outcome=outcome, detail=detail)

"""Who may answer what a run waits for, and in whose name it goes on then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from baton.domain.agent import AgentDefinition
from baton.domain.errors import InvalidRequest, ThreadUnavailable
from baton.domain.identity import Permission, Scope
from baton.domain.interrupt import (
    AnswerStatus,
    Interrupt,
    InterruptAnswer,
    PendingInterrupts,
    answer_message_id,
    interrupt_id,
)
from baton.domain.sentences import sentence
from baton.domain.thread import Run
from baton.domain.tool_call import ToolCall
from baton.ports.audit import AuditLog
from baton.ports.clock import Clock
from baton.ports.thread_store import ThreadStore

REFUSED = "The user refused this call. Do not try it again unless they ask for it."
EXPIRED = "Nobody approved this call in time. Ask again if it is still wanted."


class Approvals:
    """Lets the thread's user, or whoever holds ``tool:approve``, answer interrupts; who may not is audited."""

    def __init__(self, store: ThreadStore, audit: AuditLog) -> None:
        self._store = store
        self._audit = audit

    async def is_passed_over(
        self, scope: Scope, thread_id: str, answers: Sequence[InterruptAnswer], message_id: str
    ) -> bool:
        """Whether the thread's user has said ``message_id`` instead of giving ``answers``.

        AG-UI's clients cancel what is open with the message that they send in its place, and name the message that
        the interrupted run answers where they do no more than refuse.
        """
        if any(answer.status is not AnswerStatus.CANCELLED for answer in answers):
            return False
        try:
            thread = await self._store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            return False
        if thread.user_id != scope.user_id:
            return False  # who may decide about another user's calls may not therefore speak for them
        said = await self._store.get_turn(scope, thread_id, message_id)
        if said is None:
            return True
        # Sent again, or the question itself.
        taken = answer_message_id(answers[0].interrupt_id)
        if thread.pending is not None and thread.pending.message_id == taken:
            return said.first_ordinal > thread.pending.first_ordinal
        return await self._store.get_turn(scope, thread_id, taken) is None

    async def owner(
        self, scope: Scope, thread_id: str, answers: Sequence[InterruptAnswer], *, is_whole: bool = False
    ) -> Scope:
        """The scope of the thread's user, in which the run goes on. Raises ``ThreadUnavailable``.

        With ``is_whole`` the answers must be to everything that is open. Raises ``InvalidRequest``.

        It bears the permissions of nobody: those the interrupted run had are kept with the interrupts.
        """
        try:
            thread = await self._store.get_thread(_reader(scope), thread_id)
            if thread.user_id != scope.user_id and not scope.has(Permission.TOOL_APPROVE):
                raise ThreadUnavailable
        except ThreadUnavailable as refusal:
            detail = {"interruptIds": [answer.interrupt_id for answer in answers]}
            outcome = refusal.audited_as
            await self._audit.record(scope, "tool.approve", thread_id=thread_id, outcome=outcome, detail=detail)
            raise
        if is_whole and thread.pending is not None:
            given = {answer.interrupt_id for answer in answers}
            missing = [each.id for each in thread.pending.open if each.id not in given]
            if missing and any(thread.pending.get(each) is not None for each in given):
                raise InvalidRequest(f"resume: answer every open interrupt at once; missing: {', '.join(missing)}.")
        return Scope(scope.tenant_id, thread.user_id)


def _reader(scope: Scope) -> Scope:
    """Whoever may approve anybody's calls must find the thread first."""
    if not scope.has(Permission.TOOL_APPROVE):
        return scope
    return replace(scope, permissions=scope.permissions | {Permission.THREAD_READ_ALL})


def interrupts_of(
    calls: Sequence[ToolCall], run: Run, agent: AgentDefinition, thread_id: str, clock: Clock
) -> tuple[Interrupt, ...]:
    """The questions that ``calls`` put to a person; they expire as the agent's definition says."""
    expires_at = clock.now() + timedelta(hours=agent.limits.approval_hours)
    return tuple(
        Interrupt(
            id=interrupt_id(thread_id, run.message_id, number),
            tool_call_id=call.id,
            tool_name=call.name,
            message=sentence(agent, "approval_needed", tool=call.name),
            expires_at=expires_at,
        )
        for number, call in enumerate(calls, start=1)
    )


def pending_interrupts(
    interrupts: tuple[Interrupt, ...], run: Run, agent_id: str, permissions: Iterable[str], *, first_ordinal: int
) -> PendingInterrupts | None:
    """What a thread waits for after a run that came with ``permissions``; None: nothing.

    ``first_ordinal`` is that of the user's message which all this answers.
    """
    if not interrupts:
        return None
    return PendingInterrupts(
        run_id=run.run_id,
        message_id=answer_message_id(interrupts[0].id),
        agent_id=agent_id,
        permissions=tuple(sorted(permissions)),
        first_ordinal=first_ordinal,
        interrupts=interrupts,
    )


def refusals(answered: PendingInterrupts) -> Mapping[str, str]:
    """What the model is told of the calls that must not be made, by call id."""
    told: dict[str, str] = {}
    for interrupt in answered.interrupts:
        answer = interrupt.answer
        if answer is None or answer.answered_by is None:
            told[interrupt.tool_call_id] = EXPIRED
        elif not answer.approves:
            comment = f" They said: {answer.comment}" if answer.comment else ""
            told[interrupt.tool_call_id] = REFUSED + comment
    return told


async def audit_answer(audit: AuditLog, owner: Scope, thread_id: str, interrupt: Interrupt) -> None:
    """Record the decision that was taken, under the user who took it; one that came too late decides nothing."""
    answer = interrupt.answer
    if answer is None:
        return
    outcome = "expired" if answer.answered_by is None else "approved" if answer.approves else "refused"
    by = Scope(owner.tenant_id, answer.answered_by or owner.user_id)
    detail = {"interruptId": interrupt.id, "tool": interrupt.tool_name, "toolCallId": interrupt.tool_call_id}
    await audit.record(by, "tool.approve", thread_id=thread_id, outcome=outcome, detail=detail)

"""Who may answer what a run waits for, and in whose name it goes on then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from baton.domain.agent import AgentDefinition
from baton.domain.errors import ThreadUnavailable
from baton.domain.identity import Permission, Scope
from baton.domain.interrupt import Interrupt, InterruptAnswer, interrupt_id
from baton.domain.sentences import sentence
from baton.domain.thread import Run, Thread
from baton.domain.tool_call import ToolCall
from baton.ports.audit import AuditLog
from baton.ports.clock import Clock
from baton.ports.thread_store import ThreadStore


class Approvals:
    """Lets the thread's user, or whoever holds ``tool:approve``, answer interrupts; each answer is audited."""

    def __init__(self, store: ThreadStore, audit: AuditLog) -> None:
        self._store = store
        self._audit = audit

    async def owner(self, scope: Scope, thread_id: str, answers: Sequence[InterruptAnswer]) -> Scope:
        """The scope of the thread's user, in which the run goes on. Raises ``ThreadUnavailable``.

        It bears the permissions of nobody: those the interrupted run had are kept with the interrupts.
        """
        try:
            thread = await self._store.get_thread(_reader(scope), thread_id)
            if thread.user_id != scope.user_id and not scope.has(Permission.TOOL_APPROVE):
                raise ThreadUnavailable
        except ThreadUnavailable:
            detail = {"interruptIds": [answer.interrupt_id for answer in answers]}
            await self._audit.record(scope, "tool.approve", thread_id=thread_id, outcome="denied", detail=detail)
            raise
        await self._record(scope, thread, answers)
        return Scope(scope.tenant_id, thread.user_id)

    async def _record(self, scope: Scope, thread: Thread, answers: Sequence[InterruptAnswer]) -> None:
        for answer in answers:
            interrupt = thread.pending.get(answer.interrupt_id) if thread.pending is not None else None
            if interrupt is None or interrupt.answer is not None:
                continue  # a repeated answer decides nothing
            detail = {"interruptId": interrupt.id, "tool": interrupt.tool_name, "toolCallId": interrupt.tool_call_id}
            outcome = "approved" if answer.approves else "refused"
            await self._audit.record(scope, "tool.approve", thread_id=thread.id, outcome=outcome, detail=detail)


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

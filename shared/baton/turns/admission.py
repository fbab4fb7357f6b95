"""Checks whether a run may begin under the lease that was taken for it. A refusal changes nothing."""

from __future__ import annotations

from dataclasses import replace

from baton.agents.approvals import audit_answer
from baton.agents.tool_kit import taken_name
from baton.domain.agent import AgentDefinition
from baton.domain.client_offer import ClientOffer
from baton.domain.errors import (
    AgentMismatch,
    ApprovalsWaiting,
    BatonError,
    BranchCrossesHandoff,
    BranchUnavailable,
    HandoffInProgress,
    InterruptUnavailable,
    LimitReached,
    MessageIdConflict,
    NotInHandoff,
    ThreadLed,
    ThreadUnavailable,
    ToolNameTaken,
    TooManyBranches,
    UnknownAgent,
    WorkflowUnavailable,
)
from baton.domain.identity import Scope
from baton.handoffs.forks import is_led_by_parent
from baton.ports.leases import Lease
from baton.requests.turn_requests import (
    ActionRequest,
    AnswerRequest,
    ConversationAction,
    MessageRequest,
    TurnRequest,
)
from baton.turns.turn_call import StillWaiting
from baton.turns.turn_services import TurnServices

BRANCH_REFUSALS = (BranchUnavailable, BranchCrossesHandoff, TooManyBranches)
REFUSALS = (
    *BRANCH_REFUSALS,
    MessageIdConflict,
    AgentMismatch,
    UnknownAgent,
    InterruptUnavailable,
    NotInHandoff,
    HandoffInProgress,
    WorkflowUnavailable,
    ApprovalsWaiting,
    ThreadLed,
    ToolNameTaken,
    LimitReached,
)
"""Errors that refuse a request before its run begins. Nothing of the request is stored."""


class Admission:
    """Checks requests against the state of the thread under the lease."""

    def __init__(self, services: TurnServices) -> None:
        self._services = services
        self._store = services.store

    async def take_answers(self, lease: Lease, request: AnswerRequest) -> Lease:
        """Store the answers with the thread, and return a lease whose thread has all of them.

        Raises ``StillWaiting`` while other answers are missing, and ``InterruptUnavailable`` if the thread does not
        wait for these answers.
        """
        pending = lease.thread.pending
        if pending is None or pending.message_id != request.message_id:
            if await self._store.get_turn(lease.scope, lease.thread_id, request.message_id) is None:
                raise InterruptUnavailable
            return replace(lease, thread=replace(lease.thread, pending=None))  # answered before: replay it
        if any(pending.get(answer.interrupt_id) is None for answer in request.answers):
            raise InterruptUnavailable
        answered = pending.answered(request.answers, self._services.agents.clock.now())
        if answered != pending:
            await self._store.keep_pending(lease, answered)
            for before, after in zip(pending.interrupts, answered.interrupts, strict=True):
                if before.answer is None and after.answer is not None:
                    await audit_answer(self._services.agents.audit, lease.scope, lease.thread_id, after)
        if answered.open:
            raise StillWaiting
        return replace(lease, thread=replace(lease.thread, pending=answered))

    async def refusal(self, lease: Lease, request: TurnRequest) -> BatonError | None:
        """Return the error that refuses the request in the thread's present state, or None if it may run.

        A request that is refused now may have been carried out before. Raises ``AgentMismatch``, ``ThreadLed`` and
        ``UnknownAgent``: such a request was never carried out.
        """
        if request.agent_id is not None and request.agent_id != lease.thread.agent_id:
            raise AgentMismatch
        if is_led_by_parent(lease.thread):
            raise ThreadLed
        if isinstance(request, ActionRequest):
            return await self._refused_action(lease, request)
        if isinstance(request, AnswerRequest):
            return InterruptUnavailable() if lease.thread.pending is None else None
        agents = await self._services.agents.registry.of(lease.scope)
        agents.check_main(lease.scope, lease.thread)
        most = (await self._services.limits.of(lease.scope)).thread_tokens
        if most is not None and lease.thread.usage.total_tokens >= most:
            return LimitReached(
                f"This conversation has used its {most:,} tokens. Begin a new one; it can still be read and closed."
            )
        return await self.refused_tools(lease, request)

    async def refused_tools(self, lease: Lease, request: MessageRequest | AnswerRequest) -> ToolNameTaken | None:
        """Return the error that refuses the client's tools beside those of the active agent; None if they may stay."""
        if request.client is None:
            return None
        agents = await self._services.agents.registry.of(lease.scope)
        return await self._taken(lease.scope, agents.answering(lease.thread), request.client)

    async def refuse_new_thread(self, scope: Scope, request: TurnRequest, agent: AgentDefinition) -> None:
        """Raise ``ToolNameTaken`` if the client's tools cannot stand beside those of a new thread's ``agent``.

        Asked before the lease is taken, which would create the thread.
        """
        if request.client is None or not request.thread.may_create:
            return
        refusal = await self._taken(scope, agent, request.client)
        if refusal is None:
            return
        try:
            await self._store.get_thread(scope, request.thread.id)
        except ThreadUnavailable as unavailable:
            if unavailable.is_unused:  # otherwise acquiring the lease finds out that it is another's
                raise refusal from None

    async def _taken(self, scope: Scope, agent: AgentDefinition, client: ClientOffer) -> ToolNameTaken | None:
        name = await taken_name(agent, scope, self._services.agents.tools, client)
        if name is None:
            return None
        return ToolNameTaken(f"tools: the agent has a tool named {name!r} of its own. Offer yours under another name.")

    async def _refused_action(self, lease: Lease, request: ActionRequest) -> BatonError | None:
        if request.action is ConversationAction.EXIT:
            return None if lease.thread.is_handed_over else NotInHandoff()
        if request.action is ConversationAction.MERGE:
            return ApprovalsWaiting() if lease.thread.open_interrupts else None
        if await self._services.conversations.is_in_session(lease.thread, lease.scope):
            return HandoffInProgress()
        try:
            await self._services.conversations.unfinished(lease.scope, request.about or "")
        except WorkflowUnavailable as unavailable:
            return unavailable
        return None

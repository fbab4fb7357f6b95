"""Deciding which run to carry out under a lease, and whether it may begin. A refusal changes nothing."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from baton.agents.approvals import audit_decision
from baton.agents.run_facts import TurnCall
from baton.domain import errors
from baton.domain.errors import ToolNameTaken, UnknownAgent
from baton.domain.tenants.identity import Scope
from baton.domain.threads.content import text_of
from baton.domain.threads.turn_requests import (
    ActionRequest,
    ConversationAction,
    DecisionRequest,
    MessageRequest,
    TurnRequest,
)
from baton.memory.early_recall import EarlyRecall
from baton.ports.threads.leases import Lease, LeaseRequest, NoSuchThread
from baton.ports.threads.turn_queue import HeldRecord
from baton.tenants.rates import RunPermit
from baton.threads.leases import give_back
from baton.threads.outbox.outbox import discard
from baton.threads.requests.thread_access import distinguish_unavailable
from baton.turns.branch_points import BranchPoints
from baton.turns.finished_runs import FinishedRun
from baton.turns.repeats import Orphan, find_finished, find_orphan
from baton.turns.request_refusals import RequestRefusals
from baton.turns.run import RunExecution
from baton.turns.turn_services import TurnServices

BRANCH_REFUSALS = (errors.BranchUnavailable, errors.BranchCrossesHandoff, errors.NotRegenerable, errors.TooManyBranches)
REFUSALS = (
    *BRANCH_REFUSALS,
    errors.MessageIdConflict,
    errors.MessageWithdrawn,
    errors.AgentMismatch,
    UnknownAgent,
    errors.InterruptUnavailable,
    errors.NotInHandoff,
    errors.HandoffInProgress,
    errors.NotAtDesk,
    errors.DeskTaken,
    errors.DeskNotTaken,
    errors.DeskClosed,
    errors.WorkflowUnavailable,
    errors.ApprovalsWaiting,
    errors.WaitsForPeople,
    errors.ThreadLed,
    ToolNameTaken,
    errors.LimitReached,
    errors.RateLimited,
    errors.SpendingLimitReached,
    errors.ModelsStopped,
)
"""Errors that refuse a request before its run begins. Nothing of the request is stored."""


class Admission:
    """The admission of runs: requests are checked against the state of the thread under the lease."""

    def __init__(self, services: TurnServices) -> None:
        self._services = services
        self._store = services.store
        self._agents = services.agents.registry
        self._points = BranchPoints(services.store, services.conversations)
        self._refusals = RequestRefusals(services)

    async def narrow_permissions(self, call: TurnCall) -> TurnCall:
        """Return the call without the permissions that its user has lost, if its run begins by itself."""
        request = call.request
        if not isinstance(request, MessageRequest) or request.begun_by is None or call.gives_up:
            return call
        owners = self._services.owner_permissions
        return replace(call, scope=await owners.narrow(call.scope, request.thread.id, request.begun_by))

    async def make_lease_request(self, call: TurnCall) -> tuple[LeaseRequest, UnknownAgent | None]:
        """Return the request for the call's lease, and the error that refuses the call if its thread does not exist.

        The error is None if the requested agent may begin a thread. If the thread exists, its own agent answers. Raises
        ``ToolNameTaken``.
        """
        request = call.request
        self._agents.begin(call.scope)  # agents and limits are read while the lease is requested
        self._services.limits.begin(call.scope)
        delivery = call.record.delivery if call.record is not None else None
        lease_request = LeaseRequest(request.thread.id, request.run_id, request.message_id, delivery=delivery)
        if isinstance(request, MessageRequest) and request.a2a_task is not None:
            lease_request = replace(lease_request, begins_task=True, notifies=request.notifies)
        try:
            agent = await self._agents.for_new_thread(call.scope, request.agent_id)
        except UnknownAgent as unknown:
            return lease_request, unknown
        await self._refusals.check_tools_of_new_thread(call.scope, request, agent)
        idle_seconds = agent.timeouts.idle_minutes * 60
        may_create = request.thread.may_create
        return replace(lease_request, may_create=may_create, agent_id=agent.id, idle_seconds=idle_seconds), None

    async def permit(self, call: TurnCall) -> RunPermit | None:
        """Return the call's permit under the limits; None if no limit applies to it.

        Call this before anything is written. A message that was accepted before is not refused again: its permit is
        None. Raises ``RateLimited``, ``SpendingLimitReached`` and ``ModelsStopped``, and ``LimitReached`` for a run
        that begins by itself.
        """
        request = call.request
        is_message = isinstance(request, MessageRequest) or _asks_for_people(request)
        if call.gives_up or (isinstance(request, ActionRequest) and not is_message):
            return None
        scope, thread_id, message_id = call.scope, request.thread.id, request.message_id
        begins_itself = isinstance(request, MessageRequest) and request.begun_by is not None
        try:
            if isinstance(request, MessageRequest):
                if request.begun_by is not None:
                    await self._services.self_starts.check(scope, request.begun_by)
                await self._check_spending(scope, request)
            return await self._services.run_limits.check(
                scope, thread_id, message_id, is_message=is_message, begins_itself=begins_itself
            )
        except (errors.RateLimited, errors.LimitReached, errors.SpendingLimitReached, errors.ModelsStopped):
            if await self._store.get_turn(scope, thread_id, message_id) is not None:
                return None
            raise

    async def _check_spending(self, scope: Scope, request: MessageRequest) -> None:
        """Check that models may be asked for the message. A message at a desk passes, because people answer it.

        The thread is read only after a refusal, so that other turns do not pay for the read. Raises
        ``SpendingLimitReached`` and ``ModelsStopped``.
        """
        try:
            await self._services.spending_limits.check(scope, may_overspend=request.over_spending)
        except (errors.SpendingLimitReached, errors.ModelsStopped) as refusal:
            try:
                thread = await self._store.get_thread(scope, request.thread.id)
            except errors.ThreadUnavailable:
                raise refusal from None
            if thread.conversation.desk is None:
                raise

    async def begin_recall(self, call: TurnCall, lease_request: LeaseRequest) -> EarlyRecall | None:
        """Begin to search memory for the message while its lease is acquired; return None if no search is needed.

        The search is made for the agent of ``lease_request``, because the thread's agent is not known yet. If the
        thread's agent needs another search, this one ends with the call. A branch may repeat an earlier message, which
        is not known yet either, so it has no early search.
        """
        request = call.request
        if not lease_request.agent_id or call.gives_up or not isinstance(request, MessageRequest) or request.branch:
            return None
        agent = await self._agents.get(call.scope, lease_request.agent_id)
        return self._services.agents.memory.begin(call.scope, text_of(request.content), agent)

    async def audit_denial(
        self,
        call: TurnCall,
        error: NoSuchThread | errors.ThreadUnavailable | UnknownAgent,
        unknown: UnknownAgent | None,
    ) -> errors.ThreadUnavailable | UnknownAgent:
        """Audit the refusal of the message, and return the error to raise.

        ``unknown`` is the error for a thread that does not exist. The refusal of an agent that the caller may see is
        not audited.
        """
        thread_id, detail = call.request.thread.id, {"messageId": call.request.message_id}
        if isinstance(error, NoSuchThread) and unknown is not None:
            error = unknown
        if not isinstance(error, UnknownAgent):
            error = await distinguish_unavailable(self._store, call.scope, thread_id, error)
        elif error.is_visible:
            return error
        elif error.permission is not None:
            detail["permission"] = error.permission
        await self._services.agents.audit.record(
            call.scope, "thread.write", thread_id=thread_id, outcome=error.audited_as, detail=detail
        )
        return error

    async def admit(self, call: TurnCall, lease: Lease, permit: RunPermit | None) -> RunExecution | FinishedRun | None:
        """Return the run to carry out under the lease: the run of the call, or an orphaned run, which comes first.

        Return the finished run if an earlier copy of the request was carried out, and None while decisions on other
        interrupts are missing; in both cases the lease has been given back. Raises ``REFUSALS``, and ``ThreadBusy`` if
        the call gives up its run and there is an orphaned run.
        """
        run, request = lease.thread.run, call.request
        is_own = run is not None and run.message_id == request.message_id
        orphan = None if is_own else await find_orphan(self._store, lease)
        if orphan is not None and call.gives_up:
            raise errors.ThreadBusy  # another message's run, which its own delivery or the sweeper finishes
        if orphan is not None:
            # A branch that can no longer be opened is refused to the caller who has asked for it, and to nobody else.
            with contextlib.suppress(*BRANCH_REFUSALS):
                return await self.admit_orphan(orphan, lease, deadline=call.deadline, record=call.record)
        if isinstance(request, DecisionRequest):
            conflict = await self._refusals.find_tool_clash(lease, request)
            if conflict is not None:
                return await self._find_earlier(call, lease, conflict)
            decided_lease = await self._take_decisions(lease, request)
            if decided_lease is None:
                await give_back(self._store, lease)
                return None
            lease = decided_lease
        if not is_own:
            lease = await self._store.begin_run(lease, run_id=request.run_id, message_id=request.message_id)
        refusal = await self._refusals.find(lease, request)
        if refusal is None and permit is not None:
            limit_error = await self._services.run_limits.begin(permit, lease)
            # Decisions on interrupts are stored by now, so they are not refused.
            refusal = limit_error if permit.is_message else None
        if refusal is not None:
            return await self._find_earlier(call, lease, refusal)
        pending = lease.thread.pending
        if isinstance(request, DecisionRequest) and pending is not None:
            call = replace(call, scope=replace(call.scope, permissions=frozenset(pending.permissions)))
        try:
            return await self._admit_own(call, lease)
        except BRANCH_REFUSALS as branch_refusal:
            return await self._find_earlier(call, lease, branch_refusal)

    async def admit_orphan(
        self, orphan: Orphan, lease: Lease, *, deadline: float, record: HeldRecord | None
    ) -> RunExecution:
        """Return the orphaned run to carry out. The original caller gets its events live and by replay.

        Raises ``BRANCH_REFUSALS`` if the run begins a branch that can no longer be opened.
        """
        return await self._admit_own(TurnCall(orphan.scope, orphan.request, discard, deadline, record=record), lease)

    async def _admit_own(self, call: TurnCall, lease: Lease) -> RunExecution:
        """Return the run of the call, which begins a branch if the request asks for one."""
        request, branch = call.request, None
        if isinstance(request, MessageRequest) and request.branch is not None:
            branch = await self._points.open_branch(lease.scope, lease.thread, request.branch, request.content)
            call = replace(call, request=replace(request, content=branch.content, a2a_task=branch.a2a_task))
        agents = await self._agents.in_session(lease.scope, lease.thread)
        if branch is not None:
            lease = replace(lease, thread=branch.point.thread)
        return RunExecution(self._services, call, lease, agents, branch)

    async def _find_earlier(self, call: TurnCall, lease: Lease, refusal: errors.BatonError) -> FinishedRun:
        """Return the run of an earlier copy of this request, and give the lease back.

        Raises ``refusal`` if there is none.
        """
        turn = await self._store.get_turn(lease.scope, lease.thread_id, call.request.message_id)
        finished_run = await find_finished(self._store, call, turn, lease.thread) if turn is not None else None
        if finished_run is None:
            raise refusal
        await give_back(self._store, lease)
        return finished_run

    async def _take_decisions(self, lease: Lease, request: DecisionRequest) -> Lease | None:
        """Store the decisions with the thread, and return a lease whose thread has all of them.

        Return None while decisions on other interrupts are missing. Raises ``InterruptUnavailable`` if the thread does
        not wait for these decisions.
        """
        pending = lease.thread.pending
        if pending is None or pending.message_id != request.message_id:
            if await self._store.get_turn(lease.scope, lease.thread_id, request.message_id) is None:
                raise errors.InterruptUnavailable
            return replace(lease, thread=replace(lease.thread, pending=None))  # answered before: replay it
        if any(pending.get(decision.interrupt_id) is None for decision in request.decisions):
            raise errors.InterruptUnavailable
        answered_interrupts = pending.fill_in(request.decisions, self._services.agents.clock.now())
        if answered_interrupts != pending:
            await self._store.keep_pending(lease, answered_interrupts)
            for before, after in zip(pending.interrupts, answered_interrupts.interrupts, strict=True):
                if before.answer is None and after.answer is not None:
                    await audit_decision(self._services.agents.audit, lease.scope, lease.thread_id, after)
        return (
            None
            if answered_interrupts.open
            else replace(lease, thread=replace(lease.thread, pending=answered_interrupts))
        )


def _asks_for_people(request: TurnRequest) -> bool:
    """Return whether the user asks for a desk. Such a request counts in rates as a message does."""
    return isinstance(request, ActionRequest) and request.action is ConversationAction.DESK_ASK

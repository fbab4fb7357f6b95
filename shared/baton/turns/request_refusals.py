"""Refusals of requests that the state of their thread does not permit."""

from __future__ import annotations

from baton.agents.tools.tool_set import find_taken_name
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import AfterClosing
from baton.domain.errors import ToolNameTaken
from baton.domain.schedules.run_source import CauseKind
from baton.domain.tenants.identity import Scope
from baton.domain.threads.desk_requests import find_desk_refusal, find_transfer_refusal
from baton.domain.threads.thread import Thread, ThreadStatus
from baton.domain.threads.turn_requests import (
    OF_PEOPLE,
    ActionRequest,
    ClientOffer,
    ConversationAction,
    DecisionRequest,
    MessageRequest,
    TurnRequest,
)
from baton.ports.threads.leases import Lease
from baton.threads.handoffs.forks import is_led_by_parent
from baton.turns.turn_services import TurnServices


class RequestRefusals:
    """The checks of requests against the state of their threads. They change nothing."""

    def __init__(self, services: TurnServices) -> None:
        self._services = services
        self._store = services.store
        self._agents = services.agents.registry

    async def find(self, lease: Lease, request: TurnRequest) -> errors.BatonError | None:
        """Return the error that refuses the request in the thread's present state, or None if it may run.

        The error is not raised, because an earlier copy of the request may have been carried out. Raises
        ``AgentMismatch``, ``ThreadLed`` and ``UnknownAgent`` for requests that cannot have been carried out.
        """
        if request.agent_id is not None and request.agent_id != lease.thread.agent_id:
            raise errors.AgentMismatch
        if is_led_by_parent(lease.thread):
            raise errors.ThreadLed
        if isinstance(request, ActionRequest):
            return await self._find_refusal_of_action(lease, request)
        if isinstance(request, DecisionRequest):
            return errors.InterruptUnavailable() if lease.thread.pending is None else None
        if request.begun_by is not None and self._waits_for_people(lease.thread):
            return errors.WaitsForPeople()
        agents = await self._agents.in_session(lease.scope, lease.thread)
        agents.check_main(lease.scope, lease.thread)
        if _is_result_for_closed(lease.thread, request, agents.get_main(lease.thread)):
            return errors.WaitsForPeople("The conversation is closed. The result enters when its user opens it again.")
        max_tokens = (await self._services.limits.of(lease.scope)).thread_tokens
        # People of a desk answer without a model.
        is_at_desk = lease.thread.conversation.desk is not None
        if max_tokens is not None and lease.thread.usage.total_tokens >= max_tokens and not is_at_desk:
            return errors.LimitReached(
                f"This conversation has used its {max_tokens:,} tokens. Begin a new one; "
                "it can still be read and closed."
            )
        return await self._find_spending_refusal(lease, request) or await self.find_tool_clash(lease, request)

    async def _find_spending_refusal(self, lease: Lease, request: MessageRequest) -> errors.BatonError | None:
        """Return the error if spending limits stop the answering agent's model; None if they do not.

        Only the first attempt at a run that begins by itself is refused, because such a run can wait. Any other run
        begins, and ends with this error.
        """
        run = lease.thread.run
        if request.begun_by is None or (run is not None and run.attempt > 1):
            return None
        agent = (await self._agents.in_session(lease.scope, lease.thread)).get_answering(lease.thread)
        if agent.remote is not None:
            return None
        try:
            await self._services.spending_limits.check_agent(lease.scope, agent.id)
        except (errors.SpendingLimitReached, errors.ModelsStopped) as refusal:
            return refusal
        return None

    def _waits_for_people(self, thread: Thread) -> bool:
        """Return whether a desk is active, or somebody may still decide on an interrupt."""
        now = self._services.agents.clock.now()
        is_open = any(now < interrupt.expires_at for interrupt in thread.open_interrupts)
        return is_open or thread.conversation.desk is not None

    async def find_tool_clash(self, lease: Lease, request: MessageRequest | DecisionRequest) -> ToolNameTaken | None:
        """Return the error if the client's tools have names of the active agent's tools; None if they do not."""
        if request.client is None:
            return None
        agents = await self._agents.in_session(lease.scope, lease.thread)
        return await self._find_taken_name(lease.scope, agents.get_answering(lease.thread), request.client)

    async def check_tools_of_new_thread(self, scope: Scope, request: TurnRequest, agent: AgentDefinition) -> None:
        """Raise ``ToolNameTaken`` if the client's tools clash with those of a new thread's ``agent``.

        This check precedes the acquisition of the lease, which would create the thread.
        """
        if request.client is None or not request.thread.may_create:
            return
        refusal = await self._find_taken_name(scope, agent, request.client)
        if refusal is None:
            return
        try:
            await self._store.get_thread(scope, request.thread.id)
        except errors.ThreadUnavailable as unavailable:
            if unavailable.is_unused:  # acquiring the lease refuses the id of another user's thread
                raise refusal from None

    async def _find_taken_name(self, scope: Scope, agent: AgentDefinition, client: ClientOffer) -> ToolNameTaken | None:
        name = await find_taken_name(agent, scope, self._services.agents.tools, client)
        if name is None:
            return None
        return ToolNameTaken(f"tools: the agent itself has a tool named {name!r}. Offer yours under another name.")

    async def _find_refusal_of_action(self, lease: Lease, request: ActionRequest) -> errors.BatonError | None:
        """Return the error that refuses the action in the thread's present state, or None if it may run."""
        if request.action is ConversationAction.EXIT:
            return None if lease.thread.is_handed_over else errors.NotInHandoff()
        if request.action in OF_PEOPLE:
            return find_desk_refusal(lease.thread, request) or await self._find_closed_desk(lease, request)
        if request.action is ConversationAction.DESK_ASK:
            return errors.HandoffInProgress() if lease.thread.is_handed_over else None
        if request.action is ConversationAction.MERGE:
            if lease.thread.conversation.desk is not None:
                return errors.HandoffInProgress("The conversation is with people of a desk. Merge when it is back.")
            return errors.ApprovalsWaiting() if lease.thread.open_interrupts else None
        if await self._services.conversations.is_in_session(lease.thread, lease.scope):
            return errors.HandoffInProgress()
        try:
            await self._services.conversations.find_unfinished(lease.scope, request.about or "")
        except errors.WorkflowUnavailable as unavailable:
            return unavailable
        return None

    async def _find_closed_desk(self, lease: Lease, request: ActionRequest) -> errors.DeskClosed | None:
        """Return the error that refuses a transfer to a desk that is closed now; None for any other request."""
        if request.action is not ConversationAction.DESK_TRANSFER:
            return None
        target = (await self._agents.in_session(lease.scope, lease.thread)).describe(request.about or "")
        if target is None or target.desk is None:
            return None
        return find_transfer_refusal(target.name, target.desk, self._services.agents.clock.now())


def _is_result_for_closed(thread: Thread, request: MessageRequest, agent: AgentDefinition) -> bool:
    """Return whether the message is a task's result that waits until the closed thread is opened again."""
    is_result = request.begun_by is not None and request.begun_by.kind is CauseKind.TASK
    is_closed = thread.status is ThreadStatus.CLOSED
    return is_result and is_closed and agent.background.after_closing is AfterClosing.WAITS

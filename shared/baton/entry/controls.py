"""Requests of users that are not messages: cancel a run, exit a handoff, continue a workflow, close the session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.desks.desk_session import DeskCheck, Person, check_desk
from baton.domain.errors import HandoffInProgress, NotInHandoff, ThreadLed, ThreadUnavailable, UnknownAgent
from baton.domain.memory.episode import derive_episode_id
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.desk_requests import make_ask_request, make_expiry_request
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import LeaseMark, Thread, ThreadStatus
from baton.domain.threads.turn_requests import ActionRequest
from baton.domain.times import to_millis
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.connections import LiveRegistry
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.threads.handoffs.conversation_states import ConversationStates
from baton.threads.handoffs.forks import is_led_by_parent
from baton.threads.requests.parsing import make_continue_request, make_exit_request, parse_workflow_id
from baton.threads.requests.queue_mapping import make_queued_action, make_queued_close, make_queued_takeover
from baton.threads.requests.thread_access import get_own_thread, refusals_audited
from baton.threads.sessions.sessions import ClosedThread, find_last_episode_id


@dataclass(frozen=True, slots=True)
class Controls:
    """Requests of users about their threads. Refusals of threads that are not the caller's own are audited."""

    store: ThreadStore
    live: LiveRegistry
    queue: TurnQueue
    conversations: ConversationStates
    audit: AuditLog

    async def cancel(self, scope: Scope, thread_id: str, run_id: str | None) -> str | None:
        """Cancel the run in progress, or the run ``run_id`` even if it has not begun. Return the id of that run.

        Return None if no run is named and none is in progress. Raises ``ThreadUnavailable``.
        """
        thread = await self._read_own(scope, thread_id, "run.cancel")
        stopped_run_id = run_id or (thread.run.run_id if thread.run else None)
        if stopped_run_id is None:
            return None
        await self._stop(scope, thread_id, stopped_run_id)
        return stopped_run_id

    async def request_exit(self, scope: Scope, thread_id: str, *, request_id: str) -> ActionRequest:
        """Return the request for the run that ends the handoff, and cancel the specialist's run in progress.

        Repeated calls for one handoff return the same request. Raises ``ThreadUnavailable``. Raises ``NotInHandoff`` if
        there is no handoff and no run in progress that may still hand over.
        """
        thread = await self._read_own(scope, thread_id, "thread.exit")
        handoff_place = thread.conversation.handoff
        if handoff_place is None:
            if thread.run is None:
                raise NotInHandoff
            return make_exit_request(thread_id, key=request_id)
        request = make_exit_request(thread_id, key=f"{handoff_place.ordinal}.{handoff_place.number}")
        if thread.run is not None and thread.run.message_id != request.message_id:
            await self._stop(scope, thread_id, thread.run.run_id)
        return request

    async def request_continue(self, scope: Scope, thread: ThreadRef, workflow_id: object) -> ActionRequest:
        """Return the request for the run that continues an unfinished workflow, in an existing or a new thread.

        Repeated calls return the same request until the workflow changes. Raises ``InvalidRequest``,
        ``ThreadUnavailable``, ``WorkflowUnavailable`` and ``HandoffInProgress``.
        """
        parsed_id = parse_workflow_id(workflow_id)
        try:
            current = await self._read_own_if_begun(scope, thread, "thread.continue")
        except ThreadUnavailable:
            # An unknown workflow is refused in the same way, whether or not the thread exists in another tenant.
            await self.conversations.find_unfinished(scope, parsed_id)
            raise
        workflow = await self.conversations.find_unfinished(scope, parsed_id)
        if current is not None and await self.conversations.is_in_session(current, scope):
            raise HandoffInProgress
        # Until the run is committed, a repeated request has the same key and gets the same result.
        next_ordinal = current.next_ordinal if current is not None else 0
        key = f"{to_millis(workflow.updated_at)}.{next_ordinal}"
        return make_continue_request(thread.id, parsed_id, key=key, may_create=thread.may_create)

    async def close(
        self,
        scope: Scope,
        thread_id: str,
        *,
        request_id: str,
        subscriber: Subscriber | None = None,
        closed_by: Person | None = None,
    ) -> ClosedThread:
        """Queue the closing of the session, behind the thread's queued turns, and return the expected result.

        ``closed_by`` is the person of a desk who closes the session, None for the user; ``scope`` is always the user's.
        Raises ``ThreadUnavailable``, ``StoreUnavailable``, and ``ThreadLed`` for a fork that its parent leads.
        """
        thread = await self._read_own(scope, thread_id, "thread.close")
        if is_led_by_parent(thread):
            raise ThreadLed
        closing = make_queued_close(
            scope, thread_id, thread.episode, request_id=request_id, subscriber=subscriber, closed_by=closed_by
        )
        # The closing of a closed thread is queued too, because a queued message may reopen the thread before.
        await self.queue.send(scope, closing)
        if thread.status is ThreadStatus.CLOSED and thread.run is None:
            return ClosedThread(thread_id, find_last_episode_id(thread))
        is_in_use = thread.run is not None or thread.next_ordinal > thread.episode_first_ordinal
        if thread.parent_thread_id is not None:
            is_in_use = False  # a fork has no episodes
        return ClosedThread(thread_id, derive_episode_id(thread_id, thread.episode) if is_in_use else None)

    async def request_desk(self, scope: Scope, thread: ThreadRef, desk_id: object) -> ActionRequest:
        """Return the request for the run that hands over to a desk, by default to the main agent's first desk.

        Repeated calls return the same request, even when the conversation is at the desk. Raises ``InvalidRequest``,
        ``ThreadUnavailable``, ``HandoffInProgress`` and ``UnknownAgent``.
        """
        current = await self._read_own_if_begun(scope, thread, "desk.wait")
        registry = self.conversations.agents
        agents = await (registry.in_session(scope, current) if current is not None else registry.in_force(scope))
        visit = current.conversation.handoff if current is not None and current.conversation.desk is not None else None
        if current is not None and current.is_handed_over and visit is None:
            raise HandoffInProgress
        main = agents.get_main(current) if current is not None else agents.for_new_thread(scope, None)
        desks = [desk.id for desk in agents.list_offered_desks(scope, main)]
        desk = desk_id if desk_id is not None else next(iter(desks), None)
        if not isinstance(desk, str) or desk not in desks:
            advice = f"deskId must be one of: {', '.join(desks)}." if desks else "This agent hands over to no desk."
            raise UnknownAgent(advice, is_visible=True)
        ordinal = visit.ordinal if visit is not None else current.next_ordinal if current is not None else 0
        return make_ask_request(thread, desk, key=f"{desk} {ordinal}")

    async def note_typing(self, scope: Scope, thread_id: str) -> None:
        """Note that the user is typing if a person of a desk answers the thread. Raises ``ThreadUnavailable``."""
        thread = await self._read_own(scope, thread_id, "thread.typing")
        if thread.conversation.desk is not None and thread.conversation.desk.person is not None:
            await self.live.note_typing(scope, thread_id)

    async def queue_desk_expiry(self, scope: Scope, thread: Thread) -> DeskCheck:
        """Queue the return of a thread from its desk if the return is due, and return the result of the check.

        A thread that is at no desk has the empty ``DeskCheck``.
        """
        session = thread.conversation.desk
        if session is None:
            return DeskCheck()
        agents = await self.conversations.agents.in_session(scope, thread)
        agent = agents.describe(thread.active_agent_id)
        check = check_desk(agent.desk if agent is not None else None, session, self.conversations.clock.now())
        if check.reason is not None:
            request = make_expiry_request(thread, session, check.reason)
            await self.queue.send(scope, make_queued_action(scope, request, request_id=request.message_id))
        return check

    async def revive(
        self, scope: Scope, thread: Thread, *, request_id: str, presumed_dead: LeaseMark | None = None
    ) -> None:
        """Queue a takeover of the thread's run if its worker may have died.

        The caller must have checked that ``scope`` may read the thread. ``presumed_dead`` is the lease of a worker that
        did not answer a request for a heartbeat.
        """
        if not thread.is_interrupted and (thread.run is None or presumed_dead is None):
            return
        owner = replace(scope, user_id=thread.user_id)
        # The takeover uses the stored permissions of the run, and not those of the reader.
        await self.queue.send(owner, make_queued_takeover(owner, thread.id, presumed_dead, request_id=request_id))

    async def _stop(self, scope: Scope, thread_id: str, run_id: str) -> None:
        await self.live.request_cancel(scope, thread_id, run_id)
        detail = {"runId": run_id}
        await self.audit.record(scope, "run.cancel", thread_id=thread_id, outcome="requested", detail=detail)

    async def _read_own_if_begun(self, scope: Scope, thread: ThreadRef, action: str) -> Thread | None:
        """Return the caller's own thread; None if it does not exist and the caller may create it.

        Raises ``ThreadUnavailable``, which is audited as ``action``.
        """
        if not thread.may_create:
            return await self._read_own(scope, thread.id, action)
        async with refusals_audited(self.audit, scope, thread.id, action):
            await self.store.check_writable(scope, thread.id)
        try:
            return await self.store.get_thread(scope, thread.id)
        except ThreadUnavailable:
            return None

    async def _read_own(self, scope: Scope, thread_id: str, action: str) -> Thread:
        async with refusals_audited(self.audit, scope, thread_id, action):
            return await get_own_thread(self.store, scope, thread_id)

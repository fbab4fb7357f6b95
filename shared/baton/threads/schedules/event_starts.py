"""The start of runs by events of other systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import (
    AgentMismatch,
    EventNotTaken,
    LimitReached,
    MessageIdConflict,
    ThreadLed,
    ThreadUnavailable,
)
from baton.domain.tenants.identity import Scope, ThreadRef, derive_run_id, resolve_thread_ref
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.handoffs.forks import is_led_by_parent
from baton.threads.requests.queue_mapping import make_queued_message
from baton.threads.requests.thread_access import refusals_audited
from baton.threads.schedules.incoming_event import IncomingEvent
from baton.threads.schedules.self_starts import SelfStarts


@dataclass(frozen=True, slots=True)
class EventStarts:
    """The starts of runs by events. They may be repeated: the fixed id of its message makes a run begin once."""

    store: ThreadStore
    agents: AgentRegistry
    self_starts: SelfStarts
    queue: Callable[[], TurnQueue]
    audit: AuditLog

    async def begin(
        self, sender: Scope, owner: Scope, thread_id: str, event: IncomingEvent, *, agent_id: str | None = None
    ) -> MessageRequest:
        """Queue the run of an event in a conversation of ``owner``, and return its request.

        The audit names ``sender`` as the user who has sent the event. A new conversation begins with the agent
        ``agent_id``, or the default one. Raises ``InvalidRequest``, ``ThreadUnavailable``, ``UnknownAgent``,
        ``AgentMismatch``, ``EventNotTaken``, ``LimitReached``, ``ThreadLed``, ``MessageIdConflict`` and
        ``StoreUnavailable``.
        """
        thread = resolve_thread_ref(owner, thread_id)
        detail = {"eventId": event.id, "type": event.type, "userId": owner.user_id}
        async with refusals_audited(self.audit, sender, thread.id, "event.send", detail):
            agent = await self._find_agent(owner, thread, agent_id)
        try:
            await self.self_starts.check_switch(owner)
        except LimitReached as refusal:
            if not event.hook_id:  # refusals of hooks are audited by ``InboundHooks``
                detail |= {"code": refusal.code, "reason": refusal.detail}
                await self.audit.record(sender, "event.send", thread_id=thread.id, outcome="refused", detail=detail)
            raise
        if agent.find_event_rule(event.type) is None:
            raise EventNotTaken(f"The agent {agent.id} takes no events of this type. Its definition lists those.")
        message_id = event.make_message_id(thread.id)
        request = MessageRequest(
            thread,
            message_id,
            derive_run_id(thread.id, message_id),
            event.text,
            agent_id=agent_id,
            begun_by=event.source,
        )
        earlier_turn = await self.store.get_turn(owner, thread.id, message_id)
        if earlier_turn is not None and earlier_turn.digest != request.digest:
            raise MessageIdConflict("This eventId was used before with other data. Give every event its own id.")
        if earlier_turn is None:
            await self.queue().send(owner, make_queued_message(owner, request, request_id=message_id))
            if sender.user_id != owner.user_id:
                await self.audit.record(sender, "event.send", thread_id=thread.id, outcome="queued", detail=detail)
        return request

    async def _find_agent(self, owner: Scope, thread: ThreadRef, agent_id: str | None) -> AgentDefinition:
        """Return the main agent of the conversation, or the agent that would begin it.

        Raises ``ThreadUnavailable``, ``ThreadLed``, ``AgentMismatch`` and ``UnknownAgent``.
        """
        try:
            current = await self.store.get_thread(owner, thread.id)
        except ThreadUnavailable as unavailable:
            if not (unavailable.is_unused and thread.may_create):
                raise
            await self.store.check_writable(owner, thread.id)  # the id may be another tenant's
            return await self.agents.for_new_thread(owner, agent_id)
        if current.user_id != owner.user_id:  # thread:read_all grants reading only
            raise ThreadUnavailable
        if is_led_by_parent(current):
            raise ThreadLed
        if agent_id not in (None, current.agent_id):
            raise AgentMismatch
        return await self.agents.get_in_session(owner, current, current.agent_id)

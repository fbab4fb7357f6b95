"""Messages that are sent while a run is in progress: they wait, enter the run, or stop it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from baton.concurrency.tasks import off_loop
from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.agents.handoff_rules import find_triggered
from baton.domain.errors import (
    AlreadyRunning,
    InvalidRequest,
    MessageIdConflict,
    NotFound,
    NothingRunning,
    QueueFull,
    WaitsForApproval,
)
from baton.domain.handoffs.triggers import find_exit_locale, find_first_match
from baton.domain.tenants.identity import Scope
from baton.domain.threads.content import text_of
from baton.domain.threads.queued import QueuedMessage, WaitingMessage
from baton.domain.threads.thread import Run, Thread
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.connections import LiveRegistry
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.tenants.registry.registered_agents import RegisteredAgents

TRIGGERS = 50
"""The number of triggers that a message may be compared with, to estimate the work for ``off_loop``."""
MAX_WAITING = 10
"""The most messages that wait in a conversation. The worker of the run reads all of them every two seconds."""
MAX_KEPT_BYTES = 32 * 1024
"""The largest size in bytes of a queued message that may enter a run."""


@dataclass(frozen=True, slots=True)
class WaitingMessages:
    """The messages that wait in conversations. Nothing is written for a message that finds no run in progress."""

    store: ThreadStore
    live: LiveRegistry
    agents: AgentRegistry
    audit: AuditLog
    clock: Clock

    async def send(self, queue: TurnQueue, scope: Scope, queued: QueuedMessage) -> WhileBusy | None:
        """Queue a message. Return its treatment if a run is in progress; otherwise None.

        Raises ``NothingRunning``, ``WaitsForApproval``, ``QueueFull``, ``MessageIdConflict``, ``InvalidRequest`` and
        ``StoreUnavailable``.
        """
        request = queued.request
        is_chosen = request.while_busy not in (None, WhileBusy.QUEUE)
        thread = await self.store.find_own(scope, request.thread.id, consistent=is_chosen)
        if thread is None and is_chosen:
            raise NothingRunning
        waiting_message = await self._make_waiting(scope, queued, thread) if thread is not None else None
        # Queue the message first: then it is answered even if this process dies.
        await queue.send(
            scope, queued if waiting_message is None else queued.model_copy(update={"busy": waiting_message.mode})
        )
        if waiting_message is not None and thread is not None:
            await self._store(scope, thread, waiting_message)
        return waiting_message.mode if waiting_message is not None else None

    async def wait(self, scope: Scope, queued: QueuedMessage, *, until: datetime) -> WhileBusy | None:
        """Let a message wait whose lease was not free. Its sender waits until the time ``until``.

        Return its treatment, or None if it need not wait. Raises the errors of ``send``.
        """
        thread = await self.store.find_own(scope, queued.thread_id, consistent=True)
        if thread is None or thread.run is None:
            return None
        waiting_message = await self._make_waiting(scope, queued, thread)
        if waiting_message is not None:
            await self._store(scope, thread, replace(waiting_message, until=until))
        return waiting_message.mode if waiting_message is not None else None

    async def add_queued(self, scope: Scope, queued: QueuedMessage) -> bool:
        """List a message of the queue whose lease was not free. Return whether it is listed.

        No run was in progress when the message was sent, so it waits for its turn, whatever mode the agent has for
        messages while it is busy. If its sender has repeated it meanwhile, the entry of the repetition stays as it is.
        A message that begins by itself is not listed, because nobody has sent it. If the list is full, the message
        waits without being listed.
        """
        request = queued.request
        if request.begun_by is not None:
            return False
        thread = await self.store.find_own(scope, queued.thread_id, consistent=True)
        if thread is None or thread.run is None or thread.run.message_id == request.message_id:
            return False
        other_messages = await self.live.waiting(scope, thread.id)
        repetition = _find_message(other_messages, request.message_id)
        if repetition is not None:
            return repetition.digest == request.digest
        if await self._is_full(scope, thread.id, other_messages):
            return False
        await self.live.add_waiting(scope, thread.id, self._to_waiting_message(queued, thread.run, WhileBusy.QUEUE))
        return True

    async def check(self, scope: Scope, request: MessageRequest) -> None:
        """Raise the refusal of a message that asks to steer or interrupt a run, while no run is in progress.

        Nothing is read for other messages. Raises ``NothingRunning``, ``WaitsForApproval``, and ``InvalidRequest`` if
        the agent does not allow the mode.
        """
        if request.while_busy in (None, WhileBusy.QUEUE):
            return
        thread = await self.store.find_own(scope, request.thread.id, consistent=True)
        if thread is None:
            raise NothingRunning
        if thread.run is None:
            await self._check_running(scope, thread, request)
        await self._choose_mode(scope, thread, request)

    async def list_waiting(self, scope: Scope, thread_id: str) -> Sequence[WaitingMessage]:
        """Return the messages that wait now, in the order in which they were sent. The caller may read the thread."""
        now = self.clock.now()
        messages = [message for message in await self.live.waiting(scope, thread_id) if message.is_waited_for(now)]
        return [message for message in messages if await self._is_unused(scope, thread_id, message)]

    async def withdraw(self, scope: Scope, thread_id: str, message_id: str) -> None:
        """Withdraw a waiting message of the caller's own thread. A repetition changes nothing.

        Raises ``NotFound`` if the message is unknown, and ``AlreadyRunning`` if it has a turn or has entered a run.
        """
        waiting_message = _find_message(await self.live.waiting(scope, thread_id), message_id)
        record = await self.store.get_turn(scope, thread_id, message_id)
        if record is None and waiting_message is not None:
            record = await self.store.withdraw(scope, thread_id, message_id, waiting_message.digest)
            if record is None:
                await self.audit.record(
                    scope, "message.withdraw", thread_id=thread_id, outcome="allowed", detail={"messageId": message_id}
                )
        elif record is None:
            raise NotFound("No message with this id waits in the conversation.")
        if record is not None and not record.is_withdrawn:
            raise AlreadyRunning
        await self.live.remove_waiting(scope, thread_id, message_id)

    async def _make_waiting(self, scope: Scope, queued: QueuedMessage, thread: Thread) -> WaitingMessage | None:
        """Return the message as it waits for the run in progress; None if it need not wait.

        Raises the errors of ``send``.
        """
        request, run = queued.request, thread.run
        if run is None:
            await self._check_running(scope, thread, request)
            return None
        if run.message_id == request.message_id:
            return None
        if await self.store.get_turn(scope, thread.id, request.message_id) is not None:
            return None  # a repetition changes nothing
        mode = await self._choose_mode(scope, thread, request)
        other_messages = await self.live.waiting(scope, thread.id)
        repetition = _find_message(other_messages, request.message_id)
        if repetition is not None:
            if repetition.digest != request.digest:
                raise MessageIdConflict
            return repetition
        if await self._is_full(scope, thread.id, other_messages):
            raise QueueFull
        return self._to_waiting_message(queued, run, mode)

    def _to_waiting_message(self, queued: QueuedMessage, run: Run, mode: WhileBusy) -> WaitingMessage:
        """Return a message as it waits for the run in progress. A message that is too long to store enters no run."""
        is_stored_whole = len(queued.model_dump_json(by_alias=True).encode()) <= MAX_KEPT_BYTES
        if not is_stored_whole and mode is WhileBusy.STEER:
            mode = WhileBusy.QUEUE
        return WaitingMessage(
            queued.request.message_id,
            mode,
            run.run_id,
            queued.request.digest,
            self.clock.now(),
            queued.model_copy(update={"busy": mode}) if is_stored_whole else None,
        )

    async def _check_running(self, scope: Scope, thread: Thread, request: MessageRequest) -> None:
        """Raise the refusal of a message that asks to steer or interrupt a run, unless it was accepted before."""
        if request.while_busy in (None, WhileBusy.QUEUE):
            return
        if await self.store.get_turn(scope, thread.id, request.message_id) is None:
            raise WaitsForApproval if thread.open_interrupts else NothingRunning

    async def _choose_mode(self, scope: Scope, thread: Thread, request: MessageRequest) -> WhileBusy:
        """Return the treatment of a message. Raises ``InvalidRequest`` if the agent does not allow it.

        A message cannot enter a run if it begins a branch, names another agent, or goes to a remote agent, whose task
        takes one message at a time. Nor can a message that asks for another agent or to leave one, because only the
        beginning of a run handles it. Such a message waits for its own run instead.
        """
        agents = await self.agents.in_session(scope, thread)
        agent = agents.get_answering(thread)
        mode = request.while_busy or agent.while_busy
        if not agent.allows(mode):
            allowed_modes = ", ".join(treatment for treatment in WhileBusy if agent.allows(treatment))
            raise InvalidRequest(f"whileBusy: the agent allows {allowed_modes}. Send one of these, or leave it out.")
        is_plain = request.branch is None and request.agent_id in (None, thread.agent_id) and agent.remote is None
        if mode is not WhileBusy.STEER:
            return mode
        text = text_of(request.content)
        asks_for_another = is_plain and await off_loop(len(text) * TRIGGERS, _asks_for_another, agents, thread, text)
        return mode if is_plain and not asks_for_another else WhileBusy.QUEUE

    async def _store(self, scope: Scope, thread: Thread, waiting: WaitingMessage) -> None:
        """Store a waiting message. If it interrupts the run in progress, request that the run is cancelled."""
        await self.live.put_waiting(scope, thread.id, waiting)
        # A repetition never stops a later run.
        if waiting.mode is WhileBusy.INTERRUPT and thread.run is not None and thread.run.run_id == waiting.run_id:
            await self.live.request_cancel(scope, thread.id, waiting.run_id)
            detail = {"runId": waiting.run_id, "messageId": waiting.message_id}
            await self.audit.record(scope, "run.cancel", thread_id=thread.id, outcome="requested", detail=detail)

    async def _is_full(self, scope: Scope, thread_id: str, entries: Sequence[WaitingMessage]) -> bool:
        """Return whether no other message may be listed. Some of ``entries``, the listed ones, may no longer wait."""
        return len(entries) >= MAX_WAITING and len(await self.list_waiting(scope, thread_id)) >= MAX_WAITING

    async def _is_unused(self, scope: Scope, thread_id: str, message: WaitingMessage) -> bool:
        return await self.store.get_turn(scope, thread_id, message.message_id) is None


def _find_message(waiting: Sequence[WaitingMessage], message_id: str) -> WaitingMessage | None:
    return next((message for message in waiting if message.message_id == message_id), None)


def _asks_for_another(agents: RegisteredAgents, thread: Thread, text: str) -> bool:
    """Return whether the text of a message asks for another agent, or to leave the active one."""
    main, active = agents.get_main(thread), agents.get_answering(thread)
    if thread.is_handed_over and (
        find_exit_locale(active.exit_words, text) or find_first_match(active.triggers_in_session, text)
    ):
        return True
    specialist_id = active.id if thread.is_handed_over else None
    return find_triggered(main, agents.all(), text, active_agent_id=specialist_id) is not None

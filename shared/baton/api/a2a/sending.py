"""Messages to tasks: their checks, and the turns that they start or queue."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.delegation import inherit_handoff, inherit_offer, read_delegation, read_time_zone
from baton.api.a2a.incoming import check_message, read_context_id, read_decisions, to_content
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.runs import TURN_SECONDS
from baton.domain import errors
from baton.domain.tenants.identity import Scope, derive_run_id, derive_thread_ref, resolve_imported_thread_ref
from baton.domain.threads.a2a_task import MarkStatus, TaskId, TaskMark
from baton.domain.threads.events import Event
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import DecisionRequest, MessageRequest
from baton.threads.requests.parsing import (
    make_decision_request,
    parse_interrupt_decision,
    parse_message_request,
    parse_thread_id,
)
from baton.threads.requests.queue_mapping import make_queued_decision, make_queued_message

START_SECONDS = 3.0
"""The longest time for which a call that does not wait for the answer waits for the beginning of the turn."""
POLL_SECONDS = 0.05
"""Seconds between the first two reads of the store. The pause doubles after each read, up to ``MAX_POLL_SECONDS``."""
MAX_POLL_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that has been checked, and the turn that it starts."""

    task_id: TaskId
    request: MessageRequest | DecisionRequest
    owner: Scope
    """The scope in which the turn runs: the caller's; for answers to interrupts, the owner's without permissions."""
    task: A2ATask | None
    """The task so far; None if the message begins it."""
    message_id: str
    """The message's id in A2A. The turn of an answer has a different message id."""
    is_repeat: bool = False
    """True if the message is an answer to interrupts that was sent before."""


class Sender:
    """A sender of one caller's messages, which checks them and starts or queues their turns."""

    def __init__(self, caller: A2ACaller) -> None:
        self.caller = caller
        self._app = caller.app
        self._scope = caller.scope
        self.reader = TaskReader(caller.app.ports)

    async def prepare(self, message: Message) -> Sending:
        """Check a message, and return the turn that it will start. Raises ``A2AError`` and ``BatonError``."""
        check_message(message)
        context = read_context_id(message)
        if message.task_id:
            return await self._prepare_for_task(message, context)
        request = self._make_request(message, context)
        thread: Thread | None = None
        root = message.message_id
        if context is not None:
            request, thread = await self._find_context(request, context)
            earlier_id = (
                await self.reader.find_task_id(self._scope, request.thread.id, root) if thread is not None else None
            )
            if earlier_id is not None:  # a repeated message belongs to the task to which it was first sent
                root = earlier_id.root
        else:
            # Each retry must begin the same conversation, so its id is derived from the message. The digest is included
            # because some clients use the same message id in several conversations.
            ref = derive_thread_ref(self._scope, request.message_id, request.digest)
            request = replace(request, thread=ref, run_id=derive_run_id(ref.id, request.message_id))
        self._check_agent(thread)
        if thread is not None and thread.has_tasks and (request.client is None or request.client.handoff is None):
            # Only the first message of a session has the handoff, which applies to the rest of the session.
            latest = await self.reader.read_latest_offer(self._scope, thread)
            request = replace(request, client=inherit_handoff(request.client, latest))
        task_id = TaskId(request.thread.id, root)
        task = await self.reader.read(self._scope, task_id) if root != message.message_id else None
        return Sending(task_id, replace(request, a2a_task=root), self._scope, task, message.message_id)

    async def _prepare_for_task(self, message: Message, context: str | None) -> Sending:
        """Check a message that continues a task. Raises ``A2AError`` and ``BatonError``."""
        task = await self.reader.find(self._scope, message.task_id)
        if task is None or task.user_id != self._scope.user_id:  # thread:read_all grants reading only
            raise TaskNotFoundError
        if context is not None:  # the id of a thread, or of a conversation in another system
            ids = (parse_thread_id(self._scope, context).id, resolve_imported_thread_ref(self._scope, context).id)
            if task.id.thread_id not in ids:
                raise InvalidParamsError("contextId and taskId do not belong together.")
        request = replace(self._make_request(message, task.id.thread_id), a2a_task=task.id.root)
        if request.client is None or request.client.handoff is None:
            # Only the first message of a task has the handoff, which applies to the whole task.
            request = replace(request, client=inherit_offer(request.client, task.first_offer))
        if task.thread is None:
            # The thread's first message waits in the queue before this message.
            request = replace(request, thread=replace(request.thread, may_create=True))
        sending = Sending(task.id, request, self._scope, task, message.message_id)
        if task.has_message(message.message_id):
            return sending
        mark = task.mark
        if mark is not None and mark.status is MarkStatus.ANSWERED and mark.message_id == message.message_id:
            return replace(sending, is_repeat=True)
        if task.state.is_terminal:
            raise UnsupportedOperationError(
                f"The task is {task.state.value}. Send the message with its contextId and without taskId."
            )
        self._check_agent(task.thread)
        if task.awaits_answers:
            return await self._add_decisions(message, task, sending)
        return sending

    async def _add_decisions(self, message: Message, task: A2ATask, sending: Sending) -> Sending:
        """Return ``sending`` with the decisions on the task's interrupts, or unchanged if the message has none."""
        assert task.thread is not None  # noqa: S101 - a task that awaits answers has a thread
        assert task.thread.pending is not None  # noqa: S101 - see awaits_answers
        decisions = read_decisions(message, task.thread.pending)
        if not decisions:
            return sending
        answers = [parse_interrupt_decision(*decision, self._scope.user_id) for decision in decisions]
        owner = await self._app.approvals.find_owner(self._scope, task.id.thread_id, answers)
        return replace(sending, request=make_decision_request(task.id.thread_id, answers), owner=owner)

    def _make_request(self, message: Message, context: str | None) -> MessageRequest:
        agent = self.caller.agent
        return parse_message_request(
            self._scope,
            thread_id=context,
            message_id=message.message_id,
            content=to_content(message),
            agent_id=agent.id if agent is not None and agent.main else None,
            content_field="parts",
            client=read_delegation(message),
            time_zone=read_time_zone(message),
        )

    async def _find_context(self, request: MessageRequest, context: str) -> tuple[MessageRequest, Thread | None]:
        """Return the request and its thread; None for a thread that does not exist yet. Raises ``ThreadUnavailable``.

        An unused UUID of version 5 is the id of a conversation in another system, such as another deployment. Such
        UUIDs are reserved here, so the id is mapped like other ids of host systems, and the request is changed.
        """
        try:
            return request, await self._read_thread(request)
        except errors.ThreadUnavailable as refusal:
            if not refusal.is_unused:
                raise
        mapped = resolve_imported_thread_ref(self._scope, context)
        run_id = derive_run_id(mapped.id, request.message_id)
        request = replace(request, thread=mapped, run_id=run_id)
        return request, await self._read_thread(request)

    async def _read_thread(self, request: MessageRequest) -> Thread | None:
        """Return the caller's own thread; None if it does not exist. Raises ``ThreadUnavailable``."""
        try:
            await self._app.ports.store.check_writable(self._scope, request.thread.id)
            return await self._app.ports.store.get_thread(self._scope, request.thread.id)
        except errors.ThreadUnavailable as refusal:
            if refusal.is_unused and request.thread.may_create:
                return None
            if not refusal.is_unused:
                detail = {"messageId": request.message_id}
                await self._app.ports.audit.record(
                    self._scope, "thread.write", thread_id=request.thread.id, outcome=refusal.audited_as, detail=detail
                )
            raise

    def _check_agent(self, thread: Thread | None) -> None:
        """Check that the called agent may get messages of the thread, or begin one if ``thread`` is None.

        Raises ``InvalidParamsError`` and ``AgentMismatch``.
        """
        agent = self.caller.agent
        if agent is None:
            return
        if thread is None:
            if not agent.main:
                raise InvalidParamsError(
                    "A conversation cannot begin with this agent. Send the message to /a2a, whose agent hands over."
                )
        elif agent.id not in (thread.agent_id, thread.active_agent_id):
            raise errors.AgentMismatch

    async def run(self, sending: Sending, *, until: float = math.inf) -> AsyncGenerator[Event | None, None]:
        """Begin the turn, which continues if the caller disconnects, and return a generator of its events.

        The generator yields None once if there is no event for some seconds. It raises the ``BatonError`` that refuses
        the request, and ``TokenExpired`` at ``until``, which is in event loop time.
        """
        await self._mark_answer(sending)
        await self._audit_delegation(sending)
        turns = self._app.turns
        turn = BackgroundTurn(
            lambda emit: turns.run(sending.owner, sending.request, emit, seconds=TURN_SECONDS), self.caller.request_id
        )
        quiet = self.caller.timing.first_event_seconds
        return turn.read_events(until, quiet_seconds=quiet, again=False)

    async def enqueue(self, sending: Sending) -> None:
        """Queue the turn unless it has begun, and wait up to ``START_SECONDS`` for it to begin. Raises ``BatonError``.

        The turn does not run here, because the Lambda function may be frozen once it has answered.
        """
        request, caller = sending.request, self.caller
        if await self._is_known(sending):
            return
        await self._app.limits.runs.check(
            sending.owner, request.thread.id, request.message_id, is_message=isinstance(request, MessageRequest)
        )
        if isinstance(request, DecisionRequest):
            await self._mark_answer(sending)
            for number, decision in enumerate(request.decisions):
                await self._app.ports.queue.send(
                    sending.owner,
                    make_queued_decision(
                        sending.owner, request.thread.id, decision, request_id=f"{caller.request_id}.{number}"
                    ),
                )
        else:
            if sending.task is None:
                caller.agents.for_new_thread(self._scope, request.agent_id)  # refuses unknown agents before queueing
            await self._audit_delegation(sending)
            # The mark is stored first, so that a client can read the task at once.
            await self._mark(sending, MarkStatus.QUEUED)
            message = make_queued_message(sending.owner, request, request_id=caller.request_id)
            try:
                await self._app.waiting.send(self._app.ports.queue, sending.owner, message)
            except (errors.QueueFull, errors.MessageIdConflict):
                await self._mark(sending, MarkStatus.REFUSED)
                raise
        await self._wait_until_begun(sending)

    async def _is_known(self, sending: Sending) -> bool:
        """Return whether the message's turn is stored. Raises ``MessageIdConflict`` if its content was different."""
        request = sending.request
        task = sending.task or await self.reader.read(self._scope, sending.task_id)
        if task is None or task.thread is None:
            return False
        turn = await self._app.ports.store.get_turn(self._scope, request.thread.id, request.message_id)
        if turn is not None and turn.digest != request.digest:
            raise errors.MessageIdConflict
        return turn is not None

    async def _wait_until_begun(self, sending: Sending) -> None:
        """Wait until the turn is stored, for at most ``START_SECONDS``, because the thread may be busy for longer."""
        loop = asyncio.get_running_loop()
        until = loop.time() + START_SECONDS
        pause = POLL_SECONDS
        while loop.time() < until and not await self._has_begun(sending):
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_POLL_SECONDS)

    async def _has_begun(self, sending: Sending) -> bool:
        """Return whether the turn is stored, or will never be stored."""
        is_answer = isinstance(sending.request, DecisionRequest)
        may_be_queued = not is_answer and sending.task is not None and sending.task.thread is not None
        # ``is_queued`` reads two items only, so a long conversation is not read on each poll.
        if may_be_queued and await self.reader.is_queued(self._scope, sending.task_id, sending.message_id):
            return False
        task = await self.reader.read(self._scope, sending.task_id)
        if task is None:
            return False
        if task.has_message(sending.message_id) or task.state.is_terminal:
            return True
        if is_answer:
            return not task.awaits_answers
        mark = task.mark
        return mark is not None and mark.status is MarkStatus.REFUSED and mark.message_id == sending.message_id

    async def _audit_delegation(self, sending: Sending) -> None:
        """Audit the other agent's task for which a turn runs, so that delegated work can be traced to its origin."""
        request = sending.request
        if not isinstance(request, MessageRequest) or request.client is None:
            return
        if sending.task is not None and sending.task.has_message(sending.message_id):
            return
        detail: dict[str, Any] = {"taskId": str(sending.task_id), "runId": request.run_id}
        if request.client.parent_task_id is not None:
            detail["parentTaskId"] = request.client.parent_task_id
        if request.client.handoff is not None:
            detail["handedOverBy"] = request.client.handoff.source_agent_id
        await self._app.ports.audit.record(
            self._scope, "task.delegate", thread_id=request.thread.id, outcome="requested", detail=detail
        )

    async def _mark_answer(self, sending: Sending) -> None:
        """Mark the message of an answer as answered, so that it is recognised if it is sent again."""
        if isinstance(sending.request, DecisionRequest):
            await self._mark(sending, MarkStatus.ANSWERED)

    async def _mark(self, sending: Sending, status: MarkStatus) -> None:
        root, user_id, now = sending.task_id.root, self._scope.user_id, self._app.ports.clock.now()
        mark = TaskMark(root=root, user_id=user_id, status=status, at=now, message_id=sending.message_id)
        await self._app.ports.a2a_tasks.mark(self._scope, sending.task_id.thread_id, mark)

"""Messages to tasks: the turn that each starts, and its run or its place in the queue."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.delegation import inherit, inherit_handoff, read_delegation, read_time_zone
from baton.api.a2a.incoming import check_message, read_context_id, read_decisions, to_content
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.runs import TURN_SECONDS
from baton.domain import errors
from baton.domain.tenants.identity import Scope, derive_run_id, derive_thread_ref, imported_thread_ref
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
"""Seconds for which a caller that does not wait for the answer waits until its turn has begun."""
POLL_SECONDS = 0.05
"""Seconds between its first two reads of the store. They double every time, up to ``MAX_POLL_SECONDS``."""
MAX_POLL_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that has been checked, and the turn that it starts."""

    task_id: TaskId
    request: MessageRequest | DecisionRequest
    owner: Scope
    """The scope in which the turn runs: the caller's, or the owner's without permissions for answers."""
    task: A2ATask | None
    """The task so far; None if the message begins it."""
    message_id: str
    """The message's own id. The turn of an answer has another."""
    is_repeat: bool = False
    """Whether it is an answer to interrupts that was sent before."""


class Sender:
    """A sender of one caller's messages: it checks them, and starts or queues their turns."""

    def __init__(self, caller: A2ACaller) -> None:
        self.caller = caller
        self._app = caller.app
        self._scope = caller.scope
        self.reader = TaskReader(caller.app.ports)

    async def prepare(self, message: Message) -> Sending:
        """Check a message. Raises ``A2AError`` and ``BatonError``; nothing is stored."""
        check_message(message)
        context = read_context_id(message)
        if message.task_id:
            return await self._prepare_for_task(message, context)
        request = self._make_request(message, context)
        thread: Thread | None = None
        root = message.message_id
        if context is not None:
            request, thread = await self._find_context(request, context)
            earlier_id = await self.reader.task_of(self._scope, request.thread.id, root) if thread is not None else None
            if earlier_id is not None:  # a repeated message belongs where it was sent first
                root = earlier_id.root
        else:
            # The conversation that it begins is the same for every retry. A client that gives messages of several
            # conversations one id is understood: their contents distinguish them.
            ref = derive_thread_ref(self._scope, request.message_id, request.digest)
            request = replace(request, thread=ref, run_id=derive_run_id(ref.id, request.message_id))
        self._check_agent(thread)
        if thread is not None and thread.has_tasks and (request.client is None or request.client.handoff is None):
            # A handoff counts in the rest of the session: only its first message has it.
            latest = await self.reader.latest_offer(self._scope, thread)
            request = replace(request, client=inherit_handoff(request.client, latest))
        task_id = TaskId(request.thread.id, root)
        task = await self.reader.read(self._scope, task_id) if root != message.message_id else None
        return Sending(task_id, replace(request, a2a_task=root), self._scope, task, message.message_id)

    async def _prepare_for_task(self, message: Message, context: str | None) -> Sending:
        """Check a message that continues a task."""
        task = await self.reader.find(self._scope, message.task_id)
        if task is None or task.user_id != self._scope.user_id:  # thread:read_all grants reading only
            raise TaskNotFoundError
        if context is not None:  # a thread's id, or that of a conversation elsewhere
            ids = (parse_thread_id(self._scope, context).id, imported_thread_ref(self._scope, context).id)
            if task.id.thread_id not in ids:
                raise InvalidParamsError("contextId and taskId do not belong together.")
        request = replace(self._make_request(message, task.id.thread_id), a2a_task=task.id.root)
        if request.client is None or request.client.handoff is None:
            # A handoff counts in the whole task: only the first message has it.
            request = replace(request, client=inherit(request.client, task.first_offer))
        if task.thread is None:
            # The thread's first message waits in the queue, before this one.
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
            return await self._to_answer(message, task, sending)
        return sending

    async def _to_answer(self, message: Message, task: A2ATask, sending: Sending) -> Sending:
        """Return the sending as an answer to the task's interrupts if the message is one; otherwise unchanged."""
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
        """Return the request with its thread; None if the thread does not exist yet. Raises ``ThreadUnavailable``.

        A UUID of version 5 that is unused here is the id of a conversation elsewhere, such as another deployment's: it
        is mapped like an id of a host, because those ids are reserved.
        """
        try:
            return request, await self._read_thread(request)
        except errors.ThreadUnavailable as refusal:
            if not refusal.is_unused:
                raise
        mapped = imported_thread_ref(self._scope, context)
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
        """Refuse conversations of other agents. Raises ``InvalidParamsError`` and ``AgentMismatch``."""
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
        """Begin the turn, which continues if the caller disconnects, and return its events.

        They have None once if there is no event for some seconds, and raise the ``BatonError`` that refuses the
        request, and ``TokenExpired`` at ``until``, in event loop time.
        """
        await self._mark_answer(sending)
        await self._audit_delegation(sending)
        turns = self._app.turns
        turn = BackgroundTurn(
            lambda emit: turns.run(sending.owner, sending.request, emit, seconds=TURN_SECONDS), self.caller.request_id
        )
        quiet = self.caller.timing.first_event_seconds
        return turn.events(until, quiet_seconds=quiet, again=False)

    async def enqueue(self, sending: Sending) -> None:
        """Queue the turn unless it has begun, and wait a moment for it to begin. Raises ``BatonError``.

        The function may be frozen once it has answered; the turn therefore does not run here.
        """
        request, caller = sending.request, self.caller
        if await self._is_known(sending):
            return
        await self._app.run_limits.check(
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
                caller.agents.for_new_thread(self._scope, request.agent_id)  # raises while the client can be answered
            await self._audit_delegation(sending)
            # The mark first, so that a client that asks for the task finds it.
            await self._mark(sending, MarkStatus.QUEUED)
            message = make_queued_message(sending.owner, request, request_id=caller.request_id)
            try:
                await self._app.waiting.send(self._app.ports.queue, sending.owner, message)
            except (errors.QueueFull, errors.MessageIdConflict):
                await self._mark(sending, MarkStatus.REFUSED)
                raise
        await self._wait_until_begun(sending)

    async def _is_known(self, sending: Sending) -> bool:
        """Return whether the message's turn is stored. Raises ``MessageIdConflict`` if it said something else."""
        request = sending.request
        task = sending.task or await self.reader.read(self._scope, sending.task_id)
        if task is None or task.thread is None:
            return False
        turn = await self._app.ports.store.get_turn(self._scope, request.thread.id, request.message_id)
        if turn is not None and turn.digest != request.digest:
            raise errors.MessageIdConflict
        return turn is not None

    async def _wait_until_begun(self, sending: Sending) -> None:
        """Wait until the turn is in the store, for a few seconds at most: the thread may be busy."""
        loop = asyncio.get_running_loop()
        until = loop.time() + START_SECONDS
        pause = POLL_SECONDS
        while loop.time() < until and not await self._has_begun(sending):
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_POLL_SECONDS)

    async def _has_begun(self, sending: Sending) -> bool:
        """Return whether the turn is in the store, or will never be."""
        is_answer = isinstance(sending.request, DecisionRequest)
        may_be_queued = not is_answer and sending.task is not None and sending.task.thread is not None
        # A long conversation is not read again and again.
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
        """Record for which task of another agent a turn runs, so that delegated work is followed to its origin."""
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
        """Remember the message of an answer: sent again, it must not become another message."""
        if isinstance(sending.request, DecisionRequest):
            await self._mark(sending, MarkStatus.ANSWERED)

    async def _mark(self, sending: Sending, status: MarkStatus) -> None:
        root, user_id, now = sending.task_id.root, self._scope.user_id, self._app.ports.clock.now()
        mark = TaskMark(root=root, user_id=user_id, status=status, at=now, message_id=sending.message_id)
        await self._app.ports.a2a_tasks.mark(self._scope, sending.task_id.thread_id, mark)

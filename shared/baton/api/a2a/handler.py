"""The operations of A2A, over Baton's use cases."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace

from a2a.client.card_resolver import parse_agent_card
from a2a.server.context import ServerCallContext
from a2a.server.events import Event as A2AEvent
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from baton.api.a2a import push
from baton.api.a2a.access import A2ACaller, caller_of, line_of
from baton.api.a2a.card_router import card_of, sign
from baton.api.a2a.listing import list_tasks
from baton.api.a2a.push import check_supported, prepare
from baton.api.a2a.sending import Sender, Sending
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.a2a.updates import ENDS, TaskFollower, Updates
from baton.api.a2a.wire import to_task
from baton.api.runs.runs import TURN_SECONDS
from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.activity import CounterKind
from baton.domain.threads.a2a_task import MarkStatus, TaskMark, TaskState
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.push_config import Line
from baton.domain.threads.turn_requests import MessageRequest
from baton.tenants.privacy.readers import sees_all


class A2AHandler(RequestHandler):
    """The handler of calls of both protocol lines. It keeps nothing: every answer is read from the thread."""

    # Messages

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        caller = caller_of(context)
        history = _history_length(params.configuration)
        check_supported(caller, params)
        sender = Sender(caller)
        sending = await prepare(sender, caller, params, line_of(context))
        if sending.is_repeat:
            pass
        elif params.configuration.return_immediately:
            await sender.enqueue(sending)
        else:
            async for _ in await sender.run(sending):
                pass
        return await self._task_after(caller, sender, sending, history)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[A2AEvent, None]:
        caller = caller_of(context)
        history = _history_length(params.configuration)
        check_supported(caller, params)
        sender = Sender(caller)
        sending = await prepare(sender, caller, params, line_of(context))
        if sending.is_repeat:
            if sending.task is None:
                raise TaskNotFoundError
            follower = TaskFollower(caller, across_turns=False)
            async with contextlib.aclosing(follower.follow(sending.task, history)) as following:
                async for update in following:
                    yield update
            return
        updates = Updates(sending.task_id, caller.app.ports.clock)
        has_begun, run_id = False, None
        events = await sender.run(sending, until=caller.ends_at)
        async with contextlib.aclosing(events):
            async for event in events:
                if not has_begun:
                    has_begun = True
                    state = TaskState.SUBMITTED if event is None else TaskState.WORKING
                    yield await _to_begun(caller, sending, state, history)
                if event is None:
                    continue
                run_id = event.run_id or run_id
                if event.type in ENDS:
                    break
                for update in updates.of(event):
                    yield update
        task = await sender.reader.read(caller.scope, sending.task_id)
        if task is None:
            raise TaskNotFoundError
        if not has_begun:
            yield await to_task(task, caller.agents.describe, history=history)
        for update in updates.rest(task, run_id):
            yield update
        yield updates.end(task)

    async def _task_after(self, caller: A2ACaller, sender: Sender, sending: Sending, history: int | None) -> Task:
        task = await sender.reader.read(caller.scope, sending.task_id)
        if task is None:
            raise TaskNotFoundError
        if not sending.is_repeat and isinstance(sending.request, MessageRequest):
            return await _with_message(caller, sending, task, history)
        return await to_task(task, caller.agents.describe, history=history)

    # Tasks

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        caller = caller_of(context)
        history = _history_length(params)
        task = await _find(caller, params.id)
        return await to_task(task, caller.agents.describe, history=history)

    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        return await list_tasks(caller_of(context), params, _history_length(params))

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        caller = caller_of(context)
        task = await cancel(caller, await _find(caller, params.id))
        return await to_task(task, caller.agents.describe)

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[A2AEvent, None]:
        caller = caller_of(context)
        task = await _find(caller, params.id)
        if not sees_all(caller.scope, task.user_id):
            raise TaskNotFoundError  # what is streamed is not redacted
        if task.state.is_terminal:
            raise UnsupportedOperationError(f"The task is {task.state.value}: nothing more happens to it.")
        # A stream of 0.3 ends where its updates are final. One of 1.0 that begins with a subscription stays.
        follower = TaskFollower(caller, across_turns=line_of(context) is Line.CURRENT)
        places, name = caller.app.place_limits, caller.request_id
        async with (
            places.place(caller.scope, CounterKind.STREAMS, name, seconds=TURN_SECONDS),
            contextlib.aclosing(follower.follow(task)) as updates,
        ):
            async for update in updates:
                yield update

    # Push notifications

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        return await push.create(caller_of(context), params, line_of(context))

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        return await push.get(caller_of(context), params)

    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        return await push.list_all(caller_of(context), params)

    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        await push.delete(caller_of(context), params)

    # Cards

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        caller = caller_of(context)
        if not caller.is_authenticated:
            raise ExtendedAgentCardNotConfiguredError("The extended card is for callers with a token.")
        card = card_of(caller.agents, caller.scope, caller.agent, caller.base_url, caller.access)
        if caller.trusted_base_url is not None:
            card = await sign(card, caller.app, caller.trusted_base_url)
        return parse_agent_card(card)


async def _find(caller: A2ACaller, text: str) -> A2ATask:
    task = await TaskReader(caller.app.ports).find(caller.scope, text)
    if task is None:
        raise TaskNotFoundError
    return await caller.app.privacy.readers.redact_for(caller.scope, task.user_id, task)


async def _to_begun(caller: A2ACaller, sending: Sending, state: TaskState, history: int | None) -> Task:
    """Return the task as it is when its message has been taken: what was said before, and the message."""
    before, now = sending.task, caller.app.ports.clock.now()
    thread, messages = (before.thread, before.messages) if before is not None else (None, ())
    task = A2ATask(sending.task_id, caller.scope.user_id, thread, None, messages, state, now)
    return await _with_message(caller, sending, task, history)


async def _with_message(caller: A2ACaller, sending: Sending, task: A2ATask, history: int | None) -> Task:
    """Return the task with the message that was sent to it, which may still be in the queue."""
    request = sending.request
    if isinstance(request, MessageRequest) and not task.has_message(sending.message_id):
        message = StoredMessage(
            id=sending.message_id,
            role=Role.USER,
            content=request.content,
            ordinal=task.messages[-1].ordinal + 1 if task.messages else 0,
            run_id=request.run_id,
            timestamp=task.at,
            tokens=0,
            a2a_task=sending.task_id.root,
        )
        task = replace(task, messages=(*task.messages, message))
    if isinstance(request, MessageRequest) and task.first_offer is None:
        task = replace(task, first_offer=request.client)
    return await to_task(task, caller.agents.describe, history=history)


def _history_length(params: object) -> int | None:
    """Return how many messages are wanted; None for all. Raises ``InvalidParamsError`` for a negative number."""
    if not params.HasField("history_length"):  # type: ignore[attr-defined]
        return None
    length: int = params.history_length  # type: ignore[attr-defined]
    if length < 0:
        raise InvalidParamsError("historyLength must not be negative.")
    return length


CANCEL_SECONDS = 10.0
"""Seconds for which a cancellation waits for the run to stop."""
POLL_SECONDS = 0.2


async def cancel(caller: A2ACaller, task: A2ATask) -> A2ATask:
    """Cancel the caller's task and return what has become of it.

    Raises ``TaskNotFoundError`` for another user's, and ``TaskNotCancelableError`` for one that is final.
    """
    app, scope = caller.app, caller.scope
    if task.user_id != scope.user_id:
        raise TaskNotFoundError
    if task.state is TaskState.CANCELED:
        await _notify_of_mark(caller, task)  # an earlier request may have died before it did
    if task.state.is_terminal:
        raise TaskNotCancelableError(f"The task is {task.state.value} already.")
    mark = TaskMark(root=task.id.root, user_id=scope.user_id, status=MarkStatus.CANCELED, at=app.ports.clock.now())
    # The mark first, so that a message of the task that is still in the queue starts no turn.
    await app.ports.a2a_tasks.mark(scope, task.id.thread_id, mark)
    await _notify_of_mark(caller, task)
    stopped = await _stop_run(caller, task)
    await app.ports.audit.record(
        scope, "task.cancel", thread_id=task.id.thread_id, outcome="allowed", detail={"taskId": str(task.id)}
    )
    return stopped


async def _stop_run(caller: A2ACaller, task: A2ATask) -> A2ATask:
    """Stop the task's run and wait until it has ended."""
    loop = asyncio.get_running_loop()
    until = loop.time() + CANCEL_SECONDS
    stopping: str | None = None
    while True:
        current = await TaskReader(caller.app.ports).read(caller.scope, task.id)
        if current is None:
            raise TaskNotFoundError
        if current.run_id is None or loop.time() >= until:
            return current
        if current.run_id != stopping:
            stopping = current.run_id
            await caller.app.controls.cancel(caller.scope, task.id.thread_id, stopping)
        # The conversation is read again only when something has changed.
        while loop.time() < until:
            await asyncio.sleep(POLL_SECONDS)
            if not await _is_running(caller, task.id.thread_id, stopping):
                break


async def _is_running(caller: A2ACaller, thread_id: str, run_id: str) -> bool:
    try:
        thread = await caller.app.ports.store.get_thread(caller.scope, thread_id)
    except ThreadUnavailable:  # it was deleted meanwhile
        return False
    return thread.run is not None and thread.run.run_id == run_id


async def _notify_of_mark(caller: A2ACaller, task: A2ATask) -> None:
    """Let clients be notified that the task was cancelled, if any want to be."""
    if caller.access.pushes() and (task.thread is None or task.thread.notifies):
        await caller.app.task_notifications.note_mark(
            caller.scope, task.id.thread_id, task.id.root, MarkStatus.CANCELED.value
        )

"""The operations of A2A, which call Baton's use cases. They keep no state: every task is read from its thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace

from a2a import types
from a2a.client.card_resolver import parse_agent_card
from a2a.server.events import Event as A2AEvent
from a2a.utils import errors

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.cards import make_card_for, sign
from baton.api.a2a.push import prepare
from baton.api.a2a.sending import Sender, Sending
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.a2a.updates import ENDS, TaskFollower, Updates
from baton.api.a2a.wire import read_history_length, to_task
from baton.api.runs.runs import TURN_SECONDS
from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.activity import CounterKind
from baton.domain.threads.a2a_task import MarkStatus, TaskMark, TaskState
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.push_config import Line
from baton.domain.threads.turn_requests import MessageRequest
from baton.tenants.privacy.readers import sees_all

CANCEL_SECONDS = 10.0
"""Seconds for which a cancellation waits for the run to stop."""
POLL_SECONDS = 0.2
"""Seconds between two reads of the thread during this wait."""


async def send_message(caller: A2ACaller, params: types.SendMessageRequest) -> types.Task:
    """Carry out the turn of a message and return the task afterwards.

    With ``return_immediately``, the turn is queued instead. A repeated answer to interrupts begins no turn. Raises
    ``A2AError`` and ``BatonError``.
    """
    history = read_history_length(params.configuration)
    sender = Sender(caller)
    sending = await prepare(sender, params)
    if sending.is_repeat:
        return await to_task(await _read_task(sender, sending), caller.app.agents, caller.scope, history=history)
    if params.configuration.return_immediately:
        await sender.enqueue(sending)
    else:
        async for _ in await sender.run(sending):
            pass
    return await _add_message(caller, sending, await _read_task(sender, sending), history)


async def stream_message(caller: A2ACaller, params: types.SendMessageRequest) -> AsyncGenerator[A2AEvent, None]:
    """Carry out the turn of a message. Yield the task, and then its updates until the run ends.

    For a repeated answer to interrupts, follow the task without a new turn. Raises ``A2AError`` and ``BatonError``.
    """
    history = read_history_length(params.configuration)
    sender = Sender(caller)
    sending = await prepare(sender, params)
    if sending.is_repeat:
        if sending.task is None:
            raise errors.TaskNotFoundError
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
                yield await _make_started_task(caller, sending, state, history)
            if event is None:
                continue
            run_id = event.run_id or run_id
            if event.type in ENDS:
                break
            for update in updates.of(event):
                yield update
    task = await _read_task(sender, sending)
    if not has_begun:
        yield await to_task(task, caller.app.agents, caller.scope, history=history)
    for update in updates.list_unsent(task, run_id):
        yield update
    yield updates.end(task)


async def get_task(caller: A2ACaller, params: types.GetTaskRequest) -> types.Task:
    """Return a task, redacted if the caller is not its user. Raises ``TaskNotFoundError``."""
    history = read_history_length(params)
    return await to_task(await _find_visible_task(caller, params.id), caller.app.agents, caller.scope, history=history)


async def cancel_task(caller: A2ACaller, params: types.CancelTaskRequest) -> types.Task:
    """Mark the caller's task as cancelled, stop its run and return the task.

    Wait up to ``CANCEL_SECONDS`` for the run to stop. Raises ``TaskNotFoundError`` for an unknown task or a task of
    another user, and ``TaskNotCancelableError`` for a task in a final state.
    """
    app, scope, task = caller.app, caller.scope, await _find_visible_task(caller, params.id)
    if task.user_id != scope.user_id:
        raise errors.TaskNotFoundError
    if task.state is TaskState.CANCELED:
        await _notify_of_mark(caller, task)  # an earlier request may have failed before it notified clients
    if task.state.is_terminal:
        raise errors.TaskNotCancelableError(f"The task is {task.state.value} already.")
    mark = TaskMark(root=task.id.root, user_id=scope.user_id, status=MarkStatus.CANCELED, at=app.ports.clock.now())
    # The mark is stored first, so that messages of the task that are still in the queue start no turn.
    await app.ports.a2a_tasks.mark(scope, task.id.thread_id, mark)
    await _notify_of_mark(caller, task)
    stopped_task = await _stop_run(caller, task)
    await app.ports.audit.record(
        scope, "task.cancel", thread_id=task.id.thread_id, outcome="allowed", detail={"taskId": str(task.id)}
    )
    return await to_task(stopped_task, caller.app.agents, caller.scope)


async def subscribe_to_task(caller: A2ACaller, params: types.SubscribeToTaskRequest) -> AsyncGenerator[A2AEvent, None]:
    """Yield a task and its updates.

    Raises ``TaskNotFoundError``, also for a task that the caller may read only in redacted form,
    ``UnsupportedOperationError`` for a task in a final state, and ``TokenExpired``.
    """
    task = await _find_visible_task(caller, params.id)
    if not sees_all(caller.scope, task.user_id):
        raise errors.TaskNotFoundError  # streams are not redacted
    if task.state.is_terminal:
        raise errors.UnsupportedOperationError(f"The task is {task.state.value}: nothing more happens to it.")
    # In 0.3, a stream ends when the task waits for input. In 1.0, a subscription continues until the task is final.
    follower = TaskFollower(caller, across_turns=caller.line is Line.CURRENT)
    places, name = caller.app.limits.places, caller.request_id
    async with (
        places.hold(caller.scope, CounterKind.STREAMS, name, seconds=TURN_SECONDS),
        contextlib.aclosing(follower.follow(task)) as updates,
    ):
        async for update in updates:
            yield update


async def get_extended_card(caller: A2ACaller, _: types.GetExtendedAgentCardRequest) -> types.AgentCard:
    """Return the card of the called agent for the caller. Raises ``ExtendedAgentCardNotConfiguredError``."""
    if not caller.is_authenticated:
        raise errors.ExtendedAgentCardNotConfiguredError("The extended card is for callers with a token.")
    card = make_card_for(caller.agents, caller.scope, caller.agent, caller.base_url, caller.access)
    if caller.is_trusted:
        card = await sign(card, caller.app, caller.base_url)
    return parse_agent_card(card)


async def _read_task(sender: Sender, sending: Sending) -> A2ATask:
    task = await sender.reader.read(sender.caller.scope, sending.task_id)
    if task is None:
        raise errors.TaskNotFoundError
    return task


async def _find_visible_task(caller: A2ACaller, text: str) -> A2ATask:
    task = await TaskReader(caller.app.ports).find(caller.scope, text)
    if task is None:
        raise errors.TaskNotFoundError
    return await caller.app.privacy.readers.redact_for(caller.scope, task.user_id, task)


async def _make_started_task(caller: A2ACaller, sending: Sending, state: TaskState, history: int | None) -> types.Task:
    """Return the task at the start of its run, with its earlier messages and the new message."""
    before, now = sending.task, caller.app.ports.clock.now()
    thread, messages = (before.thread, before.messages) if before is not None else (None, ())
    task = A2ATask(sending.task_id, caller.scope.user_id, thread, None, messages, state, now)
    return await _add_message(caller, sending, task, history)


async def _add_message(caller: A2ACaller, sending: Sending, task: A2ATask, history: int | None) -> types.Task:
    """Return the task with the message that was just sent, even if it is still in the queue."""
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
    return await to_task(task, caller.app.agents, caller.scope, history=history)


async def _stop_run(caller: A2ACaller, task: A2ATask) -> A2ATask:
    """Stop the task's run, wait up to ``CANCEL_SECONDS`` for its end, and return the task.

    Raises ``TaskNotFoundError`` if the task was deleted meanwhile.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + CANCEL_SECONDS
    stopped_run_id: str | None = None
    while True:
        current = await TaskReader(caller.app.ports).read(caller.scope, task.id)
        if current is None:
            raise errors.TaskNotFoundError
        if current.run_id is None or loop.time() >= deadline:
            return current
        if current.run_id != stopped_run_id:
            stopped_run_id = current.run_id
            await caller.app.controls.cancel(caller.scope, task.id.thread_id, stopped_run_id)
        # Only the thread's item is polled. The messages are read again once the run has ended.
        while loop.time() < deadline:
            await asyncio.sleep(POLL_SECONDS)
            try:
                thread = await caller.app.ports.store.get_thread(caller.scope, task.id.thread_id)
            except ThreadUnavailable:  # the thread was deleted meanwhile
                break
            if thread.run is None or thread.run.run_id != stopped_run_id:
                break


async def _notify_of_mark(caller: A2ACaller, task: A2ATask) -> None:
    """Queue notifications that the task was cancelled, if clients have configured any."""
    if caller.access.pushes() and (task.thread is None or task.thread.notifies):
        await caller.app.change_notifications.note_mark(
            caller.scope, task.id.thread_id, task.id.root, MarkStatus.CANCELED.value
        )

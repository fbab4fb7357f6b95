"""The operations with which clients set, read and remove configurations of push notifications."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from a2a import types
from a2a.utils.errors import InvalidParamsError, PushNotificationNotSupportedError, TaskNotFoundError

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.sending import Sender, Sending
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.domain.errors import StoreUnavailable, ThreadUnavailable
from baton.domain.threads.a2a_task import TaskId
from baton.domain.threads.push_config import DEFAULT_ID, PushConfig
from baton.domain.threads.turn_requests import MessageRequest

START_SECONDS = 3.0
"""Seconds for which setting a configuration waits for the turn that begins the task's conversation."""
POLL_SECONDS = 0.1
"""Seconds between two reads of the thread during this wait."""


async def create(caller: A2ACaller, request: types.TaskPushNotificationConfig) -> types.TaskPushNotificationConfig:
    """Store a configuration of a task, and return it. Raises ``A2AError`` and ``BatonError``."""
    _check_enabled(caller)
    task = await _find_own_task(caller, request.task_id)
    config = parse(caller, request, task.id)
    app, thread_id = caller.app, task.id.thread_id
    await app.ports.push_configs.put(caller.scope, thread_id, config)
    await _let_thread_notify(caller, task)
    return to_wire(config, task.id)


async def get(
    caller: A2ACaller, params: types.GetTaskPushNotificationConfigRequest
) -> types.TaskPushNotificationConfig:
    """Return a configuration of a task. Without an id, return the default configuration, or the first without one.

    Raises ``TaskNotFoundError``, and ``PushNotificationNotSupportedError`` while notifications are switched off.
    """
    _check_enabled(caller)
    task = await _find_own_task(caller, params.task_id)
    configs = await caller.app.ports.push_configs.of_task(caller.scope, task.id.thread_id, task.id.root)
    config_id = _choose_config_id(params.id, task.id)
    config = next(
        (config for config in configs if config.id == config_id), configs[0] if configs and not params.id else None
    )
    if config is None:
        raise TaskNotFoundError("The task has no such push notification configuration.")
    return to_wire(config, task.id)


async def list_all(
    caller: A2ACaller, params: types.ListTaskPushNotificationConfigsRequest
) -> types.ListTaskPushNotificationConfigsResponse:
    """Return all configurations of a task in one page, because a task has only a few.

    Raises ``InvalidParamsError`` for a page token, ``TaskNotFoundError``, and ``PushNotificationNotSupportedError``
    while notifications are switched off.
    """
    _check_enabled(caller)
    if params.page_token:
        raise InvalidParamsError("pageToken was not handed out by this list.")
    task = await _find_own_task(caller, params.task_id)
    configs = await caller.app.ports.push_configs.of_task(caller.scope, task.id.thread_id, task.id.root)
    return types.ListTaskPushNotificationConfigsResponse(configs=[to_wire(config, task.id) for config in configs])


async def delete(caller: A2ACaller, params: types.DeleteTaskPushNotificationConfigRequest) -> None:
    """Remove a configuration if it exists.

    Raises ``TaskNotFoundError`` for an unknown task, and ``PushNotificationNotSupportedError`` while notifications are
    switched off.
    """
    _check_enabled(caller)
    task = await _find_own_task(caller, params.task_id)
    config_id = _choose_config_id(params.id, task.id)
    await caller.app.ports.push_configs.delete(caller.scope, task.id.thread_id, task.id.root, config_id)


async def prepare(sender: Sender, params: types.SendMessageRequest) -> Sending:
    """Check a message, and store its configuration of push notifications, if it has one, before its turn begins.

    Raises the errors of ``Sender.prepare``, ``InvalidParamsError`` for an invalid configuration, and
    ``PushNotificationNotSupportedError`` for a configuration while notifications are switched off.
    """
    caller, has_config = sender.caller, params.configuration.HasField("task_push_notification_config")
    if has_config:
        _check_enabled(caller)
    sending = await sender.prepare(params.message)
    if not has_config:
        return sending
    config = parse(caller, params.configuration.task_push_notification_config, sending.task_id)
    app, thread_id = caller.app, sending.task_id.thread_id
    await app.ports.push_configs.put(caller.scope, thread_id, config)
    try:
        await app.ports.store.want_notifications(caller.scope, thread_id)
    except ThreadUnavailable as refusal:
        if not refusal.is_unused:
            raise
        if isinstance(sending.request, MessageRequest):  # the first turn creates the thread with this mark
            return replace(sending, request=replace(sending.request, notifies=True))
    return sending


def parse(caller: A2ACaller, request: types.TaskPushNotificationConfig, task_id: TaskId) -> PushConfig:
    """Return a client's configuration. Raises ``InvalidParamsError``."""
    authentication = request.authentication if request.HasField("authentication") else types.AuthenticationInfo()
    config = PushConfig(
        root=task_id.root,
        id=_choose_config_id(request.id, task_id),
        user_id=caller.scope.user_id,
        url=request.url,
        line=caller.line,
        set_at=caller.app.ports.clock.now(),
        token=request.token or None,
        scheme=authentication.scheme or None,
        credentials=authentication.credentials or None,
    )
    problem = config.problem or caller.app.ports.webhooks.find_refusal(config.url)
    if problem is not None:
        raise InvalidParamsError(f"push notification configuration: {problem}")
    return config


def to_wire(config: PushConfig, task_id: TaskId) -> types.TaskPushNotificationConfig:
    """Return a configuration for its client. It has secrets only if ``config`` has them, as after ``create``."""
    served = types.TaskPushNotificationConfig(
        task_id=str(task_id), id=config.id, url=config.url, token=config.token or ""
    )
    if config.scheme is not None or config.credentials is not None:
        served.authentication.scheme = config.scheme or ""
        served.authentication.credentials = config.credentials or ""
    return served


def _choose_config_id(config_id: str, task_id: TaskId) -> str:
    """Return the id of a configuration. An empty id, or the task's id as sent by some clients, is the default's."""
    return DEFAULT_ID if config_id in ("", str(task_id)) else config_id


def _check_enabled(caller: A2ACaller) -> None:
    if not caller.access.pushes():
        raise PushNotificationNotSupportedError


async def _find_own_task(caller: A2ACaller, text: str) -> A2ATask:
    """Return a task of the caller. Raises ``TaskNotFoundError``, also for other users' tasks that the caller may read.

    A permission to read all conversations is no permission to send them to a receiver.
    """
    task = await TaskReader(caller.app.ports).find(caller.scope, text)
    if task is None or task.user_id != caller.scope.user_id:
        raise TaskNotFoundError
    return task


async def _let_thread_notify(caller: A2ACaller, task: A2ATask) -> None:
    """Mark the thread, so that its runs send notifications. If it has changed since ``task`` was read, notify now.

    Raises ``StoreUnavailable`` if the task's first message still waits in the queue, and ``TaskNotFoundError`` if the
    thread was deleted meanwhile.
    """
    app, thread_id = caller.app, task.id.thread_id
    loop = asyncio.get_running_loop()
    deadline = loop.time() + START_SECONDS
    while True:
        try:
            thread = await app.ports.store.want_notifications(caller.scope, thread_id)
            break
        except ThreadUnavailable as refusal:
            if task.thread is not None or not refusal.is_unused:
                raise TaskNotFoundError from None
            if loop.time() >= deadline:
                raise StoreUnavailable("The task has not begun yet. Please try again in a moment.") from None
            await asyncio.sleep(POLL_SECONDS)
    if task.thread is None or thread.next_ordinal != task.thread.next_ordinal or thread.episode != task.thread.episode:
        await app.change_notifications.note_mark(
            caller.scope, thread_id, task.id.root, f"configured.{thread.next_ordinal}"
        )

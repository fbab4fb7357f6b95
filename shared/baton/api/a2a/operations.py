"""The operations of A2A 1.0, whatever binding a call comes by: parameters, what carries them out, and failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from a2a.server.routes.common import serialize_list_tasks_response
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SendMessageRequest,
    SendMessageResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2AError, InternalError, VersionNotSupportedError
from aws_lambda_powertools import Logger
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from baton.api.a2a.caller import A2ACaller
from baton.api.a2a.errors import a2a_error
from baton.api.a2a.handler import A2AHandler
from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count

CURRENT: Mapping[str, type[Any]] = {
    "SendMessage": SendMessageRequest,
    "SendStreamingMessage": SendMessageRequest,
    "GetTask": GetTaskRequest,
    "ListTasks": ListTasksRequest,
    "CancelTask": CancelTaskRequest,
    "SubscribeToTask": SubscribeToTaskRequest,
    "CreateTaskPushNotificationConfig": TaskPushNotificationConfig,
    "GetTaskPushNotificationConfig": GetTaskPushNotificationConfigRequest,
    "ListTaskPushNotificationConfigs": ListTaskPushNotificationConfigsRequest,
    "DeleteTaskPushNotificationConfig": DeleteTaskPushNotificationConfigRequest,
    "GetExtendedAgentCard": GetExtendedAgentCardRequest,
}
"""The operations and the types of their parameters."""
LARGE = 32_768
"""Bytes of a body from which on it is converted in a thread: other streams of the process must not wait for it."""

logger = Logger(child=True)
handler = A2AHandler()

METHODS: Mapping[str, Callable[[Any, Any], Awaitable[Any]]] = {
    "SendMessage": handler.on_message_send,
    "ListTasks": handler.on_list_tasks,
    "GetTask": handler.on_get_task,
    "CancelTask": handler.on_cancel_task,
    "CreateTaskPushNotificationConfig": handler.on_create_task_push_notification_config,
    "GetTaskPushNotificationConfig": handler.on_get_task_push_notification_config,
    "ListTaskPushNotificationConfigs": handler.on_list_task_push_notification_configs,
    "DeleteTaskPushNotificationConfig": handler.on_delete_task_push_notification_config,
    "GetExtendedAgentCard": handler.on_get_extended_agent_card,
}
STREAM_METHODS: Mapping[str, Callable[[Any, Any], AsyncGenerator[Any, None]]] = {
    "SendStreamingMessage": handler.on_message_send_stream,
    "SubscribeToTask": handler.on_subscribe_to_task,
}


def check_version(version: str | None) -> None:
    """Raise ``VersionNotSupportedError`` for other versions than 0.3 and 1. The method decides between these."""
    if version and version.strip().split(".")[0] not in ("0", "1"):
        raise VersionNotSupportedError(f"A2A {version[:20]!r} is not supported. 0.3 and 1.0 are.")


async def current_json(operation: str, params: Any, value: Any) -> Any:
    """Return what an operation has returned, as JSON of A2A 1.0; None if it returns nothing."""
    if value is None:
        return None
    if operation == "ListTasks":
        return serialize_list_tasks_response(value, params.include_artifacts)
    if operation == "SendMessage":
        value = SendMessageResponse(task=value) if isinstance(value, Task) else SendMessageResponse(message=value)
    return await asyncio.to_thread(MessageToDict, value)


async def begun(events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Wait for the first event, so that a refusal is an ordinary response. Raises what refuses the call."""
    first = await anext(events, None)
    return _continued(first, events)


async def _continued(first: Any, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    try:
        if first is not None:
            yield first
            async for event in events:
                yield event
    finally:
        await events.aclose()


def as_a2a(error: Exception, caller: A2ACaller) -> A2AError:
    """Return the error that the client gets. Faults of Baton's own are logged, and say nothing of themselves."""
    if isinstance(error, A2AError):
        return error
    if isinstance(error, BatonError):
        if error.status >= 500:
            count(Metric.REQUESTS_FAILED)
        return a2a_error(error)
    logger.error("A2A request failed", exc_info=error, request_id=caller.request_id)
    count(Metric.INTERNAL_FAULTS)
    return InternalError("Something went wrong on our side. Please try again.")

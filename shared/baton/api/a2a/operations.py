"""The operations of A2A 1.0 for both bindings: parameters, methods, streams and failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar

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
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    VersionNotSupportedError,
)
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.handler import A2AHandler
from baton.api.a2a.json_text import to_line, to_reason
from baton.api.runs import sse
from baton.domain.errors import BatonError, UnsupportedPart
from baton.domain.metrics import Metric, count
from baton.failures.reports import report_failure

P = ParamSpec("P")
T = TypeVar("T")

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


def is_older_version(version: str | None) -> bool:
    """Return whether the header ``A2A-Version`` names the line 0.3, as a call without it does by the specification.

    Raises ``VersionNotSupportedError`` for other versions than 0.3 and 1.
    """
    line = version.strip().split(".")[0] if version else "0"
    if version and line not in ("0", "1"):
        raise VersionNotSupportedError(f"A2A {version[:20]!r} is not supported. 0.3 and 1.0 are.")
    return line != "1"


async def convert(size: int, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what ``make`` makes of a body of ``size`` bytes, which it does in a thread if the body is large."""
    if size > LARGE:
        return await asyncio.to_thread(make, *args, **kwargs)
    return make(*args, **kwargs)


def to_parameters(operation: str, values: Any, where: str = "") -> Any:
    """Return the parameters of an operation. Raises ``InvalidParamsError``, whose text begins with ``where``."""
    try:
        return ParseDict(values, CURRENT[operation](), ignore_unknown_fields=True)
    except Exception as error:  # noqa: BLE001 - protobuf has several, and they are the client's
        raise InvalidParamsError(f"{where}{to_reason(error)}") from None


async def to_json(operation: str, params: Any, value: Any) -> Any:
    """Return the result of an operation as JSON of A2A 1.0; None if it has none."""
    if value is None:
        return None
    if operation == "ListTasks":
        return serialize_list_tasks_response(value, params.include_artifacts)
    if operation == "SendMessage":
        value = SendMessageResponse(task=value) if isinstance(value, Task) else SendMessageResponse(message=value)
    return await asyncio.to_thread(MessageToDict, value)


async def begin(events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Wait for the first event, so that a refusal is an ordinary response. Raises what refuses the call."""
    first = await anext(events, None)
    return _continue(first, events)


async def _continue(first: Any, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    try:
        if first is not None:
            yield first
            async for event in events:
                yield event
    finally:
        await events.aclose()


async def to_frames(
    events: AsyncGenerator[Any, None],
    to_data: Callable[[Any], dict[str, Any]],
    to_failure: Callable[[Exception], dict[str, Any]],
    **of_failure: str,
) -> AsyncGenerator[sse.Frame, None]:
    """Yield each event, and the error that ends the stream, if any; ``of_failure`` are more fields of its frame."""
    try:
        async for event in events:
            yield {"data": to_line(to_data(event))}
    except Exception as error:  # noqa: BLE001 - it ends the stream, and is logged
        yield {**of_failure, "data": to_line(to_failure(error))}
    finally:
        await events.aclose()


def to_a2a_error(error: Exception, caller: A2ACaller) -> A2AError:
    """Return the error for the client. One of Baton's has its stable code in ``data``; faults are logged."""
    if isinstance(error, A2AError):
        return error
    if not isinstance(error, BatonError):
        report_failure(error, "request failed", request_id=caller.request_id)
        return InternalError("Something went wrong on our side. Please try again.")
    data: dict[str, Any] = {"code": error.code, "retryable": error.retryable}
    if error.retry_after is not None:
        data["retryAfter"] = error.retry_after
    if error.status >= 500:
        count(Metric.REQUESTS_FAILED)
        report_failure(error, "request failed", request_id=caller.request_id)
        return InternalError(error.detail, data)
    if isinstance(error, UnsupportedPart):
        return ContentTypeNotSupportedError(error.detail, data)
    return InvalidParamsError(error.detail, data)

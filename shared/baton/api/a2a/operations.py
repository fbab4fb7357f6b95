"""The operations of A2A 1.0 for both bindings: parameters, functions, streams and errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from a2a import types
from a2a.server.routes.common import serialize_list_tasks_response
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    VersionNotSupportedError,
)
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]

from baton.api.a2a import handler, push
from baton.api.a2a.access import A2ACaller
from baton.api.a2a.json_text import to_line, to_reason
from baton.api.a2a.listing import list_tasks
from baton.api.runs import sse
from baton.domain.errors import BatonError, UnsupportedPart
from baton.domain.metrics import Metric, count
from baton.failures.reports import report_failure

WEIGHT = 2
"""The factor by which the bytes of a body count for ``off_loop``, because their conversion takes long."""

OPERATIONS: Mapping[str, tuple[type[Any], Callable[[A2ACaller, Any], Any]]] = {
    "SendMessage": (types.SendMessageRequest, handler.send_message),
    "SendStreamingMessage": (types.SendMessageRequest, handler.stream_message),
    "GetTask": (types.GetTaskRequest, handler.get_task),
    "ListTasks": (types.ListTasksRequest, list_tasks),
    "CancelTask": (types.CancelTaskRequest, handler.cancel_task),
    "SubscribeToTask": (types.SubscribeToTaskRequest, handler.subscribe_to_task),
    "CreateTaskPushNotificationConfig": (types.TaskPushNotificationConfig, push.create),
    "GetTaskPushNotificationConfig": (types.GetTaskPushNotificationConfigRequest, push.get),
    "ListTaskPushNotificationConfigs": (types.ListTaskPushNotificationConfigsRequest, push.list_all),
    "DeleteTaskPushNotificationConfig": (types.DeleteTaskPushNotificationConfigRequest, push.delete),
    "GetExtendedAgentCard": (types.GetExtendedAgentCardRequest, handler.get_extended_card),
}
"""The types of the operations' parameters, and the functions that carry them out."""
STREAMS = ("SendStreamingMessage", "SubscribeToTask")
"""The operations whose functions are generators of events. The other functions return a result."""


def is_older_version(version: str | None) -> bool:
    """Return whether the header ``A2A-Version`` means 0.3, as a missing header does by the specification.

    Raises ``VersionNotSupportedError`` for major versions other than 0 and 1.
    """
    line = version.strip().split(".")[0] if version else "0"
    if version and line not in ("0", "1"):
        raise VersionNotSupportedError(f"A2A {version[:20]!r} is not supported. 0.3 and 1.0 are.")
    return line != "1"


def to_parameters(operation: str, values: Any, where: str = "") -> Any:
    """Return JSON as an operation's parameters. Raises ``InvalidParamsError``, whose text begins with ``where``."""
    try:
        return ParseDict(values, OPERATIONS[operation][0](), ignore_unknown_fields=True)
    except Exception as error:  # noqa: BLE001 - protobuf raises several classes for invalid values of the client
        raise InvalidParamsError(f"{where}{to_reason(error)}") from None


async def to_json(operation: str, params: Any, value: Any) -> Any:
    """Return the result of an operation as JSON of A2A 1.0; None for an operation without a result."""
    if value is None:
        return None
    if operation == "ListTasks":
        return serialize_list_tasks_response(value, params.include_artifacts)
    if operation == "SendMessage":
        value = types.SendMessageResponse(task=value)
    return await asyncio.to_thread(MessageToDict, value)


async def begin(events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    """Wait for the first event, and return a generator of all events.

    Raises the error that refuses the call, so that it can be sent as an ordinary response.
    """
    first = await anext(events, None)
    return _yield_all(first, events)


async def _yield_all(first: Any, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
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
    *,
    error_event: str | None = None,
) -> AsyncGenerator[sse.Frame, None]:
    """Yield a frame for each event. If an error ends the stream, yield a frame of it, with the type ``error_event``."""
    try:
        async for event in events:
            yield {"data": to_line(to_data(event))}
    except Exception as error:  # noqa: BLE001 - ``to_failure`` logs it
        event_type = {"event": error_event} if error_event is not None else {}
        yield {**event_type, "data": to_line(to_failure(error))}
    finally:
        await events.aclose()


def to_a2a_error(error: Exception, caller: A2ACaller) -> A2AError:
    """Return the error for the client, and log faults. ``data`` has the code of an error of Baton."""
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

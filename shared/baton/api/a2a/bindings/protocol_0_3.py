"""Conversions of calls of A2A 0.3 to operations of 1.0, and of results back to 0.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as v03
from a2a.types import SendMessageRequest, StreamResponse
from a2a.utils import errors
from pydantic import BaseModel, ValidationError

from baton.api.a2a.json_text import to_reason
from baton.domain.definition import get_message
from baton.domain.threads.content import write_field_path

KNOWN_CODES = frozenset(range(-32007, -32000)) | {-32700, -32600, -32601, -32602, -32603}
"""The error codes of A2A 0.3. Its clients get the code of an internal error for all other errors."""
METHODS: Mapping[str, tuple[str, type[BaseModel], Callable[[Any], Any]]] = {
    "message/send": ("SendMessage", v03.SendMessageRequest, conversions.to_core_send_message_request),
    "message/stream": (
        "SendStreamingMessage",
        v03.SendStreamingMessageRequest,
        conversions.to_core_send_message_request,
    ),
    "tasks/get": ("GetTask", v03.GetTaskRequest, conversions.to_core_get_task_request),
    "tasks/cancel": ("CancelTask", v03.CancelTaskRequest, conversions.to_core_cancel_task_request),
    "tasks/resubscribe": (
        "SubscribeToTask",
        v03.TaskResubscriptionRequest,
        conversions.to_core_subscribe_to_task_request,
    ),
    "tasks/pushNotificationConfig/set": (
        "CreateTaskPushNotificationConfig",
        v03.SetTaskPushNotificationConfigRequest,
        conversions.to_core_create_task_push_notification_config_request,
    ),
    "tasks/pushNotificationConfig/get": (
        "GetTaskPushNotificationConfig",
        v03.GetTaskPushNotificationConfigRequest,
        conversions.to_core_get_task_push_notification_config_request,
    ),
    "tasks/pushNotificationConfig/list": (
        "ListTaskPushNotificationConfigs",
        v03.ListTaskPushNotificationConfigRequest,
        conversions.to_core_list_task_push_notification_config_request,
    ),
    "tasks/pushNotificationConfig/delete": (
        "DeleteTaskPushNotificationConfig",
        v03.DeleteTaskPushNotificationConfigRequest,
        conversions.to_core_delete_task_push_notification_config_request,
    ),
    "agent/getAuthenticatedExtendedCard": (
        "GetExtendedAgentCard",
        v03.GetAuthenticatedExtendedCardRequest,
        conversions.to_core_get_extended_agent_card_request,
    ),
}
"""The methods of A2A 0.3 with their operations of 1.0, the types of their requests, and their conversions."""
INTERRUPTED = (v03.TaskState.input_required, v03.TaskState.auth_required)
"""States of a task that end a stream of A2A 0.3 although the task is not final."""


def to_parameters(method: str, params: Any, request_id: Any) -> tuple[str, Any]:
    """Return the operation of a method, and its parameters with the types of A2A 1.0.

    Raises ``MethodNotFoundError`` and ``InvalidParamsError``.
    """
    if method not in METHODS:
        raise errors.MethodNotFoundError(f"There is no method {method[:60]!r}.")
    operation, model, convert = METHODS[method]
    if method != "agent/getAuthenticatedExtendedCard" and not isinstance(params, dict):
        raise errors.InvalidParamsError("params must be an object.")
    try:
        request: Any = model.model_validate(
            {"jsonrpc": "2.0", "id": request_id or 0, "method": method, "params": params}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise errors.InvalidParamsError(
            f"{write_field_path(first['loc'])[:200]}: {get_message(first)[:200]}."
        ) from None
    try:
        converted = convert(request)
    except Exception as error:  # noqa: BLE001 - protobuf raises several classes for invalid values of the client
        raise errors.InvalidParamsError(f"params: {to_reason(error)}") from None
    if operation == "GetTask" and request.params.history_length is not None:  # the conversion drops 0
        converted.history_length = request.params.history_length
    if isinstance(converted, SendMessageRequest):
        # Without ``blocking``, callers of 0.3 do not wait, but the conversion makes them wait. It also drops a history
        # length of 0, which asks for no messages.
        configuration = request.params.configuration
        if configuration is None or configuration.blocking is None:
            converted.configuration.return_immediately = True
        if configuration is not None and configuration.history_length is not None:
            converted.configuration.history_length = configuration.history_length
    return operation, converted


def to_result(operation: str, value: Any) -> Any:
    """Return the result of an operation as JSON."""
    return _RESULTS[operation](value)


def to_event(response: StreamResponse, request_id: Any) -> Any:
    """Return an event of a stream as JSON."""
    event = conversions.to_compat_stream_response(response, request_id).result
    if isinstance(event, v03.TaskStatusUpdateEvent) and event.status.state in INTERRUPTED:
        event.final = True  # the stream ends here, although the task may continue
    return _dump(event)


def to_error(error: errors.A2AError) -> dict[str, Any]:
    """Return an error as an error object of JSON-RPC, with a code of A2A 0.3."""
    code = errors.JSON_RPC_ERROR_CODE_MAP.get(type(error), -32603)
    # Only clients that send the header A2A-Version get ``VersionNotSupportedError``. They know the code of 1.0.
    is_known = code in KNOWN_CODES or isinstance(error, errors.VersionNotSupportedError)
    data = {"data": error.data} if error.data is not None else {}
    return {"code": code if is_known else -32603, "message": error.message, **data}


def _dump(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


_RESULTS: Mapping[str, Callable[[Any], Any]] = {
    "SendMessage": lambda task: _dump(conversions.to_compat_task(task)),
    "GetTask": lambda task: _dump(conversions.to_compat_task(task)),
    "CancelTask": lambda task: _dump(conversions.to_compat_task(task)),
    "CreateTaskPushNotificationConfig": lambda config: _dump(
        conversions.to_compat_task_push_notification_config(config)
    ),
    "GetTaskPushNotificationConfig": lambda config: _dump(conversions.to_compat_task_push_notification_config(config)),
    "ListTaskPushNotificationConfigs": lambda listed: [
        _dump(conversions.to_compat_task_push_notification_config(config)) for config in listed.configs
    ],
    "DeleteTaskPushNotificationConfig": lambda _: None,
    "GetExtendedAgentCard": lambda card: _dump(conversions.to_compat_agent_card(card)),
}

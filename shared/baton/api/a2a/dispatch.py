"""JSON-RPC calls of A2A 1.0 and 0.3, on one address. The names of their methods differ."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as v03
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.types import (
    Message,
    SendMessageRequest,
    Task,
)
from a2a.utils.errors import (
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    VersionNotSupportedError,
)
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]
from pydantic import BaseModel, ValidationError

from baton.api import sse
from baton.api.a2a.caller import A2ACaller
from baton.api.a2a.envelope import Call, CallRefused, RequestId, dumped, parse_call, result
from baton.api.a2a.given_parts import check_parts
from baton.api.a2a.listing import check_status
from baton.api.a2a.operations import (
    CURRENT,
    LARGE,
    METHODS,
    STREAM_METHODS,
    as_a2a,
    begun,
    check_version,
    current_json,
)
from baton.domain.content import field_path
from baton.domain.errors import BatonError
from baton.domain.push_config import Line

KNOWN_CODES = frozenset(range(-32007, -32000)) | {-32700, -32600, -32601, -32602, -32603}
"""The codes of A2A 0.3. Later ones are internal errors to its clients."""
OLDER: Mapping[str, tuple[str, type[BaseModel], Callable[[Any], Any]]] = {
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
"""The methods of A2A 0.3: the method of 1.0 that each is, and how its request becomes that one's."""
INTERRUPTED = (v03.TaskState.input_required, v03.TaskState.auth_required)


async def answer(body: bytes, version: str | None, caller: A2ACaller) -> dict[str, Any] | AsyncIterator[sse.Frame]:
    """Carry out one call. Returns its response, or the events of a stream. Raises nothing."""
    call: Call | None = None
    try:
        call = parse_call(body)
        check_version(version)
        parsed = asyncio.to_thread(_parsed, call) if len(body) > LARGE else None
        method, params, is_older = await parsed if parsed is not None else _parsed(call)
        if method in STREAM_METHODS:
            events = STREAM_METHODS[method](params, caller.context(_line(is_older=is_older)))
            if not is_older:
                events = await begun(events)
            return _frames(call.id, events, is_older=is_older, caller=caller)
        value = await _result(method, params, caller, is_older=is_older)
        return result(call.id, value)
    except CallRefused as refused:
        return _error(refused.id, refused.error, is_older=True)
    except Exception as error:  # noqa: BLE001 - every failure becomes a response of JSON-RPC
        request_id = call.id if call is not None else None
        return _error(request_id, as_a2a(error, caller), is_older=call is None or call.method not in CURRENT)


def _parsed(call: Call) -> tuple[str, Any, bool]:
    """Return the method, its parameters by the types of 1.0, and whether the call is one of 0.3.

    Raises ``MethodNotFoundError`` and ``InvalidParamsError``.
    """
    check_parts(call.params, is_older=call.method not in CURRENT)
    if call.method == "ListTasks":
        check_status(call.params)
    if call.method in CURRENT:
        if not isinstance(call.params, dict):
            raise InvalidParamsError("params must be an object.")
        try:
            return call.method, ParseDict(call.params, CURRENT[call.method](), ignore_unknown_fields=True), False
        except Exception as error:  # noqa: BLE001 - protobuf has several, and they are the client's
            raise InvalidParamsError(f"params: {str(error)[:300]}") from None
    if call.method not in OLDER:
        raise MethodNotFoundError(f"There is no method {call.method[:60]!r}.")
    method, model, convert = OLDER[call.method]
    if call.method != "agent/getAuthenticatedExtendedCard" and not isinstance(call.params, dict):
        raise InvalidParamsError("params must be an object.")
    try:
        request = model.model_validate(
            {"jsonrpc": "2.0", "id": call.id or 0, "method": call.method, "params": call.params}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidParamsError(f"{field_path(first['loc'])[:200]}: {first['msg'][:200]}.") from None
    try:
        params = convert(request)
    except Exception as error:  # noqa: BLE001 - likewise
        raise InvalidParamsError(f"params: {str(error)[:300]}") from None
    if method == "GetTask" and request.params.history_length is not None:  # type: ignore[attr-defined]
        params.history_length = request.params.history_length  # type: ignore[attr-defined]
    if isinstance(params, SendMessageRequest):
        _configure(params, request.params.configuration)  # type: ignore[attr-defined]
    return method, params, True


def _configure(params: SendMessageRequest, given: v03.MessageSendConfiguration | None) -> None:
    """Set what the conversion loses: without ``blocking`` the caller does not wait, and a length of 0 is a length."""
    if given is None or given.blocking is None:
        params.configuration.return_immediately = True
    if given is not None and given.history_length is not None:
        params.configuration.history_length = given.history_length


# What the methods return, as JSON


async def _result(method: str, params: Any, caller: A2ACaller, *, is_older: bool) -> Any:
    value = await METHODS[method](params, caller.context(_line(is_older=is_older)))
    if is_older:
        return await asyncio.to_thread(_OLDER_RESULTS[method], value)
    return await current_json(method, params, value)


def _line(*, is_older: bool) -> Line:
    return Line.OLDER if is_older else Line.CURRENT


def _older_sent(sent: Task | Message) -> Any:
    if isinstance(sent, Task):
        return _dumped(conversions.to_compat_task(sent))
    return _dumped(conversions.to_compat_message(sent))


def _dumped(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


_OLDER_RESULTS: Mapping[str, Callable[[Any], Any]] = {
    "SendMessage": _older_sent,
    "GetTask": lambda task: _dumped(conversions.to_compat_task(task)),
    "CancelTask": lambda task: _dumped(conversions.to_compat_task(task)),
    "CreateTaskPushNotificationConfig": lambda it: _dumped(conversions.to_compat_task_push_notification_config(it)),
    "GetTaskPushNotificationConfig": lambda it: _dumped(conversions.to_compat_task_push_notification_config(it)),
    "ListTaskPushNotificationConfigs": lambda listed: [
        _dumped(conversions.to_compat_task_push_notification_config(each)) for each in listed.configs
    ],
    "DeleteTaskPushNotificationConfig": lambda _: None,
    "GetExtendedAgentCard": lambda card: _dumped(conversions.to_compat_agent_card(card)),
}


# Streams


async def _frames(
    request_id: RequestId, events: AsyncGenerator[Any, None], *, is_older: bool, caller: A2ACaller
) -> AsyncGenerator[sse.Frame, None]:
    """Yield a response for each event, and the error that ends the stream, if any."""
    try:
        async for event in events:
            yield {"data": dumped(_event(request_id, event, is_older=is_older))}
    except Exception as error:  # noqa: BLE001 - it ends the stream, and is logged
        yield {"data": dumped(_error(request_id, as_a2a(error, caller), is_older=is_older))}
    finally:
        await events.aclose()


def _event(request_id: RequestId, event: Any, *, is_older: bool) -> dict[str, Any]:
    response = to_stream_response(event)
    if not is_older:
        return result(request_id, MessageToDict(response))
    older = conversions.to_compat_stream_response(response, request_id).result
    if isinstance(older, v03.TaskStatusUpdateEvent) and older.status.state in INTERRUPTED:
        older.final = True  # the stream ends here, though the task does not
    return result(request_id, _dumped(older))


# Errors


def _error(request_id: RequestId, error: A2AError, *, is_older: bool) -> dict[str, Any]:
    if not is_older:
        return build_error_response(request_id, error)
    code = JSON_RPC_ERROR_CODE_MAP.get(type(error), -32603)
    # Whoever sends the header with a version knows the code of its refusal.
    is_known = code in KNOWN_CODES or isinstance(error, VersionNotSupportedError)
    told: dict[str, Any] = {"code": code if is_known else -32603, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return {"jsonrpc": "2.0", "id": request_id, "error": told}


def refused(error: BatonError) -> dict[str, Any]:
    """Return the response to a body that is larger than any message."""
    return _error(None, InvalidRequestError(error.detail), is_older=True)

"""Calls of A2A's HTTP+JSON binding, over the handler that answers JSON-RPC too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from a2a.compat.v0_3.rest_handler import REST03Handler
from a2a.utils.constants import A2A_JSON_MEDIA_TYPE
from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    A2AError,
    InternalError,
    InvalidParamsError,
    JSONParseError,
    VersionNotSupportedError,
)
from a2a.utils.proto_utils import parse_params, to_stream_response
from fastapi.responses import JSONResponse, Response
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError  # type: ignore[import-untyped]
from pydantic import ValidationError
from starlette.datastructures import QueryParams

from baton.api import sse
from baton.api.a2a.caller import A2ACaller
from baton.api.a2a.envelope import dumped, parsed_json, with_whole_numbers
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
    handler,
)
from baton.api.a2a.rest_errors import Status, of_baton, response, status
from baton.domain.a2a_task import THREAD_ID_LENGTH, TaskId
from baton.domain.errors import BatonError, InvalidRequest
from baton.domain.push_config import Line

A2A_DOMAIN = "a2a-protocol.org"
BODIES = ("SendMessage", "SendStreamingMessage", "CreateTaskPushNotificationConfig")
"""The operations whose parameters are a body."""
SENT = ("SendMessage", "SendStreamingMessage")

_older = REST03Handler(handler)
_OLDER = {
    "SendMessage": _older.on_message_send,
    "GetTask": _older.on_get_task,
    "CancelTask": _older.on_cancel_task,
    "CreateTaskPushNotificationConfig": _older.set_push_notification,
    "GetTaskPushNotificationConfig": _older.get_push_notification,
    "ListTaskPushNotificationConfigs": _older.list_push_notifications,
    "GetExtendedAgentCard": _older.on_get_extended_agent_card,
}
"""What the binding of A2A 0.3 has of the operations."""
_OLDER_STREAMS = {
    "SendStreamingMessage": _older.on_message_send_stream,
    "SubscribeToTask": _older.on_subscribe_to_task,
}


@dataclass(frozen=True, slots=True)
class RestCall:
    """One request, by the name of its operation in A2A 1.0."""

    operation: str
    raw: bytes
    path_params: Mapping[str, str]
    """``id`` of the task and ``push_id`` of a configuration, where the path has them."""
    query_params: QueryParams

    async def body(self) -> bytes:
        """Return the body, as the SDK's handler of 0.3 asks for it."""
        return self.raw


async def answer(call: RestCall, version: str | None, caller: A2ACaller) -> Response:
    """Carry out one call. Raises nothing.

    A call without the header ``A2A-Version`` is one of 0.3, as the specification of 1.0 says.
    """
    try:
        check_version(version)
        if call.operation == "ListTasks":
            check_status(dict(call.query_params))
        is_older = not version or version.strip().split(".")[0] == "0"
        body = _checked_body(call, is_older=is_older) if call.operation in BODIES else None
        if is_older:
            return await _answer_older(call, caller)
        parsing = asyncio.to_thread(_parameters, call, body) if len(call.raw) > LARGE else None
        params = await parsing if parsing is not None else _parameters(call, body)
        if call.operation in STREAM_METHODS:
            events = await begun(STREAM_METHODS[call.operation](params, caller.context()))
            return sse.streamed(_frames(events, caller), caller.timing)
        value = await METHODS[call.operation](params, caller.context())
        return _json(await current_json(call.operation, params, value) or {})
    except Exception as error:  # noqa: BLE001 - every failure becomes a response
        return response(_status(error, caller))


def task_id_of(segment: str) -> str:
    """Return the task's id from a decoded path segment.

    Ids contain percent-encoded characters. Clients that put an id into a path without encoding it once more, as the
    reference SDK does, mean the id of which the server has decoded them.
    """
    if TaskId.parse(segment) is None and segment[THREAD_ID_LENGTH : THREAD_ID_LENGTH + 1] == ".":
        return str(TaskId(segment[:THREAD_ID_LENGTH], segment[THREAD_ID_LENGTH + 1 :]))
    return segment


def _checked_body(call: RestCall, *, is_older: bool) -> dict[str, Any]:
    """Check a body before the models read it, and return it.

    Raises ``JSONParseError``, ``InvalidRequestError`` and ``InvalidParamsError``.
    """
    value = parsed_json(call.raw)
    if not isinstance(value, dict):
        raise InvalidParamsError("The body must be a JSON object.")
    if call.operation in SENT:
        # 0.3 has the message's parts in this binding as ``content``, without a kind.
        said = value.get("message", value.get("request"))
        parts = said.get("parts", said.get("content")) if isinstance(said, dict) else None
        check_parts({"message": {"parts": parts}}, is_older=False)
        if is_older and not parts:
            raise InvalidParamsError("message.content must have at least one part.")
    return value


def _parameters(call: RestCall, body: dict[str, Any] | None) -> Any:
    """Return the operation's parameters by the types of 1.0. Raises ``InvalidParamsError``."""
    params = CURRENT[call.operation]()
    try:
        if body is not None:
            ParseDict(body, params, ignore_unknown_fields=True)
        else:
            parse_params(call.query_params, params)
    except Exception as error:  # noqa: BLE001 - protobuf has several, and they are the client's
        raise InvalidParamsError(str(error)[:300]) from None
    if "push_id" in call.path_params:
        params.task_id, params.id = call.path_params["id"], call.path_params["push_id"]
    elif "id" in call.path_params:
        of_task = "task_id" if "task_id" in params.DESCRIPTOR.fields_by_name else "id"
        setattr(params, of_task, call.path_params["id"])
    return params


def _json(value: Any) -> Response:
    return JSONResponse(with_whole_numbers(value), media_type=A2A_JSON_MEDIA_TYPE)


async def _frames(events: AsyncGenerator[Any, None], caller: A2ACaller) -> AsyncGenerator[sse.Frame, None]:
    """Yield each event, and the error that ends the stream, if any."""
    try:
        async for event in events:
            told = event if isinstance(event, dict) else MessageToDict(to_stream_response(event))
            yield {"data": dumped(with_whole_numbers(told))}
    except Exception as error:  # noqa: BLE001 - it ends the stream, and is logged
        yield {"event": "error", "data": dumped(_status(error, caller))}
    finally:
        await events.aclose()


# A2A 0.3, by the SDK's adapter


async def _answer_older(call: RestCall, caller: A2ACaller) -> Response:
    context = caller.context(Line.OLDER)
    length = call.query_params.get("historyLength")
    if length and not (length.isascii() and length.isdecimal() and len(length) < 10):
        raise InvalidParamsError("historyLength must be a whole number, not negative, of at most nine digits.")
    try:
        if call.operation in _OLDER_STREAMS:
            events: Any = _OLDER_STREAMS[call.operation](call, context)  # type: ignore[arg-type]
            return sse.streamed(_frames(await begun(events), caller), caller.timing)
        if call.operation == "DeleteTaskPushNotificationConfig":  # the SDK's adapter of 0.3 leaves it out
            await METHODS[call.operation](_parameters(call, None), context)
            return _json({})
        if call.operation not in _OLDER:
            raise VersionNotSupportedError(f"A2A 0.3 has no {call.operation}. Send A2A-Version: 1.0.")
        value = await _OLDER[call.operation](call, context)  # type: ignore[arg-type]
        return JSONResponse(with_whole_numbers(value))
    except (ParseError, ValidationError) as error:
        raise InvalidParamsError(str(error)[:300]) from None


# Errors


def _status(error: Exception, caller: A2ACaller) -> Status:
    """Return the error that the client gets. A refusal of Baton's own keeps its HTTP status."""
    is_refusal = isinstance(error, BatonError) and error.status < 500 and error.status != InvalidRequest.status
    if isinstance(error, BatonError) and is_refusal:
        return of_baton(error)
    told = as_a2a(error, caller)
    if isinstance(told, JSONParseError):
        return _of_a2a(told, 400, "INVALID_ARGUMENT", "INVALID_REQUEST")
    if isinstance(error, BatonError) and isinstance(told, InternalError):
        return of_baton(error)
    mapping = A2A_ERROR_MAPPING.get(type(told), A2A_ERROR_MAPPING[InternalError])
    return _of_a2a(told, mapping.http_code, mapping.grpc_status, mapping.reason)


def _of_a2a(error: A2AError, code: int, name: str, reason: str) -> Status:
    metadata = error.data if isinstance(error.data, dict) else {}
    return status(code, name, error.message, reason=reason, domain=A2A_DOMAIN, metadata=metadata)

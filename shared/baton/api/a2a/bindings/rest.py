"""The HTTP+JSON binding of A2A, with the same handler as JSON-RPC."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from a2a.utils import errors
from a2a.utils.constants import A2A_JSON_MEDIA_TYPE
from a2a.utils.proto_utils import parse_params, to_stream_response
from fastapi import Request
from fastapi.responses import JSONResponse, Response
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from baton.api.a2a import operations
from baton.api.a2a.access import A2ACaller
from baton.api.a2a.bindings.rest_errors import Status, make_status, to_response, to_status
from baton.api.a2a.bindings.router import VERSION_HEADER
from baton.api.a2a.json_text import check_parts, parse_json, with_whole_numbers
from baton.api.a2a.listing import check_status
from baton.api.a2a.operations import OPERATIONS, STREAMS, WEIGHT
from baton.api.runs import sse
from baton.concurrency.tasks import off_loop
from baton.domain.errors import BatonError, InvalidRequest
from baton.domain.threads.a2a_task import THREAD_ID_LENGTH, TaskId

A2A_DOMAIN = "a2a-protocol.org"
BODIES = ("SendMessage", "SendStreamingMessage", "CreateTaskPushNotificationConfig")
"""The operations whose parameters are in the body."""


async def respond(operation: str, request: Request, body: bytes, caller: A2ACaller) -> Response:
    """Carry out one call of A2A 1.0 and return its response, also for errors."""
    try:
        if operations.is_older_version(request.headers.get(VERSION_HEADER)):
            raise errors.VersionNotSupportedError(
                "A2A 0.3 is served by JSON-RPC only. Send the header A2A-Version: 1.0."
            )
        if operation == "ListTasks":
            check_status(dict(request.query_params))
        params = await off_loop(WEIGHT * len(body), _parse_params, operation, request, body)
        _, carry_out = OPERATIONS[operation]
        if operation in STREAMS:
            events = await operations.begin(carry_out(caller, params))
            frames = operations.to_frames(
                events, _to_event, lambda error: _to_status(error, caller), error_event="error"
            )
            return sse.respond(frames, caller.timing)
        result = await operations.to_json(operation, params, await carry_out(caller, params)) or {}
        return JSONResponse(with_whole_numbers(result), media_type=A2A_JSON_MEDIA_TYPE)
    except Exception as error:  # noqa: BLE001 - every failure becomes a response
        return to_response(_to_status(error, caller))


def _decode_task_id(segment: str) -> str:
    """Return the task's id from a decoded path segment.

    An id contains percent-encoded characters, so a client must encode it again for a path. Some clients, such as the
    reference SDK, do not. In their segments, the characters of the id are decoded, and they are encoded again here.
    """
    if TaskId.parse(segment) is None and segment[THREAD_ID_LENGTH : THREAD_ID_LENGTH + 1] == ".":
        return str(TaskId(segment[:THREAD_ID_LENGTH], segment[THREAD_ID_LENGTH + 1 :]))
    return segment


def _parse_params(operation: str, request: Request, body: bytes) -> Any:
    """Return the operation's parameters from the body or the query, and from the path.

    Raises ``JSONParseError``, ``InvalidRequestError`` and ``InvalidParamsError``.
    """
    if operation in BODIES:
        value = parse_json(body)
        if not isinstance(value, dict):
            raise errors.InvalidParamsError("The body must be a JSON object.")
        check_parts(value, is_older=False)
        params = operations.to_parameters(operation, value)
    else:
        params = OPERATIONS[operation][0]()
        try:
            parse_params(request.query_params, params)
        except Exception as error:  # noqa: BLE001 - protobuf raises several classes for invalid values of the client
            raise errors.InvalidParamsError(str(error)[:300]) from None
    # For routing, the middleware has left "%" and "/" escaped in segments.
    path = {name: unquote(value) for name, value in request.path_params.items()}
    if "push_id" in path:
        params.task_id, params.id = _decode_task_id(path["id"]), path["push_id"]
    elif "id" in path:
        task_field = "task_id" if "task_id" in params.DESCRIPTOR.fields_by_name else "id"
        setattr(params, task_field, _decode_task_id(path["id"]))
    return params


def _to_event(event: Any) -> dict[str, Any]:
    shaped: dict[str, Any] = with_whole_numbers(MessageToDict(to_stream_response(event)))
    return shaped


def _to_status(error: Exception, caller: A2ACaller) -> Status:
    """Return the error for the client. Refusals by Baton keep their HTTP status, unless A2A has its own error."""
    if isinstance(error, BatonError) and error.status < 500 and error.status != InvalidRequest.status:
        return to_status(error)
    shaped = operations.to_a2a_error(error, caller)
    if isinstance(shaped, errors.JSONParseError):
        return _make_a2a_status(shaped, 400, "INVALID_ARGUMENT", "INVALID_REQUEST")
    if isinstance(error, BatonError) and isinstance(shaped, errors.InternalError):
        return to_status(error)
    mapping = errors.A2A_ERROR_MAPPING.get(type(shaped), errors.A2A_ERROR_MAPPING[errors.InternalError])
    return _make_a2a_status(shaped, mapping.http_code, mapping.grpc_status, mapping.reason)


def _make_a2a_status(error: errors.A2AError, code: int, name: str, reason: str) -> Status:
    metadata = error.data if isinstance(error.data, dict) else {}
    return make_status(code, name, error.message, reason=reason, domain=A2A_DOMAIN, metadata=metadata)

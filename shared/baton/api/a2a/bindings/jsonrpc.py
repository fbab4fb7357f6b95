"""The JSON-RPC 2.0 binding of A2A 1.0 and 0.3, at the same address. The two versions have different method names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.errors import A2AError, InvalidParamsError, InvalidRequestError, JSONParseError
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from baton.api.a2a import operations
from baton.api.a2a.access import A2ACaller
from baton.api.a2a.bindings import protocol_0_3
from baton.api.a2a.json_text import check_parts, parse_json, with_whole_numbers
from baton.api.a2a.listing import check_status
from baton.api.a2a.operations import OPERATIONS, STREAMS, WEIGHT
from baton.api.runs import sse
from baton.concurrency.tasks import off_loop
from baton.domain.errors import BatonError
from baton.domain.threads.push_config import Line

RequestId = str | int | None


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A JSON-RPC call with a valid envelope. Its ``params`` are not checked yet."""

    id: RequestId
    method: str
    params: Any

    @property
    def is_older(self) -> bool:
        """True if the method is not one of A2A 1.0, so that the call is treated as a call of 0.3."""
        return self.method not in OPERATIONS


class CallRefused(Exception):
    """The body is not a valid call. ``id`` is the id for the response; None if the body has no valid id."""

    def __init__(self, error: A2AError, id: RequestId = None) -> None:  # noqa: A002 - the name in JSON-RPC
        super().__init__(error.message)
        self.error = error
        self.id = id


async def respond(body: bytes, version: str | None, caller: A2ACaller) -> dict[str, Any] | AsyncIterator[sse.Frame]:
    """Carry out one call, and return its response or the events of a stream. Errors are returned as responses.

    ``version`` is the header ``A2A-Version``.
    """
    call: RpcCall | None = None
    try:
        call = parse_call(body)
        operations.is_older_version(version)  # raises for unknown versions; the method distinguishes 0.3 and 1.0
        operation, params = await off_loop(WEIGHT * len(body), _parse_params, call)
        _, carry_out = OPERATIONS[operation]
        caller = replace(caller, line=Line.OLDER if call.is_older else Line.CURRENT)
        if operation in STREAMS:
            events = carry_out(caller, params)
            return _make_frames(call, events if call.is_older else await operations.begin(events), caller)
        value = await carry_out(caller, params)
        if call.is_older:
            return _make_result(call.id, await asyncio.to_thread(protocol_0_3.to_result, operation, value))
        return _make_result(call.id, await operations.to_json(operation, params, value))
    except CallRefused as refusal:
        return _make_error(refusal.id, refusal.error, is_older=True)
    except Exception as error:  # noqa: BLE001 - every failure becomes a response of JSON-RPC
        request_id = call.id if call is not None else None
        return _make_error(request_id, operations.to_a2a_error(error, caller), is_older=call is None or call.is_older)


def refuse(error: BatonError) -> dict[str, Any]:
    """Return the response to a body that the server has refused to read."""
    return _make_error(None, InvalidRequestError(error.detail), is_older=True)


def parse_call(body: bytes) -> RpcCall:
    """Parse a body, and return the call. Raises ``CallRefused``.

    A call without an id is answered too, with the id null, because clients of A2A expect a response to every request.
    """
    try:
        call = parse_json(body)
    except (JSONParseError, InvalidRequestError) as error:
        raise CallRefused(error) from None
    if isinstance(call, list):
        raise CallRefused(InvalidRequestError("Batches are not supported. Send one request at a time."))
    if not isinstance(call, dict):
        raise CallRefused(InvalidRequestError("The body must be a JSON object."))
    request_id = call.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        raise CallRefused(InvalidRequestError("id must be a string, a whole number or null."))
    try:
        str(request_id).encode()
    except UnicodeEncodeError:
        raise CallRefused(InvalidRequestError("id is not text.")) from None
    if call.get("jsonrpc") != "2.0":
        raise CallRefused(InvalidRequestError("jsonrpc must be '2.0'."), request_id)
    method = call.get("method")
    if not isinstance(method, str) or not method:
        raise CallRefused(InvalidRequestError("method must be the name of a method."), request_id)
    return RpcCall(request_id, method, call.get("params", {}))


def _parse_params(call: RpcCall) -> tuple[str, Any]:
    """Return the operation and its parameters. Raises ``MethodNotFoundError`` and ``InvalidParamsError``."""
    check_parts(call.params, is_older=call.is_older)
    if call.is_older:
        return protocol_0_3.to_parameters(call.method, call.params, call.id)
    if call.method == "ListTasks":
        check_status(call.params)
    if not isinstance(call.params, dict):
        raise InvalidParamsError("params must be an object.")
    return call.method, operations.to_parameters(call.method, call.params, "params: ")


def _make_frames(call: RpcCall, events: Any, caller: A2ACaller) -> AsyncIterator[sse.Frame]:
    def to_response(event: Any) -> dict[str, Any]:
        response = to_stream_response(event)
        shaped = protocol_0_3.to_event(response, call.id) if call.is_older else MessageToDict(response)
        return _make_result(call.id, shaped)

    def to_failure(error: Exception) -> dict[str, Any]:
        return _make_error(call.id, operations.to_a2a_error(error, caller), is_older=call.is_older)

    return operations.to_frames(events, to_response, to_failure)


def _make_result(request_id: RequestId, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": with_whole_numbers(value)}


def _make_error(request_id: RequestId, error: A2AError, *, is_older: bool) -> dict[str, Any]:
    if not is_older:
        return build_error_response(request_id, error)
    return {"jsonrpc": "2.0", "id": request_id, "error": protocol_0_3.to_error(error)}

"""The envelope of JSON-RPC 2.0 requests and responses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from a2a.utils.errors import A2AError, InvalidRequestError, JSONParseError

from baton.domain.json_values import count_values

RequestId = str | int | None
MAX_VALUES = 100_000
"""Values of a body. A parser holds the interpreter's lock until it is done, some 10 ms for so many."""


@dataclass(frozen=True, slots=True)
class Call:
    """A valid envelope; ``params`` may still be anything."""

    id: RequestId
    method: str
    params: Any


class CallRefused(Exception):
    """The body is no valid call. The response has ``id``, if it was readable."""

    def __init__(self, error: A2AError, id: RequestId = None) -> None:  # noqa: A002 - the name in JSON-RPC
        super().__init__(error.message)
        self.error = error
        self.id = id


def parse_call(body: bytes) -> Call:
    """Read a request. Raises ``CallRefused``.

    Calls without an id are answered too, with the id null: clients of A2A expect a response to every request.
    """
    try:
        call = parsed_json(body)
    except (JSONParseError, InvalidRequestError) as error:
        raise CallRefused(error) from None
    if isinstance(call, list):
        raise CallRefused(InvalidRequestError("Batches are not supported. Send one request at a time."))
    if not isinstance(call, dict):
        raise CallRefused(InvalidRequestError("The body must be a JSON object."))
    request_id = call.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int | None):
        raise CallRefused(InvalidRequestError("id must be a string, a whole number or null."))
    if not _is_text(request_id):
        raise CallRefused(InvalidRequestError("id is not text."))
    if call.get("jsonrpc") != "2.0":
        raise CallRefused(InvalidRequestError("jsonrpc must be '2.0'."), request_id)
    method = call.get("method")
    if not isinstance(method, str) or not method:
        raise CallRefused(InvalidRequestError("method must be the name of a method."), request_id)
    return Call(request_id, method, call.get("params", {}))


def parsed_json(body: bytes) -> Any:
    """Return the value of a body.

    Raises ``JSONParseError`` for what is not JSON by RFC 8259, such as NaN, and ``InvalidRequestError`` for too many
    values.
    """
    if count_values(body) > MAX_VALUES:
        raise InvalidRequestError(f"The body has more than {MAX_VALUES} values.")
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise JSONParseError("The body is not JSON.") from None


def result(request_id: RequestId, value: Any) -> dict[str, Any]:
    """Return a successful response. Whole numbers are written as such: protobuf has no integers in free-form data."""
    return {"jsonrpc": "2.0", "id": request_id, "result": with_whole_numbers(value)}


def dumped(response: dict[str, Any]) -> str:
    """Return a response as one line of JSON."""
    return json.dumps(response, ensure_ascii=False, separators=(",", ":"))


def with_whole_numbers(value: Any) -> Any:
    """Return ``value`` with integers in place of floats without a fraction."""
    if isinstance(value, dict):
        return {key: with_whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_whole_numbers(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _is_text(value: object) -> bool:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

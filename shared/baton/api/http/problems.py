"""Errors as RFC 9457 problem details, made from the same error classes as RUN_ERROR."""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Mapping
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from baton.api.http.dependencies import decode_thread_id, load_use_cases
from baton.api.http.schemas import describe
from baton.domain import errors
from baton.domain.definition import get_message
from baton.domain.errors import BatonError, Forbidden, InternalError, InvalidRequest
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope, resolve_thread_ref
from baton.domain.threads.content import write_field_path
from baton.domain.wire_model import Timestamp, WireModel
from baton.failures.reports import report_failure

PROBLEM = "application/problem+json"
"""The media type of errors."""

REQUEST_ID = re.compile(r"[\w-]{1,128}", re.ASCII)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_BY_STATUS: dict[int, type[BatonError]] = {
    400: errors.MalformedJson,
    401: errors.Unauthorized,
    403: Forbidden,
    404: errors.NotFound,
    405: errors.MethodNotAllowed,
    413: errors.MessageTooLarge,
    429: errors.RateLimited,
}
"""Errors by the status of the framework's exceptions. Other statuses below 500 are an ``InvalidRequest``."""


class ProblemField(WireModel):
    """A problem with one field."""

    field: str = describe("Names from the outside in; empty for the whole definition.", "memory.retrieved_tokens")
    message: str = Field(examples=["Input should be a valid integer"])
    line: int | None = describe("The line of the sent YAML, from 1; null for JSON.", 12)


EXAMPLE = {
    "type": "about:blank",
    "title": "Conversation not available",
    "status": 404,
    "detail": "This conversation is not available to you. Please start a new one.",
    "code": "thread_unavailable",
    "retryable": False,
    "requestId": "0b0a4f9e-7c39-4d0a-8f0e-1f7f3f6c9a55",
}


class ServedProblem(WireModel, json_schema_extra={"example": EXAMPLE}):
    """An error, as RFC 9457 problem details."""

    type: str = describe("`about:blank`: the code says what kind of problem it is.")
    title: str
    status: int
    detail: str = describe("What the caller can do.")
    code: str = describe("Stable and machine-readable; the same as in RUN_ERROR events.")
    retryable: bool = describe(
        "Whether a repeated request may succeed; after a run that ended with this error, with a new `messageId`."
    )
    request_id: str
    errors: list[ProblemField] = describe(
        "The invalid fields of a definition; left out of other problems.",
        default=[],
        validation_alias="problems",
        exclude_if=lambda errors: not errors,
    )
    person: dict[str, Any] | None = describe(
        "The person who has taken a conversation, in `desk_taken`; left out of other problems.",
        default=None,
        exclude_if=lambda person: person is None,
    )
    resets_at: Timestamp | None = describe(
        "The time at which a spending limit is reset, in `spending_limit_reached`; left out of other problems.",
        default=None,
        exclude_if=lambda time: time is None,
    )
    can_continue: bool = describe(
        "True if the user may continue by a message with `overSpending`, see `detail`; left out of other problems.",
        default=False,
        exclude_if=lambda can_continue: not can_continue,
    )


@cache
def _find_classes_by_code() -> Mapping[str, type[BatonError]]:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, BatonError)]
    # If several classes have the same code, the base class is used, because it is the last.
    return {error.code: error for error in sorted(classes, key=lambda error: -len(error.__mro__))}


def responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses for the errors of a route. ``codes`` are error codes, separated by spaces.

    Raises ``KeyError`` for an unknown code.
    """
    entries: dict[int | str, dict[str, Any]] = {}
    for error in (_find_classes_by_code()[code] for code in " ".join(codes).split()):
        entry = entries.setdefault(error.status, {"description": error.title, "content": {PROBLEM: {"examples": {}}}})
        if issubclass(error, errors.RateLimited):
            entry["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
        schema = entry["content"][PROBLEM]
        schema["schema"] = {"$ref": "#/components/schemas/Problem"}
        schema["examples"][error.code] = {"summary": error.title, "value": make_details(error(), "example-request-id")}
    return entries


def json_content(example: Any) -> dict[str, Any]:
    """Return the OpenAPI entry of a body that is a JSON object without a schema, with an example."""
    return {"content": {"application/json": {"schema": {"type": "object"}, "example": example}}}


def make_details(error: BatonError, request_id: str) -> dict[str, Any]:
    """Return the problem details of an error."""
    return ServedProblem.of(error, type="about:blank", request_id=request_id).wire()


def get_request_id(request: Request) -> str:
    """Return the request's id: the id in API Gateway's access log, or a new id without a gateway."""
    stored = getattr(request.state, "request_id", None)
    if stored is None:
        stored = read_gateway_context(request).get("requestId")
        if not isinstance(stored, str) or not REQUEST_ID.fullmatch(stored):
            stored = str(uuid.uuid4())
        request.state.request_id = stored
    return str(stored)


def read_gateway_context(request: Request) -> Mapping[str, Any]:
    """Return API Gateway's context of the request, from Mangum's event or the Lambda Web Adapter's header.

    Return an empty mapping without a gateway.
    """
    event = request.scope.get("aws.event")
    with contextlib.suppress(KeyError, TypeError, ValueError):
        context = event["requestContext"] if event else json.loads(request.headers["x-amzn-request-context"])
        if isinstance(context, dict):
            return context
    return {}


def make_response(request: Request, error: BatonError) -> JSONResponse:
    """Return the response for an error. Failures of the server and of models are counted in the metrics."""
    if error.status >= 500:
        count(Metric.REQUESTS_FAILED)
    if isinstance(error, errors.ModelError) and error.retryable and not isinstance(error, errors.SpendingRefusal):
        count(Metric.MODEL_ERRORS_ANSWERED)
    headers = {"WWW-Authenticate": getattr(request.state, "challenge", "Bearer")} if error.status == 401 else {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)  # seconds (RFC 9110, 10.2.3)
    if isinstance(error, errors.MethodNotAllowed):
        headers["Allow"] = ", ".join(_list_allowed_methods(request))  # required by RFC 9110, 15.5.6
    details = make_details(error, get_request_id(request))
    return JSONResponse(details, error.status, headers=headers, media_type=PROBLEM)


def _list_allowed_methods(request: Request) -> list[str]:
    """Return the methods that the routes of the request's path allow."""
    return [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in request.app.router.routes
        )
    ]


class RefusedBody(HTTPException):
    """An error while a body is read. It is an ``HTTPException``, because FastAPI turns other exceptions into a 400."""

    def __init__(self, error: BatonError) -> None:
        super().__init__(error.status)
        self.error = error


def convert_http_error(error: HTTPException) -> BatonError:
    """Return the error of Baton for an exception of the framework."""
    if isinstance(error, RefusedBody):
        return error.error
    is_the_callers = 400 <= error.status_code < 500
    return _BY_STATUS.get(error.status_code, InvalidRequest if is_the_callers else InternalError)()


def install(app: FastAPI) -> None:
    """Install exception handlers that answer every failure of ``app`` with problem details."""
    for kind in (BatonError, RequestValidationError, HTTPException, ClientError, BotoCoreError, Exception):
        app.add_exception_handler(kind, _answer)


async def _answer(request: Request, failure: Exception) -> JSONResponse:
    """Return the response for a failure. Audit a missing permission, and report a failure of the server."""
    match failure:
        case RequestValidationError():
            return make_response(request, convert_validation_error(failure))
        case RefusedBody():
            failure = error = failure.error
        case HTTPException():
            error = convert_http_error(failure)
        case BatonError():
            error = failure
        case _:
            error = InternalError()
    if isinstance(failure, Forbidden):
        await _record_denial(request, failure)
    if error.status >= 500:
        report_failure(failure, "request failed", request_id=get_request_id(request), path=request.url.path)
    return make_response(request, error)


async def _record_denial(request: Request, error: Forbidden) -> None:
    """Audit a missing permission."""
    scope: Scope = request.state.scope
    thread_id = None
    with contextlib.suppress(InvalidRequest):
        thread_id = resolve_thread_ref(scope, await decode_thread_id(request.path_params.get("thread_id", ""))).id
    action = error.action or f"{request.method} {request.scope['route'].path.removeprefix('/v1')}"
    detail = {"permission": error.permission}
    await (await load_use_cases(request)).ports.audit.record(
        scope, action, thread_id=thread_id, outcome="denied", detail=detail
    )


def convert_validation_error(error: RequestValidationError) -> BatonError:
    """Return the error of Baton for the first problem that FastAPI has found in a request."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return errors.MalformedJson()
    location = first["loc"][1:] if first["loc"][:1] and first["loc"][0] in ("body", "query", "path") else first["loc"]
    if not location and first["type"] in ("model_attributes_type", "model_type", "dict_type"):
        return InvalidRequest("The body must be a JSON object.")
    where = write_field_path(location)
    return InvalidRequest(f"{where}: {get_message(first)}." if where else f"{get_message(first)}.")

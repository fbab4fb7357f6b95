"""Errors of the HTTP+JSON binding: ``google.rpc.Status`` as JSON (A2A 1.0, section 11.6; AIP-193)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from baton.api.http.problems import convert_http_error, convert_validation_error, json_content
from baton.domain.errors import BatonError

DOMAIN = "baton.dev"
"""The domain of reasons that are error codes of Baton."""
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    409: "ABORTED",
    410: "FAILED_PRECONDITION",
    412: "FAILED_PRECONDITION",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The names in ``google.rpc.Code`` by HTTP status."""

Status = dict[str, Any]


class RestRoute(APIRoute):
    """A route of the binding that answers errors before the call, such as those of the token, in the binding's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler. It returns errors of Baton, of validation and of HTTP as responses."""
        handle = super().get_route_handler()

        async def handle_with_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except BatonError as error:
                return to_response(to_status(error))
            except HTTPException as error:
                return to_response(to_status(convert_http_error(error)))
            except RequestValidationError as error:
                return to_response(to_status(convert_validation_error(error)))

        return handle_with_errors


def make_status(code: int, name: str, message: str, *, reason: str, domain: str, metadata: dict[str, Any]) -> Status:
    """Return an error with one ``ErrorInfo``.

    Its ``metadata`` must be a map of strings, so booleans and integers are converted, and other values are left out.
    """
    texts = {
        key: value if isinstance(value, str) else str(value).lower()
        for key, value in metadata.items()
        if isinstance(value, str | bool | int)
    }
    details = [{"@type": ERROR_INFO, "reason": reason, "domain": domain, "metadata": texts}]
    return {"error": {"code": code, "status": name, "message": message, "details": details}}


def to_status(error: BatonError) -> Status:
    """Return an error of Baton without a counterpart in A2A, with its own HTTP status."""
    code = error.status
    metadata: dict[str, Any] = {"code": error.code, "retryable": error.retryable}
    if error.retry_after is not None:
        metadata["retryAfter"] = error.retry_after
    name = STATUSES.get(code, "INTERNAL")
    return make_status(code, name, error.detail, reason=error.code.upper(), domain=DOMAIN, metadata=metadata)


def to_response(error: Status) -> JSONResponse:
    """Return the error as a response with its HTTP status."""
    code: int = error["error"]["code"]
    headers = {"WWW-Authenticate": "Bearer"} if code == 401 else {}
    wait = error["error"]["details"][0]["metadata"].get("retryAfter")
    return JSONResponse(error, code, headers=headers if wait is None else headers | {"Retry-After": wait})


def document_errors(*classes: type[BatonError]) -> dict[int | str, dict[str, Any]]:
    """Return the entries for ``classes`` in the OpenAPI responses of a route."""
    return {cls.status: {"description": cls.title, **json_content(to_status(cls()))} for cls in classes}

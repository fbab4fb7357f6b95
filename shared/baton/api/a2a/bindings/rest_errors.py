"""Errors of the HTTP+JSON binding: ``google.rpc.Status`` as JSON (A2A 1.0, section 11.6; AIP-193)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from baton.api.http.problems import json_content, of_http
from baton.domain.errors import BatonError, MethodNotAllowed

DOMAIN = "baton.dev"
"""The domain of the reasons that are Baton's own codes."""
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The names of google.rpc.Code by HTTP status."""

Status = dict[str, Any]


class RestRoute(APIRoute):
    """A route of the binding: what is refused before the call is carried out has the binding's form too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, whose errors are responses."""
        handle = super().get_route_handler()

        async def respond(request: Request) -> Response:
            try:
                return await handle(request)
            except BatonError as error:
                return to_response(baton_status(error))
            except HTTPException as error:
                return to_response(baton_status(of_http(error)))

        return respond


def status(code: int, name: str, message: str, *, reason: str, domain: str, metadata: dict[str, Any]) -> Status:
    """Return the error. ``ErrorInfo.metadata`` is a map of strings."""
    texts = {
        key: value if isinstance(value, str) else str(value).lower()
        for key, value in metadata.items()
        if isinstance(value, str | bool | int)
    }
    details = [{"@type": ERROR_INFO, "reason": reason, "domain": domain, "metadata": texts}]
    return {"error": {"code": code, "status": name, "message": message, "details": details}}


def baton_status(error: BatonError) -> Status:
    """Return the error for one of Baton's that no error of A2A stands for, with its own HTTP status."""
    code = error.status
    about: dict[str, Any] = {"code": error.code, "retryable": error.retryable}
    if error.retry_after is not None:
        about["retryAfter"] = error.retry_after
    name = STATUSES.get(code, "INTERNAL")
    return status(code, name, error.detail, reason=error.code.upper(), domain=DOMAIN, metadata=about)


def to_response(error: Status) -> JSONResponse:
    """Return the response with the error's HTTP status."""
    code: int = error["error"]["code"]
    headers = {"WWW-Authenticate": "Bearer"} if code == 401 else {}
    wait = error["error"]["details"][0]["metadata"].get("retryAfter")
    return JSONResponse(error, code, headers=headers if wait is None else headers | {"Retry-After": wait})


def document(*classes: type[BatonError]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the errors that a route may answer with."""
    return {
        cls.status: {"description": cls.title, **json_content(baton_status(cls()))}
        for cls in classes
        if cls is not MethodNotAllowed
    }

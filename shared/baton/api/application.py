"""The FastAPI application, with an OpenAPI document that describes its errors correctly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from baton import __version__
from baton.api.a2a.access import A2AAccess
from baton.api.http import problems
from baton.api.http.addresses import DeferredRoutes, list_deferred_routes
from baton.api.http.middleware import (
    CurrentCors,
    EncodedSegments,
    Origins,
    RequestLimits,
    ResponseHeaders,
    UnbrokenLines,
    allow_any_origin,
)
from baton.api.http.problems import PROBLEM, ServedProblem, responses
from baton.api.http.schemas import Health
from baton.api.mcp.access import McpAccess
from baton.api.runs.abandoned_runs import AbandonedRuns
from baton.api.runs.sse import Timing
from baton.composition.app import App

REQUEST_HEADERS = [
    "Authorization",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "A2A-Version",
    "Mcp-Session-Id",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
]
"""The request headers that web pages may send."""

DESCRIPTION = """\
Conversations in which several AI agents take part.

Events are [AG-UI 1.0](https://docs.ag-ui.com); errors are RFC 9457 problem details with a stable `code`. Every list is
`{"items": [...], "nextCursor": null}`; times are UTC ISO-8601; absent values are `null`.
"""


def create_app(
    use_cases: Callable[[], App],
    *,
    origins: Origins = allow_any_origin,
    timing: Timing | None = None,
    a2a: A2AAccess | None = None,
    mcp: McpAccess | None = None,
) -> DescribedApi:
    """Return the HTTP API.

    ``use_cases`` is called on the event loop by each request that needs them. Its first call builds the use cases;
    later calls must not block. ``origins`` returns the origins of web pages that may call now.

    ``timing`` has the intervals and limits of streams. ``a2a`` says who may call over A2A; by default only holders of
    a token may. ``mcp`` says which web pages may call over MCP; by default those of ``origins`` may.
    """
    app = DescribedApi(
        title="Baton",
        version=__version__,
        description=DESCRIPTION,
        servers=[{"url": (a2a.public_url if a2a is not None else None) or "/"}],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        routes=list(_list_routes()),
    )
    app.state.use_cases = use_cases
    app.state.timing = timing or Timing()
    app.state.abandoned_runs = AbandonedRuns()
    app.state.a2a = a2a or A2AAccess()
    app.state.mcp = mcp or McpAccess(origins)
    problems.install(app)
    app.add_middleware(RequestLimits)
    app.add_middleware(EncodedSegments)
    app.add_middleware(
        CurrentCors,
        origins=origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=REQUEST_HEADERS,
        expose_headers=["ETag", "Mcp-Session-Id", "Retry-After", "WWW-Authenticate"],
        max_age=3600,
    )
    return app


async def check_health() -> Health:
    """Return the health of the service. It needs no token, and no other service."""
    return Health(status="ok", version=__version__)


@cache
def _list_routes() -> Sequence[BaseRoute]:
    """Return the routes for all applications in this process. The first request for a module's routes imports them."""
    return APIRoute(
        "/health", check_health, tags=["health"], summary="Whether the service answers"
    ), *list_deferred_routes()


PATH_ERRORS = {
    "{thread_id}": "thread_unavailable",
    "{agent_id}": "unknown_agent",
    "{document_id}": "unknown_document",
    "{library}": "unknown_library",
    "{source_id}": "unknown_source",
    "{procedure_id}": "unknown_procedure",
}
"""The errors of routes below ``/v1`` by the parameters in their paths."""


class DescribedApi(FastAPI):
    """A FastAPI app whose OpenAPI document describes validation errors as problem details.

    Headers are added around all middleware, so that responses to uncaught errors get them too.
    """

    @property
    def routes(self) -> list[BaseRoute]:
        """All routes, including those that no request has needed yet."""
        routes = super().routes
        return [inner for route in routes for inner in (route.routes if isinstance(route, DeferredRoutes) else [route])]

    def build_middleware_stack(self) -> ASGIApp:
        """Return the application with its middleware."""
        return ResponseHeaders(UnbrokenLines(super().build_middleware_stack()))

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 document."""
        if self.openapi_schema is None:
            self.openapi_schema = _add_problems(super().openapi())
        return self.openapi_schema


def _add_problems(document: dict[str, Any]) -> dict[str, Any]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"] = _add_errors(path, operation)
            operation.setdefault("security", [])  # states explicitly that no token is needed
    schemas = document["components"]["schemas"]
    problem = ServedProblem.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def _add_errors(path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the responses of a route, with the errors that its token, parameters and body may cause."""
    errors: list[str] = []
    if path.startswith("/v1/"):
        errors += [error for name, error in PATH_ERRORS.items() if name in path]
        if "security" in operation:
            errors.append("unauthorized token_expired rate_limited")
        if "requestBody" in operation:
            errors.append("malformed_json")
    described: dict[str, Any] = operation["responses"]
    if "parameters" in operation or "requestBody" in operation:
        errors.append("invalid_request")
    if "application/json" in described.get("422", {}).get("content", {}):
        described = {status: response for status, response in described.items() if status != "422"}
    elif not path.startswith("/v1/"):
        return described
    for status, entry in responses(*errors).items():
        own = described.get(str(status), {}).get("content", {}).get(PROBLEM, {}).get("examples", {})
        entry["content"][PROBLEM]["examples"] |= own
        described[str(status)] = entry
    return described

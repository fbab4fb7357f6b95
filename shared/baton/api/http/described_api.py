"""The application with an OpenAPI document that describes its errors correctly, and headers on every response."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from baton.api.http.addresses import DeferredRoutes
from baton.api.http.middleware import ResponseHeaders, UnbrokenLines
from baton.api.http.problems import PROBLEM, ServedProblem, responses

PATH_ERRORS = {
    "{thread_id}": "thread_unavailable",
    "{agent_id}": "unknown_agent",
    "{document_id}": "unknown_document",
    "{source_id}": "unknown_source",
    "{procedure_id}": "unknown_procedure",
}
"""The errors of routes below ``/v1`` by what their paths name."""


class DescribedApi(FastAPI):
    """A FastAPI app that describes validation errors as problem details.

    Headers are added outside of all middleware: responses to errors that nothing has caught get them too.
    """

    @property
    def routes(self) -> list[BaseRoute]:
        """All routes, with those that no request has needed yet."""
        routes = super().routes
        return [inner for route in routes for inner in (route.routes if isinstance(route, DeferredRoutes) else [route])]

    def build_middleware_stack(self) -> ASGIApp:
        """Return the application with its middleware."""
        return ResponseHeaders(UnbrokenLines(super().build_middleware_stack()))

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 document."""
        if self.openapi_schema is None:
            self.openapi_schema = _with_problems(super().openapi())
        return self.openapi_schema


def _with_problems(document: dict[str, Any]) -> dict[str, Any]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            operation["responses"] = _with_errors(path, operation)
            operation.setdefault("security", [])  # no token is needed: a document without that leaves it open
    schemas = document["components"]["schemas"]
    problem = ServedProblem.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def _with_errors(path: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return the responses of a route: its own, and the errors that its token, parameters and body may cause."""
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

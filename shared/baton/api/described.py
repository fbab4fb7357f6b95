"""The application with an OpenAPI document that describes its errors correctly, and headers on every response."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from baton.api.problems import Problem, responses
from baton.api.response_headers import ResponseHeaders
from baton.domain.errors import InvalidRequest


class DescribedApi(FastAPI):
    """Replaces FastAPI's description of validation errors by problem details.

    Headers are added outside of all middleware: responses to errors that nothing has caught get them too.
    """

    def build_middleware_stack(self) -> ASGIApp:
        """Return the application with its middleware."""
        return ResponseHeaders(super().build_middleware_stack())

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI 3.1 document."""
        if self.openapi_schema is None:
            self.openapi_schema = _with_problems(super().openapi())
        return self.openapi_schema


def _with_problems(document: dict[str, Any]) -> dict[str, Any]:
    [(status, invalid)] = responses(InvalidRequest).items()
    for operations in document["paths"].values():
        for operation in operations.values():
            described = operation["responses"].get(str(status))
            if described is not None and "application/json" in described["content"]:
                operation["responses"][str(status)] = invalid
    schemas = document["components"]["schemas"]
    problem = Problem.model_json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document

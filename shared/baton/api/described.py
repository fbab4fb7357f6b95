"""The application with an OpenAPI document that tells the truth about its errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from baton.api.problems import Problem


class DescribedApi(FastAPI):
    """FastAPI describes its own form of validation errors; ours are problems, like every other error."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI 3.1 document."""
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            schemas["Problem"] = Problem.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        return super().openapi()

"""JSON Schemas of Python types, for models and for checks of their answers."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class PlainJsonSchema(GenerateJsonSchema):
    """Schemas without patterns that providers of models and re2 refuse: those of decimals look ahead."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        found: dict[str, Any] = super().decimal_schema(schema)
        for part in found.get("anyOf", [found]):
            part.pop("pattern", None)
        return found

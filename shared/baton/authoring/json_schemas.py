"""JSON Schemas of Python types, for models and for checks of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class PlainJsonSchema(GenerateJsonSchema):
    """A generator of schemas without patterns for decimals, whose lookaheads model providers and re2 refuse."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Return the schema of a decimal without its pattern. pydantic calls this method by its name."""
        result: dict[str, Any] = super().decimal_schema(schema)
        for part in result.get("anyOf", [result]):
            part.pop("pattern", None)
        return result


def make_object_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, or a copy of a given schema.

    Raises ``ValueError``, with the reason, for a type whose JSON is not an object or that pydantic cannot describe.
    """
    if isinstance(kind, Mapping):
        return dict(kind)
    try:
        schema = TypeAdapter(kind).json_schema(schema_generator=PlainJsonSchema)
    except PydanticUserError as problem:
        raise ValueError(problem.message) from problem
    if schema.get("type") != "object" and "$ref" in schema:
        # The schema of a model that refers to itself is only a reference to its definition.
        schema = {**schema["$defs"][schema["$ref"].rpartition("/")[2]], "$defs": schema["$defs"]}
    if schema.get("type") != "object":
        name = getattr(kind, "__name__", None) or str(kind)
        raise ValueError(f"{name} is no object in JSON: name a pydantic model, a dataclass or a TypedDict")
    return schema

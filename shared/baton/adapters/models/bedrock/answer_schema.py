"""The form of a structured answer, as Converse takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from baton.adapters.models.answer_forms import STRICT_NAME
from baton.adapters.models.tool_schemas import normalised_schema

REFUSED = frozenset(
    {
        "$schema",
        "$id",
        "$comment",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "maxItems",
        "minItems",
        "contains",
        "uniqueItems",
        "patternProperties",
        "propertyNames",
    }
)
"""Keywords that are refused under a strict schema. The answer is checked against the whole schema afterwards."""
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[0-9]|\(\?P=")


def output_config(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``outputConfig`` for a JSON Schema, without what the service refuses in it."""
    strict = _strict(normalised_schema(schema, REFUSED))
    text = json.dumps(strict, ensure_ascii=False, separators=(",", ":"))
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": STRICT_NAME, "schema": text}}}}


def _strict(schema: Any) -> Any:
    """Return the schema with closed objects, and without patterns that look around or back."""
    if isinstance(schema, list):
        return [_strict(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: value if key in ("enum", "const", "default") else _strict(value) for key, value in schema.items()}
    if strict.get("type") == "object" or isinstance(strict.get("properties"), dict):
        strict["additionalProperties"] = False
    if isinstance(strict.get("pattern"), str) and _LOOKS_AROUND.search(strict["pattern"]):
        del strict["pattern"]
    return strict

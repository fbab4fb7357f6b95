"""The smallest value that is valid against a JSON Schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton.domain.json_values import find_json_object
from baton_local.demo_model.engine import Reply
from baton_local.demo_model.wire import ChatRequest

Schema = Mapping[str, Any]

MAX_DEPTH = 40
"""The deepest level of a value. A schema that requires itself has no finite value, so it ends there with null."""
LEAVES = 8
"""The level below which values are null if they may be, so that a tree of optional nodes stays small."""
MAX_ITEMS = 100
FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
WORD = "demo"


def make_instance(schema: Any, root: Schema | None = None, depth: int = 0) -> Any:
    """Return a value with the fields that the schema requires, and no others. Strings may not fit a ``pattern``.

    ``root`` is the schema that references are resolved in; None means ``schema``. ``depth`` is the level of the value.
    Returns None for a value below ``MAX_DEPTH``, for one below ``LEAVES`` that may be null, and for a schema that is a
    boolean.
    """
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return None
    root = schema if root is None else root
    schema = _resolve(schema, root, depth)
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]
    for keyword in ("enum", "examples"):
        if schema.get(keyword):
            return schema[keyword][0]
    if depth > LEAVES and _allows_null(schema):
        return None
    for keyword in ("anyOf", "oneOf"):
        if schema.get(keyword):
            rest = {name: value for name, value in schema.items() if name != keyword}
            return make_instance(_merge(rest, schema[keyword][0]), root, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    match kind if isinstance(kind, str) else kind[0]:
        case "object":
            properties = schema.get("properties", {})
            return {
                name: make_instance(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())
            }
        case "array":
            count = min(schema.get("minItems", 0), MAX_ITEMS)
            items = [*schema.get("prefixItems", ())[:count]]
            items += [schema.get("items", {})] * (count - len(items))
            return [make_instance(item, root, depth + 1) for item in items]
        case "string":
            return _make_text(schema)
        case "integer" | "number" as number:
            return _make_number(schema, is_whole=number == "integer")
        case "boolean":
            return False
    return None


def _allows_null(schema: Schema) -> bool:
    """Return whether the types of a schema, or of its alternatives, include null."""
    kinds = [schema.get("type")]
    options = [option for name in ("anyOf", "oneOf") for option in schema.get(name, ())]
    kinds += [option.get("type") for option in options if isinstance(option, Mapping)]
    return any(kind == "null" or (isinstance(kind, list) and "null" in kind) for kind in kinds)


def _resolve(schema: Schema, root: Schema, depth: int) -> Schema:
    """Return the schema with the keywords of its references and of ``allOf`` merged in."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and depth <= MAX_DEPTH:
        target = root if reference == "#" else root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        return _resolve(_merge(target, rest), root, depth + 1)
    for part in schema.get("allOf", ()):
        rest = {name: value for name, value in schema.items() if name != "allOf"}
        schema = _merge(rest, _resolve(part, root, depth + 1))
    return schema


def _merge(one: Schema, other: Any) -> Schema:
    """Return the keywords of two schemas. The keywords of ``other`` count, except that fields are joined.

    Returns ``one`` if ``other`` is a boolean.
    """
    if not isinstance(other, Mapping):
        return one
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*dict.fromkeys((*one["required"], *other["required"]))]
    return merged


def _make_text(schema: Schema) -> str:
    """Return a text of the required format or length."""
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    least: int = schema.get("minLength", 0)
    text = (WORD * max(1, math.ceil(least / len(WORD))))[: max(least, len(WORD))]
    most: int = schema.get("maxLength", len(text))
    return text[:most]


def _make_number(schema: Schema, *, is_whole: bool) -> float | int:
    """Return 0 if the limits allow it, otherwise a number within them, if possible a multiple of the step."""
    step = schema.get("multipleOf", 1)
    least = schema.get("minimum", -math.inf)
    above = schema.get("exclusiveMinimum", -math.inf)
    most = schema.get("maximum", math.inf)
    below = schema.get("exclusiveMaximum", math.inf)
    number: float = 0
    if number < least or number <= above:
        number = math.ceil(max(least, above) / step) * step
        number += step if number <= above else 0
    elif number > most or number >= below:
        number = math.floor(min(most, below) / step) * step
        number -= step if number >= below else 0
    if not is_whole and (number > most or number >= below):  # between two whole numbers
        number = (max(least, above) + min(most, below)) / 2
    return int(number) if is_whole or number == int(number) else number


def fit_to_format(reply: Reply, request: ChatRequest) -> Reply:
    """Return the reply in the format that the request asks for: unchanged if the request has no JSON Schema.

    A reply that is a JSON object stays unchanged, even if it is not valid against the schema. Any other text becomes
    the smallest valid value. Replies with calls and replies to Baton's own tasks stay unchanged.
    """
    schema = request.answer_schema
    if (
        schema is None
        or reply.calls
        or (request.metadata or {}).get("task")
        or find_json_object(reply.text) is not None
    ):
        return reply
    return replace(reply, text=json.dumps(make_instance(schema), ensure_ascii=False))

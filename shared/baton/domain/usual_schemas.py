"""JSON Schemas that are valid at a glance.

jsonschema checks a schema with the schema of schemas. Loading that and checking the shipped agents takes a twentieth of
a worker's start, and their schemas use few keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

MAX_DEPTH = 20
"""Schemas within schemas. Deeper ones are left to jsonschema."""

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def is_usual(schema: object, depth: int = 0) -> bool:
    """Return True if a schema has common keywords only and is valid; False: it may be valid too (JSON Schema 2020-12).

    Patterns are not compiled.
    """
    if isinstance(schema, bool):
        return True
    return (
        isinstance(schema, dict)
        and depth < MAX_DEPTH
        and all(name in _KEYWORDS and _KEYWORDS[name](value, depth + 1) for name, value in schema.items())
    )


def _is_text(value: object, _depth: int) -> bool:
    return isinstance(value, str)


def _is_flag(value: object, _depth: int) -> bool:
    return isinstance(value, bool)


def _is_number(value: object, _depth: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_size(value: object, _depth: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_anything(_value: object, _depth: int) -> bool:
    return True


def _is_list(value: object, _depth: int) -> bool:
    return isinstance(value, list)


def _are_names(value: object, _depth: int) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value) and len({*value}) == len(value)


def _are_types(value: object, _depth: int) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _are_names(value, _depth) and bool(value) and _TYPES.issuperset(value)  # type: ignore[arg-type]


def _are_schemas(value: object, depth: int) -> bool:
    return isinstance(value, list) and bool(value) and all(is_usual(each, depth) for each in value)


def _are_properties(value: object, depth: int) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) and is_usual(value[name], depth) for name in value)


_KEYWORDS: Mapping[str, Callable[[Any, int], bool]] = {
    "additionalProperties": is_usual,
    "allOf": _are_schemas,
    "anyOf": _are_schemas,
    "const": _is_anything,
    "default": _is_anything,
    "description": _is_text,
    "enum": _is_list,
    "examples": _is_list,
    "exclusiveMaximum": _is_number,
    "exclusiveMinimum": _is_number,
    "format": _is_text,
    "items": is_usual,
    "maxItems": _is_size,
    "maxLength": _is_size,
    "maximum": _is_number,
    "minItems": _is_size,
    "minLength": _is_size,
    "minimum": _is_number,
    "oneOf": _are_schemas,
    "properties": _are_properties,
    "readOnly": _is_flag,
    "required": _are_names,
    "title": _is_text,
    "type": _are_types,
    "uniqueItems": _is_flag,
    "writeOnly": _is_flag,
}

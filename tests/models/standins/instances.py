"""The smallest values that meet a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEPTH = 12
"""Levels after which optional parts of recursive schemas are left out."""


def instance_of(schema: Any, text: str, root: Mapping[str, Any] | None = None, depth: int = 0) -> Any:
    """Return a value that meets ``schema``, with ``text`` in each string that may be any text.

    Properties that are not required are left out, unless the object requires none.
    """
    root = root if root is not None else schema if isinstance(schema, dict) else {}
    if not isinstance(schema, dict) or depth > DEPTH:
        return text
    if "$ref" in schema:
        return instance_of(_resolve(schema["$ref"], root), text, root, depth + 1)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return instance_of(schema[choice][0], text, root, depth + 1)
    return _of_type(_type_of(schema), schema, text, root, depth)


def _type_of(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    return next((item for item in kind if item != "null"), "null") if isinstance(kind, list) else str(kind)


def _of_type(kind: str, schema: Mapping[str, Any], text: str, root: Mapping[str, Any], depth: int) -> Any:
    if kind == "object":
        properties = schema.get("properties") or {}
        names = schema.get("required") or list(properties)
        return {name: instance_of(properties.get(name, {}), text, root, depth + 1) for name in names}
    if kind == "array":
        count = int(schema.get("minItems", 0))
        return [instance_of(schema.get("items", {}), text, root, depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1 if "exclusiveMinimum" in schema else 1)
    if kind == "boolean":
        return True
    return None if kind == "null" else _text(schema, text)


def _text(schema: Mapping[str, Any], text: str) -> str:
    formats = {"date": "2026-11-25", "date-time": "2026-11-25T12:00:00Z", "email": "ada@example.com"}
    if schema.get("format") in formats:
        return formats[schema["format"]]
    fitting = text[: schema.get("maxLength", len(text))]
    return fitting.ljust(int(schema.get("minLength", 0)), "x")


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    value: Any = root
    for name in reference.removeprefix("#").strip("/").split("/"):
        if name:
            value = value.get(name, {}) if isinstance(value, dict) else {}
    return value

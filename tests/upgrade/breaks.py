"""Values that a release writes and the one before it cannot read, from the JSON Schemas of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

Schema = Mapping[str, Any]

EXACT = ("type", "format", "pattern", "multipleOf")
"""Keywords that a reader checks: a writer with another value may write what it refuses."""
LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
VALUE_RULES = frozenset({*EXACT, *LOWER_BOUNDS, *UPPER_BOUNDS, "const", "enum"})
BODY = "body of "
"""The beginning of names of items' bodies. A release does not look for items that it does not know."""


def find_breaks(older: Mapping[str, Schema], newer: Mapping[str, Schema]) -> list[str]:
    """Return a line for each value that ``newer`` may write and ``older`` cannot read. Both are by name."""
    breaks = [f"{name}: it is no longer written" for name in older.keys() - newer.keys()]
    breaks += [f"{name}: it is new" for name in newer.keys() - older.keys() if not name.startswith(BODY)]
    for name in older.keys() & newer.keys():
        breaks += _compare(name, older[name], newer[name], older[name], newer[name], frozenset())
    return sorted(set(breaks))


def _compare(
    path: str, older: Schema, newer: Schema, older_root: Schema, newer_root: Schema, seen: frozenset[tuple[str, str]]
) -> Iterator[str]:
    pair = (older.get("$ref", ""), newer.get("$ref", ""))
    if any(pair):
        if pair in seen:
            return
        seen |= {pair}
    older, newer = _resolve(older, older_root), _resolve(newer, newer_root)
    later_values = _list_values(newer)
    if later_values is not None:
        yield from (f"{path}: the value {value!r} is new" for value in later_values if not _is_readable(value, older))
    else:
        yield from _compare_rules(path, older, newer)
    branches = newer.get("anyOf", newer.get("oneOf", [newer]))
    choices = older.get("anyOf", older.get("oneOf"))
    if choices is not None:
        for branch in branches:
            tried = [list(_compare(path, choice, branch, older_root, newer_root, seen)) for choice in choices]
            yield from min(tried, key=len)
        return
    if len(branches) > 1:
        yield f"{path}: it has other kinds of values"
        return
    fields, later = older.get("properties", {}), newer.get("properties", {})
    for name in older.get("required", []):
        if name not in newer.get("required", []):
            yield f"{path}.{name}: it may be left out"
    if older.get("additionalProperties") is False:
        yield from (f"{path}.{name}: it is new" for name in later.keys() - fields.keys())
    for name in fields.keys() & later.keys():
        yield from _compare(f"{path}.{name}", fields[name], later[name], older_root, newer_root, seen)
    if older.get("additionalProperties") is False and newer.get("additionalProperties", False) is not False:
        yield f"{path}: it may have any further field"
    for keyword in ("items", "additionalProperties"):
        is_left_out = newer.get(keyword, keyword == "items" and newer.get("type") == "array") is True
        if isinstance(older.get(keyword), Mapping) and is_left_out:
            yield f"{path}: it may have any {keyword}"
        if isinstance(older.get(keyword), Mapping) and isinstance(newer.get(keyword), Mapping):
            yield from _compare(f"{path}[]", older[keyword], newer[keyword], older_root, newer_root, seen)


def _list_values(schema: Schema) -> list[Any] | None:
    """Return the only values that a schema allows; None if it allows others."""
    if "const" in schema:
        return [schema["const"]]
    values: list[Any] | None = schema.get("enum")
    return values


def _is_readable(value: Any, schema: Schema) -> bool:
    """Return whether a reader with this schema accepts a value of an enumeration. References are not followed."""
    rules = {keyword: schema[keyword] for keyword in schema.keys() & VALUE_RULES}
    return bool(Draft202012Validator(rules).is_valid(value))


def _compare_rules(path: str, older: Schema, newer: Schema) -> Iterator[str]:
    """Yield a line for each rule about single values that is stricter in ``older``."""
    for keyword in EXACT:
        if keyword in older and older[keyword] != newer.get(keyword):
            yield f"{path}: {keyword} was {older[keyword]} and is {newer.get(keyword)}"
    for keyword in LOWER_BOUNDS:
        if keyword in older and newer.get(keyword, -math.inf) < older[keyword]:
            yield f"{path}: {keyword} was {older[keyword]} and is {newer.get(keyword)}"
    for keyword in UPPER_BOUNDS:
        if keyword in older and newer.get(keyword, math.inf) > older[keyword]:
            yield f"{path}: {keyword} was {older[keyword]} and is {newer.get(keyword)}"
    if _list_values(older) is not None and "anyOf" not in newer and "oneOf" not in newer:
        yield f"{path}: it may have any value"


def _resolve(schema: Schema, root: Schema) -> Schema:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return schema

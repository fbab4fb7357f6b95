"""A schema that is valid at a glance is valid for jsonschema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from baton.domain.usual_schemas import MAX_DEPTH, is_usual

NAMES = [
    "type",
    "properties",
    "required",
    "enum",
    "items",
    "minLength",
    "maximum",
    "anyOf",
    "description",
    "uniqueItems",
]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["string", "object", "a", 0, 1, -1, 2.5, True, False, None, [], {}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "a"]), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*NAMES, "$ref", "pattern"]), VALUES, max_size=4))
def test_a_usual_schema_is_valid(schema: dict[str, Any]) -> None:
    if is_usual(schema):
        Draft202012Validator.check_schema(schema)


def test_schemas_of_tools_are_usual() -> None:
    city = {"type": "string", "description": "The city.", "minLength": 1, "enum": ["Bonn", "Ulm"]}
    days = {"type": ["array", "null"], "items": {"type": "integer", "minimum": 1.5}, "uniqueItems": True, "default": []}
    place = {"anyOf": [city, {"type": "object", "additionalProperties": False}]}
    properties = {"city": city, "days": days, "place": place, "type": True}
    assert is_usual({"type": "object", "properties": properties, "required": ["city", "days"]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "text"},
        {"type": []},
        {"type": ["string", "string"]},
        {"required": "city"},
        {"required": ["a", "a"]},
        {"required": [1]},
        {"properties": []},
        {"properties": {"a": {"type": "text"}}},
        {"items": [{}]},
        {"minLength": -1},
        {"minLength": True},
        {"maximum": "3"},
        {"anyOf": []},
        {"enum": "a"},
        {"uniqueItems": 1},
        {"description": None},
    ],
)
def test_an_invalid_schema_is_not_usual(wrong: dict[str, Any]) -> None:
    assert not Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(wrong)
    assert not is_usual({"type": "object", "properties": {"field": wrong}})


def test_a_deep_schema_is_left_to_jsonschema() -> None:
    schema: dict[str, Any] = {}
    for _ in range(MAX_DEPTH * 100):
        schema = {"items": schema}
    assert not is_usual(schema)

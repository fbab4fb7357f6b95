"""The form of JSON Schemas: what the schema of schemas says, in a time that is linear in the schema's size."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator, SchemaError

from baton.domain.schemas.schema_form import (
    MAX_DEPTH,
    MAX_PATTERN,
    MAX_SUBSCHEMAS,
    SchemaProblem,
    check_declared,
    check_form,
    walk_subschemas,
)

KEYWORDS = st.sampled_from(
    sorted({*Draft202012Validator.VALIDATORS, "$defs", "definitions", "title", "readOnly", "if"})
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["string", "object", "a", 0, 1, -1, 2.5, 2.0, True, False, None, [], {}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS | st.just("a"), inner, max_size=3),
    max_leaves=8,
)
REFERENCES = ("$ref", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$schema")
SCHEMAS = st.dictionaries(KEYWORDS.filter(lambda name: name not in REFERENCES), VALUES, min_size=1, max_size=3)


def is_valid(validator: Any, schema: Any) -> bool:
    try:
        validator.check_schema(schema, format_checker=None)
    except SchemaError:
        return False
    return True


def has_form(schema: Any) -> bool:
    try:
        check_form(schema)
    except SchemaProblem:
        return False
    return True


@given(SCHEMAS)
def test_a_schema_has_its_form_if_the_schema_of_schemas_says_so(schema: dict[str, Any]) -> None:
    assert has_form(schema) is is_valid(Draft202012Validator, schema)


@given(SCHEMAS.filter(lambda schema: "dependentRequired" not in str(schema) and "Contains" not in str(schema)))
def test_what_the_schema_of_an_older_draft_allows_has_the_form(schema: dict[str, Any]) -> None:
    existing = {name: value for name, value in schema.items() if name in Draft7Validator.VALIDATORS}
    if is_valid(Draft7Validator, existing) and "definitions" not in str(schema) and "$defs" not in str(schema):
        nested = [name for name in subschema_names(existing) if name not in Draft7Validator.VALIDATORS]
        assert nested or has_form({"$schema": "http://json-schema.org/draft-07/schema#", **existing})


def subschema_names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value}.union(*map(subschema_names, value.values()))
    return set().union(*map(subschema_names, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "text"}, "at type: 'text' is not a type of JSON"),
        ({"properties": {"a": {"items": {"minLength": -1}}}}, "at properties/a/items/minLength: -1 is not a whole"),
        ({"allOf": [{}, {"required": ["a", "a"]}]}, "at allOf/1/required: a list is not a list of different strings"),
        ({"items": [{}]}, "at items: a list is not a schema"),
        ({"not": 3}, "at not: 3 is not a schema"),
        ({"properties": {"a": []}}, "at properties/a: a schema must be"),
        ({"definitions": {"a": [1]}}, "at definitions/a: a schema must be"),
        ({"anyOf": []}, "at anyOf: a list without content is not a list of schemas"),
        ({"dependencies": {"a": 3}}, "at dependencies/a: a schema must be"),
        ({"$recursiveRef": 5}, r"at \$recursiveRef: 5 is not a string"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "drafts before 4"),
        ({"$schema": "http://json-schema.org/draft-02/schema#"}, "drafts before 4"),
        ([], "a schema must be an object"),
    ],
)
def test_the_problem_and_its_place_are_named(schema: Any, problem: str) -> None:
    with pytest.raises(SchemaProblem, match=problem):
        check_form(schema)


def nest(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "limit"),
    [
        ({"allOf": [{}] * MAX_SUBSCHEMAS}, "more than 1,000 subschemas"),
        ({"properties": {f"p{number}": {"anyOf": [{}, {}]} for number in range(400)}}, "more than 1,000 subschemas"),
        ({"items": {"pattern": "a" * (MAX_PATTERN + 1)}}, "at items: a pattern has at most 1,000 characters"),
        ({"patternProperties": {"a" * (MAX_PATTERN + 1): {}}}, "a pattern has at most 1,000 characters"),
        (nest(MAX_DEPTH), "more than 100 schemas deep"),
        (nest(MAX_DEPTH * 100), "more than 100 schemas deep"),
        ({"default": date(2026, 1, 1)}, "JSON values only: no binary data or infinite numbers, and dates in quotes"),
        ({"enum": [float("inf")]}, "JSON values only"),
    ],
)
def test_a_declared_schema_beyond_a_limit_is_refused_by_its_name(schema: Any, limit: str) -> None:
    with pytest.raises(SchemaProblem, match=limit):
        check_declared(schema)


def test_a_declared_schema_at_the_limits_is_taken() -> None:
    check_declared({"allOf": [{}] * (MAX_SUBSCHEMAS - 2), "items": {"pattern": "a" * MAX_PATTERN}})
    check_declared(nest(MAX_DEPTH - 1))


def test_values_and_names_of_authors_are_no_schemas() -> None:
    values = {"enum": [{"type": 3}], "const": {"not": 4}, "default": {"items": 5}}
    schema = {**values, "properties": {"type": {}, "not": True}}
    assert list(walk_subschemas(schema)) == [schema, {}]

"""The rules for answer schemas of agents, and the messages about answers that do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.answer_schema import MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH, MAX_VIOLATIONS, find_violations

INVOICE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {"type": "number", "minimum": 0},
        "currency": {"enum": ["EUR", "CHF"]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "payer": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
        "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["total", "lines"],
    "additionalProperties": False,
    "$defs": {
        "Line": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "Person": {"type": "object", "properties": {"name": {"pattern": "^[A-Z]"}}, "required": ["name"]},
    },
}


class Leaf(BaseModel):
    colour: str
    size: int | None = None


class Tree(BaseModel):
    leaves: list[Leaf]
    by_name: dict[str, Leaf] = {}
    trees: list[Tree] = []


def agent(**fields: Any) -> AgentDefinition:
    return AgentDefinition.model_validate({"id": "a", "name": "A", "description": "A.", "system_prompt": "A."} | fields)


def problem(schema: Any) -> str:
    with pytest.raises(ValidationError) as refusal:
        agent(answer_schema=schema)
    [error] = refusal.value.errors()
    assert error["loc"] == ("answer_schema",)
    return error["msg"]


def nest(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_an_agent_has_no_schema_unless_it_declares_one() -> None:
    assert agent().answer_schema is None
    assert agent(answer_schema=INVOICE).answer_schema == INVOICE


def test_the_schema_of_a_pydantic_model_can_be_used() -> None:
    schema = {**Tree.model_json_schema(), "type": "object"}
    assert agent(answer_schema=schema).answer_schema == schema
    assert not find_violations(schema, {"leaves": [{"colour": "red"}], "trees": [{"leaves": []}]})
    assert find_violations(schema, {"leaves": [], "trees": [{"leaves": [{}]}]}) == ["`trees/0/leaves/0` lacks `colour`"]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({}, "of type object"),
        ({"type": "string"}, "of type object"),
        ({"type": ["object", "null"]}, "of type object"),
        ("object", "valid dictionary"),
        ({"type": "object", "properties": {"a": {"type": "nonsense"}}}, "no JSON Schema at properties/a/type"),
        ({"type": "object", "properties": []}, "no JSON Schema at properties"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "draft 2020-12"),
        ({"type": "object", "$ref": "https://example.com/schema.json"}, "must be '#' or"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/Unknown"}}}, "must be '#' or"),
        ({"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {}}}, "must be '#' or"),
        ({"type": "object", "$ref": "#"}, "in a circle"),
        ({"type": "object", "allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"$ref": "#/$defs/A"}}}, "in a circle"),
        ({"type": "object", "$id": "https://example.com/"}, "must not use \\$id"),
        ({"type": "object", "patternProperties": {"^a": {}}}, "must not use patternProperties"),
        ({"type": "object", "properties": {"a": {"unevaluatedProperties": False}}}, "must not use unevaluated"),
        ({"type": "object", "properties": {"a": {"pattern": "(?=x)"}}}, "lookahead"),
        ({"type": "object", "default": float("nan")}, "JSON values only"),
        ({"type": "object", "default": {1, 2}}, "JSON values only"),
        ({"type": "object", "description": "é" * (MAX_SCHEMA_BYTES // 2)}, "bytes as JSON"),
        (nest(MAX_SCHEMA_DEPTH // 2), "levels deep"),
    ],
)
def test_a_schema_by_which_answers_cannot_be_checked_is_refused(schema: Any, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        agent(answer_schema=schema)


def test_references_that_multiply_without_end_are_refused() -> None:
    twice = {f"A{n}": {"allOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(40)}
    schema = {"type": "object", "$ref": "#/$defs/A0", "$defs": {**twice, "A40": {}}}
    assert "multiply" in problem(schema)


def test_names_of_properties_are_no_keywords() -> None:
    names = {name: {"type": "string"} for name in ("$id", "$ref", "patternProperties", "pattern")}
    assert agent(answer_schema={"type": "object", "properties": names})


def test_a_schema_nearly_as_deep_as_allowed_is_taken() -> None:
    assert agent(answer_schema=nest(MAX_SCHEMA_DEPTH // 2 - 1))


def test_a_remote_agent_has_no_schema() -> None:
    remote = {"card_url": "https://a.example.com"}
    with pytest.raises(ValidationError, match="leave `answer_schema` out"):
        agent(remote=remote, answer_schema=INVOICE)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"total": 1, "lines": []}, []),
        ({"total": 1, "lines": [], "payer": None}, []),
        ({"lines": []}, ["it lacks `total`"]),
        ({}, ["it lacks `total`, `lines`"]),
        ({"total": "12", "lines": []}, ["`total` must be of type number"]),
        ({"total": -1, "lines": []}, ["`total` does not fit minimum 0"]),
        ({"total": 1, "lines": [{"text": "a"}, {"text": 2}]}, ["`lines/1/text` must be of type string"]),
        ({"total": 1, "lines": [], "currency": "USD"}, ['`currency` does not fit enum ["EUR", "CHF"]']),
        ({"total": 1, "lines": [], "payer": "Ada"}, ["`payer` must be of type object or null"]),
        ({"total": 1, "lines": [], "payer": {}}, ["`payer` lacks `name`"]),
        ({"total": 1, "lines": [], "payer": {"name": "ada"}}, ['`payer/name` does not fit pattern "^[A-Z]"']),
        ({"total": 1, "lines": [], "Ada": 1}, ["it has a property that the schema does not name"]),
        ({"total": 1, "lines": [], "extra": {"Ada": "x"}}, ["`extra/*` must be of type integer"]),
        ([], ["it must be of type object"]),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_in_words_of_the_schema(answer: Any, expected: list[str]) -> None:
    assert list(find_violations(INVOICE, answer)) == expected


def test_a_few_violations_are_named() -> None:
    answer = {"total": 1, "lines": [{}] * 50}
    assert len(find_violations(INVOICE, answer)) == MAX_VIOLATIONS


SECRET = "Ada-Lovelace"


@given(
    st.recursive(
        st.sampled_from([SECRET, 7_777_777, None, True]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["total", "lines", "payer", "name", "extra", SECRET]), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_nothing_of_an_answer_is_quoted(answer: Any) -> None:
    reported = json.dumps(list(find_violations(INVOICE, answer)))
    assert SECRET not in reported
    assert "7777777" not in reported

"""Schemas of tools come from anybody, and every request holds them: none of them may fail it or swell it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.tool_schemas import MAX_INLINED, is_strict, make_model_tools
from baton.ports.agents.chat_model import ToolSpec

KEEPS = ModelProfile()
INLINES = replace(KEEPS, inlines_refs=True)
TEXT = {"type": "string"}


def offer(schema: dict[str, Any], profile: ModelProfile = KEEPS) -> dict[str, Any]:
    return make_model_tools([ToolSpec("tool", "Does it.", schema)], profile).tools[0].parameters


@pytest.mark.parametrize("profile", [KEEPS, INLINES])
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}}},
        {"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"properties": {"x": TEXT}, "required": ["x"]}}},
        {"allOf": [{"allOf": [{"properties": {"x": TEXT}, "required": ["x", "x", 5]}]}]},
    ],
)
def test_references_and_combinations_at_the_top_become_properties(
    schema: dict[str, Any], profile: ModelProfile
) -> None:
    result = offer(schema, profile)
    assert (result["type"], result["properties"], result["required"]) == ("object", {"x": TEXT}, ["x"])
    assert not result.keys() & {"$ref", "allOf"}


@pytest.mark.parametrize(
    "schema",
    [
        {"required": True, "allOf": [{"required": None}]},
        {"required": [{"a": 1}], "allOf": [{"required": [{}]}]},
        {"properties": ["a"], "$defs": ["a"], "anyOf": {"a": 1}, "oneOf": [None, 5, "x"]},
        {"type": ["object", "null"], "required": [], "$ref": 5},
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"$ref": "https://schemas.test/other.json#/$defs/A", "$defs": {"A": {"properties": {"x": TEXT}}}},
    ],
)
@pytest.mark.parametrize("profile", [KEEPS, INLINES])
def test_an_odd_schema_is_one_without_properties(schema: dict[str, Any], profile: ModelProfile) -> None:
    result = offer(schema, profile)
    assert {key: result[key] for key in result.keys() - {"$defs"}} == {"type": "object", "properties": {}}


def test_a_reference_is_looked_up_by_its_place_in_the_same_schema() -> None:
    schema = {
        "properties": {
            "a": TEXT,
            "same": {"$ref": "#/properties/a"},
            "escaped": {"$ref": "#/$defs/a~1b%20c"},
            "outside": {"$ref": "other.json#/$defs/A", "description": "Else."},
        },
        "$defs": {"a/b c": {"type": "integer"}, "A": TEXT},
    }
    assert offer(schema, INLINES)["properties"] == {
        "a": TEXT,
        "same": TEXT,
        "escaped": {"type": "integer"},
        "outside": {"description": "Else."},
    }


def test_a_reference_may_lead_through_lists_and_many_levels() -> None:
    deep: dict[str, Any] = {"const": 1}
    for _ in range(10):
        deep = {"properties": {"x": deep}}
    schema = {
        "properties": {
            "a": {"anyOf": [{"type": "null"}, TEXT]},
            "second": {"$ref": "#/properties/a/anyOf/1"},
            "missing": {"$ref": "#/properties/a/anyOf/2"},
            "named": {"$ref": "#/properties/a/anyOf/x"},
            "deep": deep,
            "deepest": {"$ref": f"#/properties/deep{'/properties/x' * 10}"},
            "too_long": {"$ref": f"#{'/properties/deep' * 100}"},
        }
    }
    result = offer(schema, INLINES)["properties"]
    assert {name: result[name] for name in schema["properties"] if name not in ("a", "deep")} == {
        "second": TEXT,
        "missing": {},
        "named": {},
        "deepest": {"const": 1},
        "too_long": {},
    }


def test_schemas_that_refer_to_themselves_stay_small() -> None:
    node = {"properties": {name: {"$ref": "#/$defs/N"} for name in "abcdefgh"}}
    assert len(json.dumps(offer({"properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}, INLINES))) < 5_000
    many = {
        f"D{at}": {"properties": {f"p{index}": {"$ref": f"#/$defs/D{index}"} for index in range(12)}}
        for at in range(12)
    }
    result = json.dumps(offer({"properties": {"n": {"$ref": "#/$defs/D0"}}, "$defs": many}, INLINES))
    assert result.count("{") < 2 * MAX_INLINED
    branches = {"anyOf": [{"$ref": "#/$defs/A"}] * 30}
    assert offer({**branches, "$defs": {"A": branches}}, INLINES) == {"type": "object", "properties": {}}


def test_properties_may_have_the_names_of_keywords() -> None:
    names = ("$schema", "$ref", "$defs", "properties", "const", "anyOf", "not", "additionalProperties", "required")
    profile = replace(INLINES, dropped_keywords=frozenset({"const", "not", "additionalProperties", "$schema"}))
    result = offer({"properties": {name: {**TEXT, "const": "x"} for name in names}}, profile)
    assert result["properties"] == dict.fromkeys(names, TEXT)


def test_what_no_request_can_hold_is_left_out() -> None:
    schema = {
        "properties": {
            "n": {"minimum": float("nan"), "enum": [1, float("inf")], "default": [[float("inf"), 2]]},
            "\ud83d": {"description": "Half \ud83d."},
        }
    }
    tool = make_model_tools([ToolSpec("tool", "Half \ud83d.", schema)], KEEPS).tools[0]
    sent = json.dumps([tool.description, tool.parameters], ensure_ascii=False, allow_nan=False).encode()
    assert json.loads(sent)[1]["properties"] == {
        "n": {"enum": [1], "default": [[2]]},
        "\ufffd": {"description": "Half \ufffd."},
    }


@pytest.mark.parametrize("number", [1, float("nan")])
def test_a_schema_that_is_too_deep_for_a_request_allows_any_object(number: float) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep}
    schema = {"properties": {"a": {"const": number}, "b": {"default": deep}}}
    assert offer(schema, KEEPS) == {"type": "object", "properties": {}}


@pytest.mark.parametrize("required", [True, 5, [{}], None])
def test_a_schema_with_an_odd_list_of_required_properties_is_not_strict(required: Any) -> None:
    inner = {"properties": {"x": TEXT}, "required": required, "additionalProperties": False}
    assert not is_strict({"properties": {"inner": inner}, "required": ["inner"], "additionalProperties": False})

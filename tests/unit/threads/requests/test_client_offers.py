"""Tools that a browser may offer: bounded, printable, and never under the names of Baton's own tools."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.errors import InvalidRequest, MessageTooLarge
from baton.domain.threads.turn_requests import ClientOffer
from baton.threads.requests.parsing import MAX_CONTEXT, MAX_TOOLS, parse_client_offer, parse_interrupt_decision
from tests.unit.domain.strategies import json_values

CALL = "0" * 32 + "_abcdefg"


def tool(**fields: Any) -> dict[str, Any]:
    """A tool as a client sends it."""
    return {"name": "paint", "description": "Paints.", "parameters": {"type": "object", "properties": {}}} | fields


@pytest.mark.parametrize("nothing", [None, []])
async def test_nothing_is_no_offer(nothing: Any) -> None:
    assert parse_client_offer(nothing, nothing) is None


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        {"properties": {"a": {"type": "string"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"items": [{}]}}},
        {"type": "object", "$defs": {"a/b": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}}},
        {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False},
    ],
)
async def test_schemas_as_libraries_make_them_are_taken(parameters: Any) -> None:
    offer = parse_client_offer([tool(parameters=parameters)], None)
    assert offer is not None
    assert offer.tools[0].parameters["type"] == "object"


def make_nested_schema(levels: int) -> dict[str, Any]:
    """Return a schema of nested objects."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": None},
        {"name": "a b"},
        {"name": "a" * 65},
        {"name": "ask_research"},
        {"name": "transfer_to_admin"},
        {"name": "return_to_main"},
        {"name": "advance_workflow"},
        {"name": "end_conversation"},
        {"description": 3},
        {"description": "x" * 4_001},
        {"parameters": []},
        {"parameters": {"type": "string"}},
        {"parameters": {"type": "object", "properties": 3}},
        {"parameters": {"type": "object", "$schema": {}}},
        {"parameters": {"type": "object", "$ref": "https://example.com/schema.json"}},
        {"parameters": {"type": "object", "$ref": "#/$defs/missing"}},
        {"parameters": {"type": "object", "properties": {"a": {"$ref": "other.json#/a"}}}},
        {"parameters": make_nested_schema(40)},
        {"parameters": {"type": "object", "properties": {f"p{n}": {} for n in range(3_000)}}},
        {"parameters": {"type": "object", "default": float("nan")}},
        {"parameters": {"type": "object", "description": "\ud800"}},
    ],
)
async def test_a_tool_that_is_not_usable_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="tools"):
        parse_client_offer([tool(**fields)], None)


async def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="two tools"):
        parse_client_offer([tool(), tool()], None)


@pytest.mark.parametrize(
    ("tools", "context"),
    [
        ([tool(name=f"t{n}") for n in range(MAX_TOOLS + 1)], None),
        ("paint", None),
        (["paint"], None),
        (None, [{"description": "a", "value": "b"}] * (MAX_CONTEXT + 1)),
        (None, [{"description": "a"}]),
        (None, [{"value": "a"}]),
        (None, [{"description": "a" * 1_001, "value": "b"}]),
    ],
)
async def test_lists_are_bounded_and_of_the_right_shape(tools: Any, context: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_client_offer(tools, context)


async def test_more_than_64_kb_are_refused() -> None:
    with pytest.raises(MessageTooLarge):
        parse_client_offer([tool(name=f"t{n}", description="x" * 3_900) for n in range(20)], None)
    with pytest.raises(MessageTooLarge):
        parse_client_offer(None, [{"description": "a", "value": "\u00e4" * 40_000}])


async def test_what_cannot_be_printed_becomes_a_space() -> None:
    offer = parse_client_offer([tool(description="a\x00b\u202ec\nd")], [{"description": "\ud800", "value": "\u2028x"}])
    assert offer is not None
    assert offer.tools[0].description == "a b c\nd"
    assert (offer.context[0].description, offer.context[0].value) == ("", "x")


@given(st.lists(st.dictionaries(st.sampled_from(["name", "description", "parameters"]), json_values), max_size=3))
async def test_anything_is_taken_or_refused_with_a_typed_error(tools: list[dict[str, Any]]) -> None:
    try:
        offer = parse_client_offer(tools, None)
    except (InvalidRequest, MessageTooLarge):
        return
    assert offer is None or isinstance(offer, ClientOffer)


@pytest.mark.parametrize("payload", [None, "", "text", 3, True, [1, {"a": None}], {"approved": "maybe"}])
def test_any_json_is_the_result_of_a_clients_tool(payload: Any) -> None:
    assert parse_interrupt_decision(CALL, "resolved", payload, "ada").payload == payload


@pytest.mark.parametrize("payload", [float("inf"), "\ud800", [[]] * 3_000, make_nested_schema(40)])
def test_a_result_that_cannot_be_kept_is_refused(payload: Any) -> None:
    with pytest.raises(InvalidRequest):
        parse_interrupt_decision(CALL, "resolved", payload, "ada")


def test_a_result_over_32_kb_is_refused() -> None:
    with pytest.raises(MessageTooLarge):
        parse_interrupt_decision(CALL, "resolved", "x" * 40_000, "ada")

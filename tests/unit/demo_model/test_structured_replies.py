"""The demo model answers requests that ask for JSON by a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from baton.domain.agents.answer_schema import check_answer_schema, find_violations
from baton_local.demo_model.engine import Call, Reply
from baton_local.demo_model.schema_instance import fit_to_format, make_instance
from baton_local.demo_model.wire import ChatRequest
from tests.unit.demo_model.playing import ask, engine

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCRIPT = """
scenes:
  message:
    - says: oslo
      say: '{"city": "Oslo"}'
    - says: nowhere
      say: '{"city": null}'
    - say: I do not know.
"""


def request(schema: Any = SCHEMA, **fields: Any) -> ChatRequest:
    response_format = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    messages = [{"role": "user", "content": "Where?"}]
    return ChatRequest.model_validate({"model": "m", "messages": messages, "response_format": response_format} | fields)


@pytest.mark.parametrize(
    ("message", "answer"),
    [("Oslo", '{"city": "Oslo"}'), ("Nowhere", '{"city": null}'), ("Where?", '{"city": "demo"}')],
    ids=["JSON of the script", "JSON that does not fit", "no JSON"],
)
def test_the_script_says_json_or_the_smallest_valid_value_is_made(tmp_path: Path, message: str, answer: str) -> None:
    assert fit_to_format(ask(engine(tmp_path, SCRIPT), message), request()).text == answer


def test_without_a_rule_a_value_is_made_too() -> None:
    assert fit_to_format(Reply(""), request()).text == '{"city": "demo"}'


@pytest.mark.parametrize(
    ("reply", "chat_request"),
    [
        (Reply("Hello."), request(response_format=None)),
        (Reply("Hello."), request(response_format={"type": "json_object"})),
        (Reply("Let me see.", (Call("weather", {}),)), request()),
        (Reply("nothing"), request(metadata={"task": "episode_facts"})),
    ],
    ids=["text is asked for", "any JSON", "calls", "a task of Baton's own"],
)
def test_other_replies_stay_as_they_are(reply: Reply, chat_request: ChatRequest) -> None:
    assert fit_to_format(reply, chat_request) == reply


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"type": "string"}, "demo"),
        ({"type": "string", "minLength": 6}, "demode"),
        ({"type": "string", "maxLength": 2}, "de"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "pattern": "^a", "examples": ["ab"]}, "ab"),
        ({"enum": ["red", "blue"]}, "red"),
        ({"const": 7}, 7),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 3, "multipleOf": 2}, 4),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": ["string", "null"]}, "demo"),
        ({"type": "array", "items": {"type": "integer"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 0),
        ({"allOf": [{"type": "integer"}, {"minimum": 5}]}, 5),
        ({"$ref": "#/$defs/Place"}, {"city": "demo"}),
        ({"$ref": "#/$defs/Tree"}, {"children": []}),
    ],
    ids=lambda schema: json.dumps(schema)[:60],
)
def test_the_value_fits_its_schema_and_has_what_is_required(fields: dict[str, Any], value: Any) -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    schema = check_answer_schema(
        {
            "type": "object",
            "properties": {"a": fields, "b": {"type": "string"}},
            "required": ["a"],
            "$defs": {"Place": SCHEMA, "Tree": {**tree, "required": ["children"]}},
        }
    )
    assert make_instance(schema) == {"a": value}
    assert not find_violations(schema, make_instance(schema))


@pytest.mark.parametrize("child", [{"anyOf": [{"$ref": "#"}, {"type": "null"}]}, {"$ref": "#"}])
def test_a_tree_whose_nodes_may_be_missing_is_small(child: dict[str, Any]) -> None:
    kind = "object" if "anyOf" in child else ["object", "null"]
    tree = {"type": kind, "properties": {"left": child, "right": child}, "required": ["left", "right"]}
    value = make_instance(tree)
    assert not find_violations(tree, value)
    assert len(json.dumps(value)) < 20_000


def test_a_schema_that_requires_itself_has_an_end() -> None:
    endless = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    assert find_violations(endless, make_instance(endless))

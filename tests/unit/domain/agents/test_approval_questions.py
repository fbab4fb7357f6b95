"""Questions for approvals in definitions of tools: their placeholders, and what is refused when they are loaded."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from baton.domain.agents.approval_question import MAX_QUESTION, fill_question
from baton.domain.agents.tool import ToolDefinition
from baton.domain.schemas.argument_schema import ArgumentSchema

PARAMETERS = {
    "type": "object",
    "properties": {
        "days": {"type": "integer"},
        "kind": {"type": "string"},
        "customer": {"type": "object", "properties": {"name": {"type": "string"}}},
        "rooms": {"type": "array", "items": {"type": "object", "properties": {"beds": {"type": "integer"}}}},
    },
}
TOOL: TypeAdapter[Any] = TypeAdapter(ToolDefinition)


def tool(**fields: Any) -> Any:
    """An HTTP tool whose calls need approval."""
    book = {"type": "http", "name": "book", "description": "Books.", "url": "https://shop.example/book"}
    return TOOL.validate_python(book | {"parameters": PARAMETERS, "requires_approval": True} | fields)


@pytest.mark.parametrize("asks", ["Book it?", "Book {days} days[ of {kind}]?", "For {customer.name}?", "  Book it?  "])
def test_a_question_names_arguments_and_fields_of_objects(asks: str) -> None:
    assert tool(asks=asks).asks == asks.strip()


@pytest.mark.parametrize(
    ("asks", "reason"),
    [
        ("Book {dais} days?", "{dais}, which is no argument of the tool (did you mean days?)"),
        ("Book {colour}?", "available: days, kind, customer, rooms"),
        ("For {customer.nam}?", "{customer.nam}, which is no field of customer (did you mean name?)"),
        ("For {customer}?", "which is an object: name one of its fields, such as {customer.name}"),
        ("Book {rooms}?", "which is a list of objects, which no sentence can hold"),
        ("Book {kind.__class__}?", "no field of kind"),
        ("Book {__class__}?", "no argument"),
        ("Book {0}?", "no argument"),
        ("Book {}?", "a placeholder is the name of an argument"),
        ("Book {kind!r}?", "a placeholder is the name of an argument"),
        ("Book {days:>1000000}?", "a placeholder is the name of an argument"),
        ("Book {kind[0]}?", "a placeholder is the name of an argument"),
        ("Book {{kind}}?", "belongs to no placeholder"),
        ("Book {kind?", "belongs to no placeholder"),
        ("Book [it]?", "square brackets are for text that belongs to a placeholder"),
        ("Book [a [{kind}]]?", "belongs to no placeholder and no optional text"),
        ("Book\nit?", "must be one line"),
        ("Book \u202eti?", "must be one line"),
        ("Book \x1b[31mit?", "must be one line"),
        ("x" * (MAX_QUESTION + 1), "at most 300 characters"),
        ("", "at least 1 character"),
    ],
)
def test_a_question_with_anything_else_is_refused(asks: str, reason: str) -> None:
    with pytest.raises(ValidationError) as refused:
        tool(asks=asks)
    assert reason in str(refused.value)


@pytest.mark.parametrize("key", ["true", "True"])
def test_labels_name_values_as_json_or_python_writes_them(key: str) -> None:
    part = {"enum": [True, False], "x-labels": {key: "with breakfast"}}
    offered = tool(parameters={"type": "object", "properties": {"meals": part}})
    assert ArgumentSchema(offered.parameters).find_choice_name(part, value=True) == "with breakfast"


def test_labels_of_values_that_do_not_exist_are_refused_with_their_argument() -> None:
    part = {"enum": [True, 2], "x-labels": {"breakfast": "with breakfast"}}
    with pytest.raises(ValidationError, match=r"'breakfast' is not a value of the argument meals \(available: true, 2"):
        tool(parameters={"type": "object", "properties": {"meals": part}})


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "http", "name": "book", "description": "Books.", "url": "https://shop.example/book"},
        {"type": "openapi", "spec": "specs/shop.json", "operation_id": "book"},
        {"type": "python", "entry_point": "shop_tools.orders:book"},
    ],
)
def test_a_question_without_an_approval_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="set requires_approval too"):
        TOOL.validate_python(fields | {"asks": "Book it?"})


def test_questions_of_a_server_are_for_its_tools_that_need_approval() -> None:
    server = {"type": "mcp", "name": "shop", "url": "https://shop.example/mcp", "requires_approval": ["book"]}
    assert TOOL.validate_python(server | {"asks": {"book": "Book {day}?"}}).asks == {"book": "Book {day}?"}
    with pytest.raises(ValidationError, match="a question for sell, whose calls need no approval"):
        TOOL.validate_python(server | {"asks": {"sell": "Sell it?"}})
    with pytest.raises(ValidationError, match="a placeholder is the name of an argument"):
        TOOL.validate_python(server | {"asks": {"book": "Book {day!r}?"}})


@pytest.mark.parametrize(
    ("values", "question"),
    [
        ({"days": "3", "kind": "e-bike"}, "Book 3 days of e-bike?"),
        ({"days": "3"}, "Book 3 days?"),
        ({"kind": "e-bike"}, None),
        ({"days": "{kind}", "kind": "[{days}]"}, "Book {kind} days of [{days}]?"),
    ],
)
def test_optional_text_is_left_out_without_its_value(values: dict[str, str], question: str | None) -> None:
    assert fill_question("Book {days} days[ of {kind}]?", values.get) == question

"""Cards of calls that need approval, as clients get them: the question, and all arguments in words."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from baton import tool
from baton.adapters.tools.python_tools import PythonTools
from baton.authoring.functions import Functions
from baton.domain.runs.interrupt import Interrupt
from baton.domain.runs.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.shop import shop


class Customer(BaseModel):
    full_name: str


HEBREW = "\u05e9\u05dc\u05d5\u05dd"
NOTHING = "\u2013"
PLACE = "#/properties/value"
"""The place of the schema of an argument ``value``."""


async def ask_for_call(harness: Harness, **arguments: Any) -> dict[str, Any]:
    """The question for a call with these arguments."""
    harness.model.script(Answer.calling(ToolCall("call-1", "book", json.dumps(arguments))))
    turn = await harness.say("m1", "Book it.", time_zone="Europe/Berlin")
    [interrupt] = turn.last["outcome"]["interrupts"]
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert [stored.as_ag_ui().metadata for stored in thread.open_interrupts] == [interrupt["metadata"]]
    visible: dict[str, Any] = interrupt
    return visible


def texts(interrupt: dict[str, Any]) -> list[tuple[str, str]]:
    """The labels and texts of the fields that the question does not show."""
    return [(field["label"], field["text"]) for field in interrupt["metadata"]["fields"] if not field["inText"]]


async def test_the_question_has_the_values_of_arguments_in_words() -> None:
    interrupt = await ask_for_call(shop(), kind="ebike", day="2026-12-05", days=3, price=1250)
    assert interrupt["message"] == "Book 3 days of e-bike from 5 December 2026 for €1,250.00?"
    assert interrupt["metadata"]["label"] == "Bike booking"
    assert texts(interrupt) == []
    assert [field["name"] for field in interrupt["metadata"]["fields"]] == ["kind", "day", "days", "price"]


async def test_arguments_that_the_question_does_not_show_have_labels_and_words() -> None:
    customer = {"first_name": "Ada", "member": True, "vat_id": None}
    others = {"note": "Ring\ntwice", "customer": customer, "extras": ["child_seat", "lock"], "colour": "red"}
    interrupt = await ask_for_call(shop(), kind="city", day="2026-12-05", at="2026-12-05T12:30:00Z", **others)
    assert interrupt["message"] == "Book 1 days of city from 5 December 2026?"
    assert texts(interrupt) == [
        ("Note", "Ring\ntwice"),
        ("Customer", ""),
        ("First name", "Ada"),
        ("Member", "yes"),
        ("Vat id", NOTHING),
        ("At", "5 December 2026, 13:30"),
        ("Extras", "child seat, lock"),
        ("Colour", "red"),
    ]
    depths = {field["name"]: field["depth"] for field in interrupt["metadata"]["fields"]}
    assert (depths["customer"], depths["customer.first_name"]) == (0, 1)


async def test_the_types_of_a_function_in_python_say_how_its_arguments_are_written() -> None:
    @tool(approval="always", asks="Book {days} days of {kind}[ from {day}][ for {price}]?", label="Bike booking")
    def book(
        kind: Annotated[Literal["city", "ebike"], Field(json_schema_extra={"x-labels": {"ebike": "e-bike"}})],
        price: Annotated[Decimal, Field(title="Total", json_schema_extra={"format": "money", "x-currency": "EUR"})],
        customer: Customer,
        day: date | None = None,
        days: int = 1,
    ) -> str:
        """Book a bike."""
        return "Booked."

    [offered] = await PythonTools(Functions()).list_tools(book.definition)
    assert offered.label == "Bike booking"
    arguments = {"kind": "ebike", "price": "90", "customer": {"full_name": "Ada"}}
    interrupt = await ask_for_call(shop(offered.asks, dict(offered.parameters)), **arguments)
    assert interrupt["message"] == "Book 1 days of e-bike for €90.00?"
    assert texts(interrupt) == [("Customer", ""), ("Full name", "Ada")]


async def test_formats_are_those_of_the_language_of_the_agents_sentences() -> None:
    german = {"default_locale": "de", "sentences": {"de": {"approval_needed": "{tool}: Darf ich?"}}}
    harness = shop("{days} Tage ab {day} für {price} buchen?", **german)
    interrupt = await ask_for_call(harness, kind="city", day="2026-12-05", price=1250.5, customer={"member": False})
    assert interrupt["message"] == "1 Tage ab 5. Dezember 2026 für 1.250,50\u00a0€ buchen?"
    assert texts(interrupt)[-1] == ("Member", "nein")


async def test_without_a_value_for_its_question_the_agents_sentence_asks_for_the_tool_by_its_label() -> None:
    interrupt = await ask_for_call(shop(), days=2)
    assert interrupt["message"] == "May I use Bike booking?"
    assert texts(interrupt) == [("Days", "2")]


async def test_without_a_question_everything_is_a_field() -> None:
    interrupt = await ask_for_call(shop(None), kind="ebike", day="2026-12-05")
    assert interrupt["message"] == "May I use Bike booking?"
    assert texts(interrupt) == [("Kind", "e-bike"), ("First day", "5 December 2026")]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ({"format": "money", "x-currency": "JPY"}, 1250, "¥1,250"),
        ({"format": "money", "x-currency": "CHF"}, "12.5", "12.50 CHF"),
        ({"format": "money", "x-currency": "EUR"}, 12.505, "€12.505"),
        ({"format": "money", "x-currency": "EUR"}, -3, "\u2212€3.00"),
        ({"format": "money-minor", "x-currency": "EUR"}, 1299, "€12.99"),
        ({"format": "money", "x-currency": "currency"}, 5, "5"),
        ({"format": "money", "x-currency": "EUR"}, "9" * 5_000, "9" * 1_999 + "…"),
        ({"format": "money", "x-currency": "EUR"}, "NaN", "NaN"),
        ({"x-unit": "km"}, 12.5, "12.5\u00a0km"),
        ({}, 20261205, "20261205"),
        ({"format": "time"}, "14:30:00", "14:30"),
        ({"format": "date-time"}, "2026-12-05T14:30:00", "5 December 2026, 14:30"),
        ({"format": "date-time"}, "9999-12-31T23:59:59+00:00", "9999-12-31T23:59:59+00:00"),
        ({"writeOnly": True}, "secret", "••••"),
        ({"oneOf": [{"const": "a", "title": "By air"}, {"const": "s", "title": "By sea"}]}, "s", "By sea"),
        ({"enum": ["VERY_FAST"]}, "VERY_FAST", "Very fast"),
        ({}, "", NOTHING),
        ({}, [], NOTHING),
        ({}, {}, NOTHING),
        ({}, ["a, b", "c"], "a, b; c"),
        ({"$ref": "#/nowhere"}, 1, "1"),
        ({"$ref": "#/properties/value"}, 1, "1"),
        ({"anyOf": [{"type": "null"}, {"format": "date", "type": "string"}]}, "2026-12-05", "5 December 2026"),
        ({"anyOf": [{"$ref": PLACE}, {"type": "string"}]}, "endless", "endless"),
        (
            {
                "anyOf": [{"$ref": f"{PLACE}/$defs/0"}, {"type": "string"}],
                "$defs": {
                    str(n): {"type": "object", "anyOf": [{"$ref": f"{PLACE}/$defs/{n + 1}"}] * 9} for n in range(30)
                },
            },
            "of 9**30 alternatives",
            "of 9**30 alternatives",
        ),
        ({}, "<b onclick=x>[a](javascript:x)</b>", "<b onclick=x>[a](javascript:x)</b>"),
        ({}, "a\x1b[31mb\u202ec\u200bd\ud800", "a\ufffd[31mb\ufffdcd\ufffd"),
        ({}, "x" * 5_000, "x" * 1_999 + "…"),
    ],
)
async def test_values_become_plain_text(schema: dict[str, Any], value: Any, text: str) -> None:
    interrupt = await ask_for_call(shop(None, {"type": "object", "properties": {"value": schema}}), value=value)
    assert texts(interrupt) == [("Value", text)]


async def test_an_argument_that_is_nothing_by_default_is_left_out() -> None:
    note = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    harness = shop(None, {"type": "object", "properties": {"note": note, "day": {}}})
    assert texts(await ask_for_call(harness, note=None, day=None)) == [("Day", NOTHING)]


async def test_a_reference_to_a_place_that_is_no_schema_hurts_no_question() -> None:
    schema = {"x-place": {"default": "city", "oneOf": 1, "enum": 1, "properties": 1}, "$ref": f"{PLACE}/x-place"}
    harness = shop("Book {value}[ of {value.kind}]?", {"type": "object", "properties": {"value": schema}})
    assert (await ask_for_call(harness))["message"] == "Book city?"


async def test_a_value_in_the_question_is_one_line_and_cut_and_then_also_a_field() -> None:
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    interrupt = await ask_for_call(shop("Send {text}?", parameters), text="Hello\n  Amount: 1 " + "x" * 200)
    assert interrupt["message"].startswith("Send Hello Amount: 1 xxx")
    assert len(interrupt["message"]) == len("Send ?") + 100
    assert [label for label, _ in texts(interrupt)] == ["Text"]


async def test_a_value_that_runs_from_right_to_left_does_not_reorder_the_question() -> None:
    parameters = {"type": "object", "properties": {"name": {"type": "string"}}}
    interrupt = await ask_for_call(shop("Pay {name} 100 euros?", parameters), name=HEBREW)
    assert interrupt["message"] == f"Pay \u2068{HEBREW}\u2069 100 euros?"


async def test_a_field_that_only_looks_like_one_of_the_question_is_shown() -> None:
    asks = "Book for {customer.first_name}?"
    interrupt = await ask_for_call(shop(asks), **{"customer": {"first_name": "Ada"}, "customer.first_name": "Eve"})
    assert interrupt["message"] == "Book for Ada?"
    assert ("Customer.first name", "Eve") in texts(interrupt)


async def test_cards_are_bounded_and_show_that_something_is_left_out() -> None:
    nested: Any = "deep"
    for _ in range(50):
        nested = {"in": nested}
    many = {f"v{number}": "x" * 300 for number in range(500)}
    interrupt = await ask_for_call(shop(None), **{"nested": nested, **many})
    fields = interrupt["metadata"]["fields"]
    assert len(json.dumps(fields)) < 12_000
    assert fields[-1]["text"] == "…"
    assert max(field["depth"] for field in fields) == 4


async def test_the_cards_of_one_answer_are_bounded_together() -> None:
    harness = shop(None)
    calls = [ToolCall(f"call-{number}", "book", json.dumps({"note": str(number) * 1_900})) for number in range(40)]
    harness.model.script(Answer.calling(*calls))
    turn = await harness.say("m1", "Book them.")
    fields = [interrupt["metadata"]["fields"] for interrupt in turn.last["outcome"]["interrupts"]]
    assert len(json.dumps(fields)) < 30_000
    assert fields[0][0]["text"] == "0" * 1_900
    assert fields[-1][-1]["text"] == "…"


async def test_calls_have_the_tools_label_in_events_and_in_stored_messages() -> None:
    harness = shop()
    harness.model.script(Answer.calling(ToolCall("call-1", "book", "{}")))
    turn = await harness.say("m1", "Book it.")
    [start] = [event.body for event in turn.events if event.type == "TOOL_CALL_START"]
    assert start["metadata"]["label"] == "Bike booking"
    assert turn.finished is not None
    page = await harness.store.read_messages(harness.ada, turn.finished.thread, limit=9, before=None)
    [call] = [call for message in page.messages for call in message.tool_calls]
    assert call.metadata == {"label": "Bike booking"}


def test_an_interrupt_of_a_release_without_fields_is_text_with_its_arguments() -> None:
    old = Interrupt("i.1", "c", "delete", "May I use delete?", datetime.now(UTC), arguments='{"page": "home"}')
    assert old.plain_text == 'May I use delete?\ndelete {"page": "home"}'

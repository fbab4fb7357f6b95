"""Details of one conversation leave its texts: literals of calls, personal data, ids and keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.pii import InProcessPiiDetector
from baton.memory.procedures.specifics import MAX_LITERALS, MIN_LITERAL, Specifics

SCHEMAS = {
    "ticket_create": {
        "type": "object",
        "properties": {
            "customer": {"type": "string"},
            "subject": {"type": "string"},
            "priority": {"enum": ["high", "normal"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    },
    "slack_post": {"type": "object", "properties": {"channel": {"type": "string"}, "replyTo": {"type": "string"}}},
}


def specifics(*arguments: dict[str, Any]) -> Specifics:
    instance = Specifics(SCHEMAS, InProcessPiiDetector(("CH",)))
    for argument in arguments:
        instance.add(argument)
    return instance


async def test_a_literal_becomes_the_name_of_its_argument() -> None:
    specifics_of_task = specifics({"customer": "Miller Ltd", "priority": "high"}, {"channel": "#ops-alerts"})
    text = "Create a ticket for MILLER  LTD with high priority, then post to #ops-alerts."
    assert (
        await specifics_of_task.generalise(text)
        == "Create a ticket for {customer} with high priority, then post to {channel}."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to ada@example.com.", "Write to {email}."),
        ("Call +41 44 668 18 00.", "Call {phone}."),
        ("Open https://ada:secret@example.com/a?token=x now.", "Open {url} now."),
        ("Close TICKET-4711 today.", "Close {id} today."),
        ("Use the key sk-abcDEF123456 here.", "Use the key {id} here."),
        ("The key is QWxhZGRpbjpvcGVuIHNlc2FtZQ.", "The key is {id}."),
        ("Pay 12500 euros.", "Pay {id} euros."),
        ("Do it in 3 steps.", "Do it in 3 steps."),
    ],
)
async def test_what_no_call_named_leaves_too(text: str, expected: str) -> None:
    assert await specifics().generalise(text) == expected


async def test_names_inside_a_longer_argument_are_specific() -> None:
    specifics_of_task = specifics({"subject": "Refund for Miller. Please call back."})
    assert await specifics_of_task.generalise("Tell Miller about it.") == "Tell {subject} about it."
    assert await specifics_of_task.generalise("Write: refund for miller.") == "Write: {subject}."


async def test_the_vocabulary_of_tools_is_not_specific() -> None:
    specifics_of_task = specifics({"priority": "normal", "subject": "ticket", "customer": "post"})
    text = "Create a normal ticket and post it by ticket_create."
    assert await specifics_of_task.generalise(text) == text


async def test_names_of_called_tools_stay() -> None:
    specifics_of_task = specifics()
    specifics_of_task.add_tool_name("s3_upload")
    specifics_of_task.add_tool_name("create_a_ticket_for_a_customer")
    text = "Call s3_upload, then create_a_ticket_for_a_customer."
    assert await specifics_of_task.generalise(text) == text


def test_too_many_literals_are_noticed() -> None:
    specifics_of_task = specifics(*({"customer": f"Customer {number}"} for number in range(MAX_LITERALS + 1)))
    assert specifics_of_task.are_too_many


async def test_braces_hide_nothing() -> None:
    specifics_of_task = specifics({"customer": "miller"})
    reported = "Write to {miller} and {ada@example.com} about {Some Thing}, {customer} and {case_4711}."
    general_text = await specifics_of_task.generalise(reported)
    assert general_text == "Write to {value} and {email} about Some Thing, {customer} and {value}."
    assert not specifics_of_task.remain_in(general_text)
    for secret in ("miller", "ada@", "4711"):
        assert secret not in general_text


async def test_names_of_open_arguments_are_not_taken_for_names() -> None:
    specifics_of_task = specifics({"customer": {"miller@example.com": "yes", "Ada 4711": {"x": "Zurich"}}})
    general_text = await specifics_of_task.generalise("For miller@example.com and Ada 4711 in Zurich.")
    assert general_text == "For {customer} and {customer} in {customer}."


async def test_arguments_are_shown_without_their_values() -> None:
    specifics_of_task = specifics()
    visible = specifics_of_task.make_placeholders(
        {"customer": "Miller", "priority": "high", "replyTo": 4711, "secret key": "s"}
    )
    assert visible == {"customer": "{customer}", "priority": "high", "replyTo": "{reply_to}", "value": "{value}"}


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Z")), min_size=MIN_LITERAL, max_size=40)


@given(st.lists(WORDS, max_size=4), st.text(max_size=60))
async def test_nothing_specific_remains(literals: list[str], text: str) -> None:
    specifics_of_task = specifics(*({"customer": literal} for literal in literals))
    general_text = await specifics_of_task.generalise(f"{text} {' and '.join(literals)}")
    assert not specifics_of_task.remain_in(general_text)


@given(st.lists(WORDS, max_size=4), st.text(max_size=60))
async def test_generalizing_again_changes_nothing(literals: list[str], text: str) -> None:
    specifics_of_task = specifics(*({"customer": literal} for literal in literals))
    general_text = await specifics_of_task.generalise(f"{text} {' and '.join(literals)}")
    assert await specifics_of_task.generalise(general_text) == general_text

"""Approvals and calls as customers see them: in words, and as cards of the page's own."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ag_ui.core import (
    Interrupt,
    RunFinishedInterruptOutcome,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from playwright.async_api import Page, expect

from tests.browser.accessibility import violations
from tests.browser.guides import card_script
from tests.browser.harness import Harness, answer

pytestmark = pytest.mark.nightly

STRICT = (
    "default-src 'self'; style-src 'self'; connect-src *; "
    "require-trusted-types-for 'script'; trusted-types lit-html baton-chat"
)
ARGUMENTS = '{"kind": "ebike", "day": "2026-12-05", "note": "<img src=x onerror=window.hacked=1>", "customer": {}}'


def card_field(name: str, label: str, text: str, *, depth: int = 0, in_text: bool = False) -> dict[str, Any]:
    return {"name": name, "label": label, "text": text, "depth": depth, "inText": in_text}


FIELDS = [
    card_field("kind", "Kind", "e-bike", in_text=True),
    card_field("day", "First day", "5 December 2026", in_text=True),
    card_field("note", "Note", "<img src=x onerror=window.hacked=1>\n**Ring** twice"),
    card_field("customer", "Customer", ""),
    card_field("customer.name", "Name", "Ada Lovelace", depth=1),
    card_field("customer.number", "Number", "C-7", depth=1, in_text=True),
]
BOOKING = RunFinishedInterruptOutcome(
    interrupts=[
        Interrupt(
            id="0f2c.1",
            reason="tool_approval",
            message="Book an e-bike from 5 December 2026 for C-7?",
            tool_call_id="c-1",
            response_schema={"type": "object", "properties": {"approved": {"type": "boolean"}}},
            metadata={"toolName": "book_bike", "arguments": ARGUMENTS, "label": "Bike booking", "fields": FIELDS},
        )
    ]
)
CALL = (
    ToolCallStartEvent(tool_call_id="c-1", tool_call_name="book_bike", metadata={"label": "Bike booking"}),
    ToolCallArgsEvent(tool_call_id="c-1", delta=ARGUMENTS),
    ToolCallEndEvent(tool_call_id="c-1"),
)


@pytest.fixture
async def harness(page: Page) -> Harness:
    """The page as customers have it, with a strict policy."""
    harness = await Harness(page, headers={"Content-Security-Policy": STRICT}).open()
    await page.evaluate("document.querySelector('baton-chat').removeAttribute('developer')")
    return harness


async def ask(harness: Harness) -> str:
    """Have the agent ask for a booking."""
    question = await harness.begin("Book an e-bike")
    await harness.play(*CALL)
    await harness.end(BOOKING)
    return question


async def test_customers_read_a_question_and_labelled_arguments_and_no_json(page: Page, harness: Harness) -> None:
    await ask(harness)
    await expect(page.locator("[part=tool]")).to_have_count(0)  # the question says it all
    card = page.get_by_role("region", name="Approval needed")
    await expect(card.locator(".label")).to_have_text("Bike booking")
    await expect(card.locator(".question")).to_have_text("Book an e-bike from 5 December 2026 for C-7?")
    rows = card.locator("> dl > div")
    await expect(rows.locator("dt")).to_have_text(["Note", "Customer", "Name"])
    await expect(rows.locator("dd").first).to_have_text("<img src=x onerror=window.hacked=1>\n**Ring** twice")
    await card.locator("summary").click()
    await expect(card.locator("details dt")).to_have_text(["Kind", "First day", "Customer", "Number"])
    await expect(page.locator("baton-chat pre")).to_have_count(0)
    assert await page.evaluate("window.hacked") is None
    assert await violations(page) == []


async def test_developers_may_open_the_json(page: Page, harness: Harness) -> None:
    await page.evaluate("document.querySelector('baton-chat').setAttribute('developer', '')")
    await ask(harness)
    card = page.get_by_role("region", name="Approval needed")
    await card.locator("summary").click()
    await expect(card.locator("details pre")).to_contain_text('"kind": "ebike"')
    await page.locator("details.tool summary").click()
    await expect(page.locator("details.tool pre")).to_contain_text('"kind": "ebike"')


async def test_a_page_shows_a_card_of_its_own_by_the_guides_example(page: Page, harness: Harness) -> None:
    await page.evaluate(card_script())
    question = await ask(harness)
    card = page.locator("baton-chat > .booking")
    await expect(card).to_be_visible()
    await expect(card).to_contain_text("Book an e-bike from 5 December 2026 for C-7?")
    await expect(page.get_by_role("region", name="Approval needed")).to_be_hidden()
    await card.get_by_role("button", name="Book now").click()
    frame = await harness.take_frame("answer")
    assert (frame["status"], frame["payload"]) == ("resolved", {"approved": True})
    await harness.run("answer-1", "", parent=question)
    booked = ToolCallResultEvent(
        message_id="r-1", tool_call_id="c-1", content='{"number": "B-7"}', metadata={"outcome": "succeeded"}
    )
    await harness.play(booked, *answer("Done."))
    await harness.end()
    await expect(card).to_have_text("Book an e-bike from 5 December 2026 for C-7?Booked.")
    await expect(page.get_by_role("region", name="Approval needed")).to_be_hidden()
    await expect(page.locator("baton-chat > .booked")).to_have_text("Booking B-7")
    await expect(page.locator("[part=tool]")).to_be_hidden()


async def test_a_page_may_ask_elsewhere_and_hears_how_another_tab_has_answered(page: Page, harness: Harness) -> None:
    await page.evaluate("""() => {
        document.addEventListener("baton-approval", (event) => {
            event.preventDefault();
            window.asked = event.detail;
            document.body.dataset.asked = "";
            event.detail.answered.then((answer) => { document.body.dataset.answered = answer; });
        });
        document.addEventListener("baton-call", (event) => { event.preventDefault(); });
    }""")
    question = await ask(harness)
    await expect(page.locator("body")).to_have_attribute("data-asked", "")
    details = await page.evaluate("({ ...window.asked, answered: null, approve: null, decline: null })")
    assert details == {
        "id": "0f2c.1",
        "text": "Book an e-bike from 5 December 2026 for C-7?",
        "label": "Bike booking",
        "toolName": "book_bike",
        "fields": FIELDS,
        "arguments": {
            "kind": "ebike",
            "day": "2026-12-05",
            "note": "<img src=x onerror=window.hacked=1>",
            "customer": {},
        },
        "expiresAt": None,
        "slot": "approval-0f2c.1",
        "answered": None,
        "approve": None,
        "decline": None,
    }
    await expect(page.get_by_role("region", name="Approval needed")).to_have_count(0)
    await expect(page.locator("[part=tool]")).to_have_count(0)
    await page.evaluate("window.asked.decline('Too dear')")
    frame = await harness.take_frame("answer")
    assert (frame["status"], frame["payload"]) == ("resolved", {"approved": False, "comment": "Too dear"})
    await harness.run("answer-1", "", parent=question)
    await harness.end()
    await expect(page.locator("body")).to_have_attribute("data-answered", re.compile("."))


async def test_a_call_of_an_older_server_is_shown_with_its_arguments(page: Page, harness: Harness) -> None:
    await harness.begin("Send the invoice")
    await harness.play(*CALL)
    older = BOOKING.interrupts[0].model_copy(update={"metadata": {"toolName": "book_bike", "arguments": ARGUMENTS}})
    await harness.end(RunFinishedInterruptOutcome(interrupts=[older]))
    await expect(page.get_by_role("region", name="Approval needed").locator("pre")).to_contain_text('"kind": "ebike"')

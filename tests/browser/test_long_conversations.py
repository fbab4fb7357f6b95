"""The work of redrawing a growing answer does not grow with the conversation."""

from __future__ import annotations

import pytest
from ag_ui.core import TextMessageContentEvent, TextMessageEndEvent, TextMessageStartEvent
from playwright.async_api import Page, expect

from tests.browser.harness import Harness, Json, state

pytestmark = pytest.mark.nightly

COUNT = """() => {
  window.drawn = { messages: 0, nodes: 0 };
  const { prototype } = customElements.get("baton-chat-message");
  const update = prototype.performUpdate;
  prototype.performUpdate = function () {
    drawn.messages += 1;
    return update.call(this);
  };
  new MutationObserver((records) => {
    for (const { addedNodes, removedNodes } of records) drawn.nodes += addedNodes.length + removedNodes.length || 1;
  }).observe(document.querySelector("baton-chat").shadowRoot, { subtree: true, childList: true, characterData: true });
}"""
MARKUP = """paragraph => {
  const copy = paragraph.cloneNode(true);
  for (const formula of copy.querySelectorAll("span")) formula.replaceWith("formula"); // they are drawn later
  copy.normalize();
  return copy.innerHTML.trim();
}"""
THREAD = "550e8400-e29b-41d4-a716-446655440000"
DELTAS = 40


async def test_a_growing_answer_draws_itself_alone_and_of_that_the_last_block(page: Page) -> None:
    harness = Harness(page, thread_id=THREAD)
    harness.answers[f"/v1/threads/{THREAD}"] = {"id": THREAD, "state": state(), "run": None, "lastSeq": 0}
    harness.answers[f"/v1/threads/{THREAD}/messages"] = {"items": make_messages(300), "nextCursor": None, "lastSeq": 0}
    await harness.remember(THREAD)
    await harness.open()
    await expect(page.locator("article")).to_have_count(300)
    await page.evaluate(COUNT)
    await harness.begin("Tell me everything")
    await harness.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    body = page.locator("article.assistant .body").last
    await expect(body).to_have_attribute("aria-busy", "true")
    # A run that begins draws the question and the answer alone, although every message has buttons that depend on it.
    assert await page.evaluate("drawn.messages") <= 10
    await expect(page.locator("article.assistant [part~=regenerate-button]").first).to_be_hidden()
    await page.evaluate("drawn = { messages: 0, nodes: 0 }")
    for number in range(DELTAS):
        await harness.play(TextMessageContentEvent(message_id="t-1", delta=f"Paragraph {number} is **short**.\n\n"))
    await expect(body).to_contain_text(f"Paragraph {DELTAS - 1} is short.")
    drawn: dict[str, int] = await page.evaluate("drawn")
    assert drawn["messages"] <= DELTAS
    # Each delta replaces the last block, which is complete now, and begins another: never what is before.
    assert drawn["nodes"] <= 5 * DELTAS
    await page.evaluate("drawn.messages = 0")
    await harness.play(TextMessageEndEvent(message_id="t-1"))
    await harness.end()
    await expect(page.locator("article.assistant [part~=regenerate-button]").last).to_be_visible()
    assert await page.evaluate("drawn.messages") <= 10


async def test_of_a_growing_list_only_the_last_entries_are_drawn_again(page: Page) -> None:
    harness = await Harness(page, thread_id=THREAD).open()
    await harness.begin("List everything")
    await harness.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    points = page.locator("article.assistant li")
    for number in range(100):
        some = "".join(f"- Point **{3 * number + one}**\n" for one in range(3))
        await harness.play(TextMessageContentEvent(message_id="t-1", delta=some))
        if number == 1:
            await expect(points).to_have_count(6)
            await points.first.evaluate("point => { point.dataset.isSame = true }")
    await expect(points).to_have_count(300)
    assert await points.all_text_contents() == [f"Point {number}" for number in range(300)]
    await expect(points.first).to_have_attribute("data-is-same", "true")


@pytest.mark.parametrize(
    "sentence",
    [
        "Sentence {number} has **strong *and* stressed** words, `code * here`, [a link](https://example.com/{number}) ",
        "Of 5 * {number} some_snake_names cost 5 ~ 6, as a@example.com says\nin the next line: see \\(x_{number}\\). ",
        "\u4f60\u597d\uff0c\u8fd9\u662f\u7b2c {number} \u53e5\u8bdd\uff0c\u6ca1\u6709\u7a7a\u683c\u3002",
        "One mark * opens nothing; a bracket [ or `tick {number} may. ",
    ],
)
async def test_of_a_growing_paragraph_only_the_end_is_drawn_again(page: Page, sentence: str) -> None:
    harness = await Harness(page, thread_id=THREAD).open()
    await harness.begin("Tell me everything in one paragraph")
    await harness.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    paragraph = page.locator("article.assistant .body p")
    text = "".join(sentence.format(number=number) for number in range(200))
    for start in range(0, len(text), 500):
        await harness.play(TextMessageContentEvent(message_id="t-1", delta=text[start : start + 500]))
        if start == 500:
            await paragraph.evaluate("paragraph => { paragraph.dataset.isSame = true }")
    await expect(paragraph).to_contain_text("199")
    if "bracket" not in sentence:
        await expect(paragraph).to_have_attribute("data-is-same", "true")
    grown = await paragraph.evaluate(MARKUP)
    await harness.play(TextMessageEndEvent(message_id="t-1"))
    await harness.end()
    await expect(page.locator("article.assistant .body")).not_to_have_attribute("aria-busy", "true")
    assert await paragraph.evaluate(MARKUP) == grown


@pytest.mark.parametrize(("text", "location"), [("See $x_{number}$ here. ", "p"), ("- See $x_{number}$\n", "ul")])
async def test_formulas_are_drawn_while_what_holds_them_grows(page: Page, text: str, location: str) -> None:
    harness = await Harness(page, thread_id=THREAD).open()
    await harness.begin("Which formulas are there?")
    await harness.play(TextMessageStartEvent(message_id="t-1", role="assistant", name="Assistant"))
    formulas = page.locator(f"article.assistant .body {location} math")
    for number in range(4):
        await harness.play(TextMessageContentEvent(message_id="t-1", delta=text.format(number=number)))
        await expect(formulas).to_have_count(number + 1)


def make_messages(count: int) -> list[Json]:
    """So many messages of questions and answers in turn."""
    return [
        {
            "id": f"m-{number}",
            "role": "assistant" if number % 2 else "user",
            "content": f"Message {number} with **some** words.",
            "metadata": {"ordinal": number, "runId": f"old-{number // 2}", "status": "complete"},
        }
        for number in range(count)
    ]

"""Writing and reading in the widget in every script: input methods, right-to-left and mixed text, sandboxed frames."""

from __future__ import annotations

import pytest
from ag_ui.core import Interrupt, RunFinishedInterruptOutcome
from playwright.async_api import Locator, Page, expect

from tests.browser.harness import Harness, answer

SANDBOX = {"Content-Security-Policy": "sandbox allow-scripts", "Access-Control-Allow-Origin": "*"}
"""A sandboxed page has no origin, so that even its own files come from elsewhere."""
PRESS_AS_SAFARI = """
(field, key) => {
  field.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true, composed: true }));
  const options = { key, keyCode: 229, bubbles: true, composed: true, cancelable: true };
  return field.dispatchEvent(new KeyboardEvent("keydown", options));
}
"""
"""A key that an input method takes, in Safari's order: the composition ends first, so that ``isComposing`` is false."""
SIDE_OF_TEXT = """
block => {
  const range = document.createRange();
  range.selectNodeContents(block);
  const text = range.getClientRects()[0];
  const box = block.getBoundingClientRect();
  return text.left - box.left > box.right - text.right ? "right" : "left";
}
"""
QUESTION = Interrupt(
    id="i-1",
    reason="input_required",
    message="Where to?",
    response_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@pytest.fixture
async def harness(page: Page) -> Harness:
    """The page, open and connected."""
    return await Harness(page).open()


async def test_enter_of_an_input_method_leaves_the_message_in_the_box(page: Page, harness: Harness) -> None:
    box = page.get_by_role("textbox", name="Your message")
    await box.fill("日本")
    await box.evaluate(PRESS_AS_SAFARI, "Enter")
    await expect(box).to_have_value("日本")
    assert [frame["action"] for frame in harness.frames if frame["action"] == "message"] == []

    await page.keyboard.press("Enter")
    assert (await harness.take_frame("message"))["content"] == "日本"


@pytest.mark.nightly
@pytest.mark.parametrize("key", ["Enter", "Escape"])
async def test_keys_of_an_input_method_leave_an_edited_message_open(page: Page, harness: Harness, key: str) -> None:
    await harness.begin("Hello")
    await harness.play(*answer("Good morning."))
    await harness.end()
    await page.get_by_role("button", name="Edit").click()
    editor = page.locator("article.user textarea")
    await editor.evaluate(PRESS_AS_SAFARI, key)
    await expect(editor).to_be_visible()


@pytest.mark.nightly
async def test_escape_of_an_input_method_stops_nothing(page: Page, harness: Harness) -> None:
    await harness.begin("Hello")
    await page.get_by_role("textbox", name="Your message").evaluate(PRESS_AS_SAFARI, "Escape")
    await page.keyboard.press("Escape")
    await harness.take_frame("cancel")
    assert [frame for frame in harness.frames if frame["action"] == "cancel"] == []


async def test_a_sandboxed_page_sends_edits_and_answers(page: Page) -> None:
    harness = await Harness(page, headers=SANDBOX).open()
    await harness.begin("Hello")
    await harness.play(*answer("Good morning."))
    await harness.end()
    await page.get_by_role("textbox", name="Your message").fill("By button")
    await page.get_by_role("button", name="Send").click()
    assert (await harness.take_frame("message"))["content"] == "By button"
    await harness.run("m-2", "By button")
    await harness.play(*answer("Where to?"))
    await harness.end(RunFinishedInterruptOutcome(interrupts=[QUESTION]))

    submit = page.locator("[part~=approve-button]")
    await submit.click()
    assert [frame for frame in harness.frames if frame["action"] == "answer"] == []  # a required field is empty
    await page.get_by_label("city").fill("Oslo")
    await page.keyboard.press("Enter")
    assert (await harness.take_frame("answer"))["payload"] == {"city": "Oslo"}


async def test_a_form_that_the_page_puts_into_a_slot_is_submitted_by_the_browser(page: Page, harness: Harness) -> None:
    await page.evaluate("""() => {
      const form = document.createElement("form");
      form.slot = "welcome";
      form.append(Object.assign(document.createElement("button"), { textContent: "Of the page" }));
      form.addEventListener("submit", event => { event.preventDefault(); window.trusted = event.isTrusted; });
      document.querySelector("baton-chat").append(form);
    }""")
    await page.locator("baton-chat button", has_text="Of the page").evaluate("button => button.click()")
    assert await page.evaluate("window.trusted") is True


MIXED = """\
שלום, הגרסה היא 2.1.

This paragraph is English.

`npm install` מתקין את החבילה.

1. אחד
2. Baton שתיים

> ציטוט

| עיר | Price |
| --- | --- |
| חיפה | 12 |

```
x = 1
```
"""


async def sides(blocks: Locator) -> list[str]:
    """The side on which the text of each block stands."""
    return [await block.evaluate(SIDE_OF_TEXT) for block in await blocks.all()]


async def test_each_paragraph_list_and_table_has_the_direction_of_its_own_text(page: Page, harness: Harness) -> None:
    await harness.begin("שלום\nand this in English")
    await harness.play(*answer(MIXED))
    await harness.end()
    body = page.locator("article.assistant .body")
    await expect(body.locator("td")).to_have_count(2)
    assert await sides(body.locator("p:not(blockquote p)")) == ["right", "left", "right"]
    directions = {
        name: await body.locator(name).first.evaluate("block => getComputedStyle(block).direction")
        for name in ("ol", "blockquote", "table", "code", "figure pre")
    }
    assert directions == {"ol": "rtl", "blockquote": "rtl", "table": "rtl", "code": "ltr", "figure pre": "ltr"}
    assert await sides(body.locator("li")) == ["right", "right"]  # text stands beside its number
    assert await sides(body.locator("td")) == ["right", "right"]  # a number stands on the side of its table


@pytest.mark.nightly
async def test_a_list_that_grows_and_an_address_read_as_they_will_when_complete(page: Page, harness: Harness) -> None:
    start, content, end = answer("- אחד `a.b()`\n")
    await harness.begin("Go")
    await harness.play(start, content)
    for line in ("- שתיים `c.d()`\n", "- https://example.org/a?b=1 שלוש\n"):
        await harness.play(content.model_copy(update={"delta": line}))
    await harness.play(end)
    await harness.end()
    body = page.locator("article.assistant .body")
    await expect(body.locator("li")).to_have_count(3)
    runs = await body.locator("code, a").evaluate_all("runs => runs.map(run => getComputedStyle(run).direction)")
    assert runs == ["ltr", "ltr", "ltr"]
    assert await body.locator("ul").evaluate("list => getComputedStyle(list).direction") == "rtl"

"""Citations by number in the widget: a superscript that opens the passage, for the mouse, the keyboard and a phone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from baton.agents.answer_sources import select_answer_sources
from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.events import make_text_content, make_text_end, make_text_start
from tests.browser.accessibility import violations
from tests.browser.harness import Harness, Json

pytestmark = pytest.mark.nightly

AGENT = AgentDefinition(id="assistant", name="Assistant", description="Answers.", system_prompt="Answer.")

TEXT = """\
\U0001f600 Returns are **free** within 30 days[1][2]. Prices stay [1-2] until May [7].

- Code stays as it is: `rows [1]` and [a link](https://a.example/x).

```python
rows = [1]
```

<mark>Marked</mark> words are cited, too [2]."""
PASSAGES: list[Json] = [
    {
        "kind": "document",
        "id": f"d-{number}",
        "title": title,
        "agentId": "assistant",
        "score": 0.9,
        "section": section,
        "page": page,
        "chunk": f"d-{number}@1#0",
        "url": url,
        "number": number,
        "excerpt": excerpt,
    }
    for number, title, section, page, url, excerpt in (
        (1, "Handbook", "Returns", 3, "https://a.example/h.pdf", "Goods can be sent back within 30 days, for free."),
        (2, "Price list", "May > Goods", None, None, "Prices stay until the end of May."),
        (3, "Not cited", None, None, None, "Something else."),
    )
]
CONSULTED = {**PASSAGES[2], "isConsulted": True}


async def answer(harness: Harness, text: str = TEXT) -> None:
    """The answer, in pieces that divide a citation, with the sources that the server finds in it."""
    await harness.begin("What about returns?")
    half = text.index("[1]") + 2
    sources = [dict(answer_source) for answer_source in select_answer_sources(text, [*PASSAGES[:2], CONSULTED])]
    await harness.play(
        make_text_start("a-1", AGENT),
        make_text_content("a-1", text[:half]),
        make_text_content("a-1", text[half:]),
        make_text_end("a-1", sources),
    )
    await harness.end()


@pytest.fixture
async def harness(page: Page) -> Harness:
    return await Harness(page).open()


def citations(page: Page) -> Locator:
    return page.locator("[part~=citation-button]")


def passage(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Source")


async def is_focused(locator: Locator) -> bool:
    result: bool = await locator.evaluate("element => element.getRootNode().activeElement === element")
    return result


async def test_numbers_become_superscripts_where_they_cite_and_nowhere_else(page: Page, harness: Harness) -> None:
    await answer(harness)
    await expect(citations(page)).to_have_text(["1", "2", "1", "2", "2"])
    body = page.locator("article.assistant .body")
    await expect(body).to_contain_text("until May [7].")
    await expect(body.locator("li code")).to_have_text("rows [1]")
    await expect(body.locator("pre code")).to_have_text("rows = [1]")
    await expect(body.locator("mark")).to_have_text("Marked")
    await expect(citations(page).first).to_have_attribute("aria-label", "Source 1: Handbook, page 3")


async def test_a_superscript_opens_the_passage_for_keys_and_escape_closes_it_and_not_the_panel(
    page: Page, harness: Harness
) -> None:
    await answer(harness)
    first = citations(page).first
    await first.focus()
    await page.keyboard.press("Enter")
    await expect(passage(page)).to_be_visible()
    await expect(passage(page)).to_contain_text("1. Handbook")
    await expect(passage(page)).to_contain_text("page 3 \u00b7 Returns")
    await expect(passage(page)).to_contain_text("Goods can be sent back within 30 days, for free.")
    await expect(passage(page).get_by_role("link", name="Open the document")).to_have_attribute(
        "href", "https://a.example/h.pdf"
    )
    await expect(first).to_have_attribute("aria-expanded", "true")
    assert await is_focused(passage(page))
    assert await violations(page) == []
    await page.keyboard.press("Escape")
    await expect(passage(page)).to_have_count(0)
    await expect(first).to_have_attribute("aria-expanded", "false")
    assert await is_focused(first)
    await expect(page.locator("[part=panel]")).to_be_visible()


async def test_clicks_open_another_passage_and_close_it(page: Page, harness: Harness) -> None:
    await answer(harness)
    await citations(page).nth(0).click()
    await expect(passage(page)).to_contain_text("Handbook")
    await citations(page).nth(4).click()
    await expect(passage(page)).to_have_count(1)
    await expect(passage(page)).to_contain_text("Price list")
    await expect(passage(page)).to_contain_text("May > Goods")
    await citations(page).nth(4).click()
    await expect(passage(page)).to_have_count(0)
    await citations(page).nth(0).click()
    await expect(passage(page)).to_be_visible()
    await page.mouse.click(5, 5)
    await expect(passage(page)).to_have_count(0)
    await citations(page).nth(1).click()
    await page.get_by_role("button", name="Close the source").click()
    await expect(passage(page)).to_have_count(0)


async def test_the_list_has_the_numbers_and_what_was_only_consulted(page: Page, harness: Harness) -> None:
    await answer(harness)
    sources = page.locator("[part=sources]")
    await sources.locator("summary").click()
    await expect(sources.locator("li")).to_have_text(["[1] Handbook, page 3", "[2] Price list, May > Goods"])
    consulted = page.locator("[part=consulted]")
    await expect(consulted.locator("summary")).to_have_text("Consulted, not cited 1")
    await consulted.locator("summary").click()
    await expect(consulted.locator("li")).to_have_text(["Not cited"])
    assert await violations(page) == []


async def test_an_answer_without_citations_has_a_list_without_numbers(page: Page, harness: Harness) -> None:
    await answer(harness, "Returns are free, see `x [1]`.")
    await page.locator("[part=sources] summary").click()
    await expect(page.locator("[part=sources] li")).to_have_text(["Handbook, page 3", "Price list, May > Goods"])
    await expect(citations(page)).to_have_count(0)


async def test_on_a_phone_the_passage_stands_at_the_lower_edge(page: Page, harness: Harness) -> None:
    await page.set_viewport_size({"width": 390, "height": 780})
    await answer(harness)
    await citations(page).first.click()
    box: Any = await passage(page).bounding_box()
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 390, 780)

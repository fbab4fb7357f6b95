"""Takes the pictures of the chat widget in docs/images: ``python -m tests.browser.pictures``.

The server's part is played by this script, so that the pictures are the same whenever they are taken.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from ag_ui.core import (
    ActivitySnapshotEvent,
    Interrupt,
    RunFinishedInterruptOutcome,
    StateDeltaEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from playwright.async_api import Browser, async_playwright, expect

from baton_local import web
from baton_local.root import ROOT
from tests.browser.chromium import start
from tests.browser.harness import SKILL, SPECIALIST, Harness, answer

IMAGES = ROOT / "docs" / "images"
WIDE, NARROW = (1200, 760), (390, 780)
HANDBOOK = {"kind": "document", "id": "d-1", "title": "Handbook", "section": "Plans", "url": "https://example.com/h"}
PLANS = """\
There are two plans, and you can change between them **at any time**:

| Plan | Seats | Price a month |
| --- | ---: | ---: |
| Team | 10 | 12 € |
| Company | no limit | 40 € |

From a script it is one call:

```python
client.plans.change("company", prorate=True)
```
"""
LABEL = "Plan change"
ARGUMENTS = '{"plan": "company", "prorate": true, "from": "2026-12-01"}'
FIELDS = [
    {"name": "plan", "label": "Plan", "text": "Company", "depth": 0, "inText": True},
    {"name": "from", "label": "First day", "text": "1 December 2026", "depth": 0, "inText": False},
    {"name": "prorate", "label": "Only pay the days left", "text": "yes", "depth": 0, "inText": False},
]
CALL = Interrupt(
    id="i-1",
    reason="tool_approval",
    message="May I change the plan to Company?",
    tool_call_id="c-1",
    metadata={"toolName": "change_plan", "arguments": ARGUMENTS, "label": LABEL, "fields": FIELDS},
)


async def ask_about_plans(harness: Harness) -> None:
    """A question and an answer with a table and code."""
    await harness.begin("Which plans are there, and how do I change mine?")
    await harness.play(*answer(PLANS, HANDBOOK))
    await harness.end()
    await expect(harness.page.locator(".hljs-string").first).to_be_visible()


async def approval(harness: Harness) -> None:
    """A call that waits for the user."""
    await harness.page.evaluate("document.querySelector('baton-chat').removeAttribute('developer')")
    await harness.begin("Change our plan to Company, please")
    await harness.play(
        ToolCallStartEvent(tool_call_id="c-1", tool_call_name="change_plan", metadata={"label": LABEL}),
        ToolCallArgsEvent(tool_call_id="c-1", delta=ARGUMENTS),
        ToolCallEndEvent(tool_call_id="c-1"),
    )
    await harness.end(RunFinishedInterruptOutcome(interrupts=[CALL]))
    await expect(harness.page.get_by_role("button", name="Approve")).to_be_visible()


async def handoff(harness: Harness) -> None:
    """A specialist takes over, and leads through a workflow."""
    await harness.begin("I want to create a skill that sends Slack alerts")
    label = "Connecting you with Skill Builder..."
    content = {"from": "assistant", "to": "skills", "label": label}
    changes = [
        {"op": "replace", "path": "/activeAgent", "value": SPECIALIST},
        {"op": "replace", "path": "/workflow", "value": SKILL},
    ]
    words = "When should the alert be sent? For example:\n\n- an error in production\n- a failed deployment"
    start, text, _ = answer(words)
    start = start.model_copy(update={"name": SPECIALIST["name"], "metadata": {"agentId": "skills"}})
    await harness.play(
        ActivitySnapshotEvent(message_id="h-1", activity_type="handoff", content=content),
        StateDeltaEvent(delta=changes),
        start,
        text,
        TextMessageEndEvent(message_id="t-1"),
    )
    await harness.end()
    await expect(harness.step).to_be_visible()


AS_A_LAUNCHER = """() => {
  const chat = document.querySelector("baton-chat");
  chat.mode = "launcher";
  chat.style.setProperty("--baton-height", "620px");
  document.querySelector("aside").hidden = true;
}"""
PICTURES = {
    "widget-inline": (ask_about_plans, WIDE, "light", "inline"),
    "widget-dark": (ask_about_plans, WIDE, "dark", "inline"),
    "widget-launcher": (ask_about_plans, WIDE, "light", "launcher"),
    "widget-mobile": (handoff, NARROW, "light", "launcher"),
    "widget-approval": (approval, (620, 620), "light", "inline"),
    "widget-handoff": (handoff, (620, 620), "light", "inline"),
}


async def take(browser: Browser, name: str) -> None:
    """Take one picture."""
    play, (width, height), scheme, mode = PICTURES[name]
    colours: Literal["dark", "light"] = "dark" if scheme == "dark" else "light"
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=colours, locale="en-US", reduced_motion="reduce"
    )
    page = await context.new_page()
    harness = await Harness(page).open()
    if mode == "launcher":
        await page.evaluate(AS_A_LAUNCHER)
        await page.get_by_role("button", name="Open chat").click()
    await play(harness)
    await page.locator("textarea").blur()
    await page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")
    await context.close()


async def main() -> None:
    """Take all pictures."""
    web.build()
    async with async_playwright() as playwright:
        browser = await start(playwright)
        for name in PICTURES:
            await take(browser, name)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())

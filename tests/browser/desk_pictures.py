"""Takes the pictures of a desk, in the console and in the chat widget: ``python -m tests.browser.desk_pictures``.

The demo model plays the script of the example project ``shop``.
"""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from pathlib import Path

import httpx
from playwright.async_api import Browser, Page, async_playwright, expect

from baton_local import web
from baton_local.root import ROOT
from tests.browser.chromium import start
from tests.browser.console import Console
from tests.browser.desks import PERMISSIONS, write_desks
from tests.e2e.cloud import RunningCloud

SCRIPT = ROOT / "examples" / "projects" / "shop" / "demo.yaml"
CONSOLE = ROOT / "docs" / "pictures" / "console-desk.png"
WIDGET = ROOT / "docs" / "images" / "widget-person.png"
WAITING = [("berta", "My teapot of A-1002 is damaged."), ("carl", "I want to talk to a human about my invoice.")]


async def wait_for_people(cloud: RunningCloud) -> None:
    """Have other customers wait for people."""
    for user, text in WAITING:
        headers = {"Authorization": f"Bearer {cloud.token('demo', user)}"}
        body = {"sessionId": f"{user}s-order", "messageId": str(uuid.uuid4()), "message": text}
        async with httpx.AsyncClient(
            base_url=f"{cloud.url}/v1", headers=headers, timeout=60, trust_env=False
        ) as client:
            (await client.post("/messages", json=body)).raise_for_status()


async def ask(page: Page, text: str) -> None:
    """Write into the widget."""
    field = page.get_by_role("textbox", name="Your message")
    await field.fill(text)
    await field.press("Enter")


async def open_page(browser: Browser, width: int, height: int) -> Page:
    """Return the page of a new window."""
    context = await browser.new_context(
        viewport={"width": width, "height": height}, locale="en-US", reduced_motion="reduce"
    )
    return await context.new_page()


async def take(cloud: RunningCloud) -> None:
    """Take both pictures."""
    async with async_playwright() as playwright:
        browser = await start(playwright)
        page = await open_page(browser, 620, 760)
        await page.goto(cloud.url)
        await ask(page, "My lamp of A-1001 arrived with a scratch. I want a refund.")
        log = page.get_by_role("log", name="Conversation")
        await expect(log).to_contain_text("Somebody will answer here soon.")
        await wait_for_people(cloud)
        console = Console(await open_page(browser, 1280, 860), cloud.url)
        await console.open("/desk")
        await console.sign_in("demo", "Anna", *PERMISSIONS)
        await console.main.get_by_role("link", name="arrived with a scratch").click()
        await console.main.get_by_role("button", name="Take").click()
        field = console.main.get_by_role("textbox", name="Message")
        await field.fill("I am sorry. You get 20 euros back.")
        await field.press("Enter")
        await expect(log).to_contain_text("You get 20 euros back.")
        await ask(page, "Thank you, that is fine with me.")
        await expect(console.main.get_by_role("log")).to_contain_text("that is fine with me.")
        for passing in ("is typing", "You have taken the conversation."):
            await expect(console.page.get_by_text(passing)).to_have_count(0, timeout=30_000)
        await page.locator("textarea").blur()
        await page.locator("baton-chat").screenshot(path=WIDGET, animations="disabled")
        await console.page.screenshot(path=CONSOLE, animations="disabled")
        await browser.close()


def main() -> None:
    """Take both pictures."""
    web.build()
    settings = {"BATON_DEMO_SCRIPT": str(SCRIPT), "BATON_DEMO_DELAY_MS": "1"}
    with (
        tempfile.TemporaryDirectory() as folder,
        RunningCloud(agents=write_desks(Path(folder)), settings=settings) as cloud,
    ):
        asyncio.run(take(cloud))


if __name__ == "__main__":
    main()

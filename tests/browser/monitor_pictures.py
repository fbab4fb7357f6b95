"""Takes the pictures of the monitor in the console: ``python -m tests.browser.monitor_pictures``.

The local cloud plays the server's part with the demo model: three people talk, then one of them is forgotten.
"""

from __future__ import annotations

import asyncio

import httpx
from playwright.async_api import Page, async_playwright, expect

from baton_local import web
from baton_local.root import ROOT
from tests.browser.chromium import start
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud

PICTURES = ROOT / "docs" / "pictures"
PRICES = '{"baton-demo": {"input": 2.5, "cachedInput": 0.25, "output": 10}}'
TALKS = {
    "ada": (
        "Hello, what can you do?",
        "What do you know about best practices for workflows?",
        "I want to create a skill that sends Slack alerts",
        "When an error occurs",
    ),
    "grace": ("Tell me a story about whales",),
    "joan@example.com": ("My address is joan@example.com.", "Tell me a story about whales"),
}


async def talk(cloud: RunningCloud) -> str:
    """Hold the conversations of all users, and return the first one."""
    first = ""
    for user, texts in TALKS.items():
        headers = {"Authorization": f"Bearer {cloud.token('demo', user, 'skill:create')}"}
        base_url = f"{cloud.url}/v1"
        async with httpx.AsyncClient(base_url=base_url, headers=headers, timeout=60, trust_env=False) as client:
            for text in texts:
                answer = await client.post("/messages", json={"sessionId": f"of-{user}", "message": text})
                first = first or answer.raise_for_status().json()["sessionId"]
    return first


async def take_picture(page: Page, name: str) -> None:
    await page.screenshot(path=PICTURES / f"console-{name}.png", animations="disabled")


async def take(cloud: RunningCloud) -> None:
    """Take the pictures."""
    thread_id = await talk(cloud)
    async with async_playwright() as playwright:
        browser = await start(playwright)
        context = await browser.new_context(
            viewport={"width": 1280, "height": 860}, locale="en-US", reduced_motion="reduce"
        )
        page = await context.new_page()
        console = Console(page, cloud.url)
        await console.open()
        await console.sign_in("demo", "admin")
        await expect(console.main.get_by_text("These are all")).to_be_visible()
        await take_picture(page, "overview")

        await console.open(f"/threads/{thread_id}")
        await console.main.get_by_role("option").filter(has_text="Turn").nth(1).click()
        await expect(console.main.get_by_role("complementary", name="Details")).to_contain_text("Input tokens")
        await take_picture(page, "timeline")

        await console.open("/audit")
        await expect(console.main.get_by_role("table", name="Audit")).to_contain_text("handoff")
        await take_picture(page, "audit")

        await console.open("/users/joan@example.com")
        await console.main.get_by_role("button", name="Forget this user").click()
        await console.main.get_by_label("to confirm").fill("joan@example.com")
        await console.main.get_by_role("button", name="Forget now").click()
        await expect(console.main.get_by_role("region", name="Report")).to_contain_text("threads: 1", timeout=60_000)
        await take_picture(page, "forget")
        await browser.close()


def main() -> None:
    """Take the pictures."""
    web.build()
    PICTURES.mkdir(exist_ok=True)
    with RunningCloud(settings={"BATON_DEMO_DELAY_MS": "1", "BATON_MODEL_PRICES": PRICES}) as cloud:
        asyncio.run(take(cloud))


if __name__ == "__main__":
    main()

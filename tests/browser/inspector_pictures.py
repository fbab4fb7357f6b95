"""Takes the pictures of the inspector in the console: ``python -m tests.browser.inspector_pictures``.

The local cloud plays the server's part with the demo model: a question is asked before the document is there that
answers it, and run again afterwards.
"""

from __future__ import annotations

import asyncio

import httpx
from playwright.async_api import async_playwright, expect

from baton_local import web
from baton_local.root import ROOT
from tests.browser.chromium import start
from tests.browser.console import Console
from tests.documents import PDF, pdf
from tests.e2e.cloud import RunningCloud

PICTURES = ROOT / "docs" / "pictures"
QUESTION = "How is the pump started?"
PUMPS = [("Starting", ["The pump is started by opening the blue valve by hand."])]


async def take(cloud: RunningCloud) -> None:
    """Take the pictures of a turn's record, and of the same turn run again."""
    headers = {"Authorization": f"Bearer {cloud.token('demo', 'ada')}"}
    async with (
        httpx.AsyncClient(base_url=f"{cloud.url}/v1", headers=headers, timeout=60, trust_env=False) as client,
        async_playwright() as playwright,
    ):
        for text in ("Hello", "We have a new pump in the works.", QUESTION):
            answer = await client.post("/messages", json={"sessionId": "pumps", "message": text})
            run_id, thread_id = answer.json()["runId"], answer.json()["sessionId"]
        browser = await start(playwright)
        context = await browser.new_context(
            viewport={"width": 1280, "height": 1000}, locale="en-US", reduced_motion="reduce"
        )
        page = await context.new_page()
        console = Console(page, cloud.url)
        await console.open("/documents/assistant")
        await console.sign_in("demo", "admin")
        files = [{"name": "pumps.pdf", "mimeType": PDF, "buffer": pdf(PUMPS, title="Pumps")}]
        await console.main.get_by_label("Choose files").set_input_files(files)  # type: ignore[arg-type]
        await expect(console.main.get_by_role("table", name="Documents")).to_contain_text("Ready", timeout=60_000)

        await console.open(f"/threads/{thread_id}/turns/{run_id}")
        await console.main.locator("summary").filter(has_text="History").first.click()
        await console.main.get_by_role("combobox", name="With").select_option(index=1)
        await expect(console.main.locator("context-diff").get_by_text("came").first).to_be_visible()
        await page.screenshot(path=PICTURES / "console-inspector.png", animations="disabled")
        await console.main.get_by_role("button", name="Run again").click()
        again = console.main.locator("run-again")
        await expect(again.get_by_role("heading", name="Answer of now")).to_be_visible()
        await expect(again).to_contain_text("blue valve")
        await again.evaluate("element => element.scrollIntoView()")
        await page.screenshot(path=PICTURES / "console-rerun.png", animations="disabled")
        await browser.close()


def main() -> None:
    """Take the pictures."""
    web.build()
    PICTURES.mkdir(exist_ok=True)
    with RunningCloud(settings={"BATON_DEMO_DELAY_MS": "1"}) as cloud:
        asyncio.run(take(cloud))


if __name__ == "__main__":
    main()

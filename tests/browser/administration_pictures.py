"""Takes the pictures of administration in the console: ``python -m tests.browser.administration_pictures``.

The local cloud plays the server's part, with the demo model and the agents of the examples.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
from playwright.async_api import async_playwright, expect

from baton_local import web
from baton_local.root import ROOT
from tests.browser.chromium import start
from tests.browser.console import Console
from tests.documents import PDF, pdf
from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.peers import example_agents, example_server

PICTURES = ROOT / "docs" / "pictures"
TUTOR = {
    "name": "Tutor",
    "description": "Helps with homework.",
    "main": True,
    "systemPrompt": "Ask one question.\nWait.",
}
OUTAGE = "Please report an outage of Miller Ltd to #operations. Berta is at berta@miller.example."
PUMPS = [
    ("Pumps", ["This manual is about the pumps of the works."]),
    ("Starting", ["The pump is started by opening the blue valve by hand.", "Never start it while the tank is empty."]),
]


async def agent(console: Console, client: httpx.AsyncClient) -> None:
    """A definition with a mistake in it."""
    for prompt in (TUTOR["systemPrompt"], "Ask two questions.\nWait."):
        await client.put("/agents/tutor", json=TUTOR | {"systemPrompt": prompt}, params={"comment": "Two are better"})
    await console.open("/agents/tutor")
    editor = console.main.get_by_role("textbox", name="Definition of tutor")
    await editor.click()
    await console.page.keyboard.press("ControlOrMeta+End")
    await console.page.keyboard.insert_text("memory:\n  semantic_top_k: 99\n")
    await expect(console.main.get_by_text("1 problem")).to_be_visible()


async def conflict(console: Console, client: httpx.AsyncClient) -> None:
    """Two administrators have changed the same agent."""
    editor = console.main.get_by_role("textbox", name="Definition of tutor")
    await editor.click()
    await console.page.keyboard.press("ControlOrMeta+a")
    await console.page.keyboard.insert_text(
        "id: tutor\nname: Tutor\ndescription: Helps with homework and tests.\n"
        "system_prompt: |-\n  Ask two questions.\n  Wait.\nmain: true\n"
    )
    await expect(console.main.get_by_text("The definition is valid.")).to_be_visible()
    await client.put("/agents/tutor", json=TUTOR | {"systemPrompt": "Ask three questions.\nWait."})
    await console.main.get_by_role("button", name="Save", exact=True).click()
    await expect(console.main.get_by_text("Somebody else has changed this agent")).to_be_visible()
    await expect(console.main.locator("console-diff")).to_contain_text("Ask three questions.")


async def procedure(console: Console, client: httpx.AsyncClient) -> None:
    """A captured procedure beside the task that it was made of."""
    body = {"sessionId": "outage", "agentId": "operator", "message": OUTAGE}
    await client.post("/messages", json=body, headers={"Authorization": client.headers["X-Berta"]})
    captured = False
    while not captured:
        await asyncio.sleep(0.5)
        captured = bool((await client.get("/procedures")).json()["items"])
    await console.open("/procedures")
    await console.main.get_by_role("link", name="Report an outage").click()
    await expect(console.main.locator("procedure-source")).to_contain_text("Calls open_ticket")


async def documents(console: Console, client: httpx.AsyncClient) -> None:
    """Documents, and what is found in them."""
    await console.open("/documents/assistant")
    files = [{"name": "pumps.pdf", "mimeType": PDF, "buffer": pdf(PUMPS, title="Pumps")}]
    await console.main.get_by_label("Choose files").set_input_files(files)  # type: ignore[arg-type]
    await expect(console.main.get_by_role("table", name="Documents")).to_contain_text("Ready")
    await console.main.get_by_role("textbox", name="Question").fill("How is the pump started?")
    await console.main.get_by_role("button", name="Find").click()
    await expect(console.main.get_by_role("list", name="Try retrieval")).to_contain_text("blue valve")


SCENES: dict[str, Callable[[Console, httpx.AsyncClient], Awaitable[None]]] = {
    "console-agent": agent,
    "console-conflict": conflict,
    "console-procedure": procedure,
    "console-documents": documents,
}


async def take(cloud: RunningCloud) -> None:
    """Take all pictures."""
    permissions = ("agent:write", "document:write", "procedure:approve", "thread:read_all", "context:inspect")
    headers = {"Authorization": f"Bearer {cloud.token('demo', 'bob', *permissions)}"}
    headers["X-Berta"] = f"Bearer {cloud.token('demo', 'berta')}"
    async with (
        httpx.AsyncClient(base_url=f"{cloud.url}/v1", headers=headers, timeout=60, trust_env=False) as client,
        async_playwright() as playwright,
    ):
        browser = await start(playwright)
        context = await browser.new_context(
            viewport={"width": 1280, "height": 860}, locale="en-US", reduced_motion="reduce"
        )
        console = Console(await context.new_page(), cloud.url)
        await console.open("/agents")
        await console.sign_in("demo", "ada", *permissions)
        for name, play in SCENES.items():
            await play(console, client)
            await console.page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")
        await browser.close()


def main() -> None:
    """Take all pictures."""
    web.build()
    PICTURES.mkdir(exist_ok=True)
    with example_server() as server, tempfile.TemporaryDirectory() as folder:
        agents = example_agents(Path(folder), server)
        with RunningCloud(agents=agents, settings={"BATON_DEMO_DELAY_MS": "1"}) as cloud:
            asyncio.run(take(cloud))


if __name__ == "__main__":
    main()

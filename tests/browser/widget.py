"""The guide to the widget, followed to the letter: a foreign page with a strict policy, and its server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.async_api import Locator, Page, expect

from local.engines.process import free_port
from tests.browser.screens import WRITTEN
from tests.e2e.fixtures import EMBED_GUIDE
from tests.unit.docs.pages import ROOT, block

GUIDE = ROOT / "docs" / "how-to" / "add-the-chat-widget.md"


@dataclass(frozen=True)
class ForeignSite:
    """The guide's site, running, and the conversation that its page shows."""

    url: str
    session_id: str
    token: str
    """A token that the site has given out."""


@contextmanager
def foreign_site(folder: Path, product: str, attributes: str = "") -> Iterator[ForeignSite]:
    """Save the guide's files in an empty folder and start its server. ``product`` is Baton's address."""
    session_id = f"order-{uuid.uuid4()}"
    address = product.removeprefix("http://")
    page = block(GUIDE, "widget_page").replace("<baton-chat ", f"<baton-chat {attributes} ")
    files = {
        "baton_token.py": block(EMBED_GUIDE, "embed_token"),
        "server.py": block(GUIDE, "widget_server"),
        "public/index.html": page.replace("order-4711", session_id),
    }
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace(WRITTEN, address))
    port = free_port()
    key = json.loads(block(EMBED_GUIDE, "embed_keys"))["acme-1"]["key"]
    environment = {**os.environ, "BATON_EMBED_KEY": key, "HOST_PORT": str(port)}
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [sys.executable, "server.py"], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=10), trust_env=False) as client:
                token = client.get(f"{url}/baton-token").text
            yield ForeignSite(url, session_id, token)
        finally:
            process.kill()


@dataclass(frozen=True)
class Widget:
    """The widget on a page."""

    page: Page
    url: str

    async def open(self) -> None:
        """Load the page, open the panel, and return once it is connected."""
        await self.page.goto(self.url)
        await self.page.get_by_role("button", name="Open chat").click()
        await self.connected()

    async def connected(self) -> None:
        """Wait until there is a connection."""
        await expect(self.status).to_have_attribute("data-status", "open")

    @property
    def status(self) -> Locator:
        """How the connection is."""
        return self.page.locator("[part=status]")

    @property
    def stop(self) -> Locator:
        """The button that stops a run."""
        return self.page.get_by_role("button", name="Stop")

    @property
    def input(self) -> Locator:
        """Where messages are written."""
        return self.page.get_by_role("textbox", name="Your message")

    def said(self, role: str) -> Locator:
        """The bodies of what was said by "user" or "assistant"."""
        return self.page.locator(f"article.{role} .body")

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        await self.input.fill(text)
        await self.page.keyboard.press("Enter")

    async def pass_time(self, seconds: float) -> None:
        """Have the page's clock run on, as fast as it can."""
        await self.page.clock.run_for(round(seconds * 1000))

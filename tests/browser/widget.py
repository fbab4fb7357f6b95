"""The guide to the widget, followed to the letter: a foreign page with a strict policy, and its server."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import Error, Locator, Page, expect

from tests.browser.screens import HostApplication, serving_guide
from tests.e2e.fixtures import EMBED_GUIDE
from tests.unit.docs.pages import ROOT, block

GUIDE = ROOT / "docs" / "how-to" / "add-the-chat-widget.md"


def foreign_site(
    folder: Path, product: str, *, scripts: Mapping[str, str] | None = None, styles: str = ""
) -> AbstractContextManager[HostApplication]:
    """Save the guide's files in an empty folder and start its server. ``product`` is Baton's address.

    ``scripts`` by name and ``styles`` are files of the host, which the page loads too.
    """
    page, own = block(GUIDE, "widget_page"), scripts or {}
    head = [f'<script type="module" src="{name}"></script>' for name in own] + [
        '<link rel="stylesheet" href="own.css">'
    ]
    files = {
        "baton_token.py": block(EMBED_GUIDE, "embed_token"),
        "server.py": block(GUIDE, "widget_server"),
        "public/index.html": page.replace("</head>", f"{''.join(head)}</head>"),
        "public/own.css": styles,
        **{f"public/{name}": text for name, text in own.items()},
    }
    return serving_guide(folder, product, files)


@dataclass(frozen=True)
class Widget:
    """The widget on a page."""

    page: Page
    url: str

    async def open(self) -> None:
        """Load the page, open the panel, and return once it is connected."""
        await self.page.goto(self.url)
        await self.page.get_by_role("button", name="Open chat").click()
        await self.wait_until_connected()

    async def wait_until_connected(self) -> None:
        """Wait until there is a connection."""
        await expect(self.status).to_have_attribute("data-status", "open")

    @property
    def status(self) -> Locator:
        """The state of the connection."""
        return self.page.locator("[part=status]")

    @property
    def stop(self) -> Locator:
        """The button that stops a run."""
        return self.page.get_by_role("button", name="Stop")

    @property
    def input(self) -> Locator:
        """The input for messages."""
        return self.page.get_by_role("textbox", name="Your message")

    def locate_bodies(self, role: str) -> Locator:
        """Return the bodies of the messages of "user" or "assistant"."""
        return self.page.locator(f"article.{role} .body")

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        await self.input.fill(text)
        await self.page.keyboard.press("Enter")

    async def pass_time(self, seconds: float) -> None:
        """Have the page's clock run on, as fast as it can."""
        await self.page.clock.run_for(round(seconds * 1000))

    async def stop_time(self) -> None:
        """Have the page's clock stand still, so that the page does nothing by itself, until ``go_on``."""
        for margin in (0.1, 0.2, 0.4, 0.8):  # on busy cores a moment has passed when the page is asked to stop at it
            now: int = await self.page.evaluate("Date.now()")
            try:
                await self.page.clock.pause_at(datetime.fromtimestamp(now / 1000 + margin, UTC))
            except Error as late:
                if "past" not in str(late):
                    raise
            else:
                return
        raise AssertionError("The page's clock did not stop.")

    async def go_on(self) -> None:
        """Have the page's clock run again."""
        await self.page.clock.resume()

"""A headless Chromium: the machine's own, else the one that Playwright installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Error, Page, async_playwright

SYSTEM_CHROMIUM = "/usr/bin/chromium"
PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser; without one the tests are skipped."""
    async with async_playwright() as playwright:
        executable = first_existing(SYSTEM_CHROMIUM, playwright.chromium.executable_path)
        # Containers run as root, where Chromium's own sandbox cannot start.
        launched = await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield launched
        await launched.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page with nothing stored, which must not run into an error of its own."""
    context = await browser.new_context(locale="en-US", timezone_id="UTC")
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    errors: list[Error] = []
    page.on("pageerror", lambda error: errors.append(error))
    yield page
    await context.close()
    assert errors == []


def first_existing(*paths: str) -> str:
    """The first of the programs that is there; skips without any."""
    for path in paths:
        if Path(path).exists():
            return path
    pytest.skip("There is no Chromium: install the system's, or run `playwright install chromium`.")

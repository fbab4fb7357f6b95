"""A headless Chromium for tests."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Error, Page, async_playwright

from tests.browser.chromium import start

PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser. Without one the tests are skipped, but not in continuous integration."""
    async with async_playwright() as playwright:
        try:
            launched = await start(playwright)
        except Error as problem:
            if "Executable doesn't exist" not in problem.message or os.environ.get("CI"):
                raise
            pytest.skip("There is no Chromium: install the system's, or run `playwright install chromium`.")
        yield launched
        await launched.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page with nothing stored, which must not run into a separate error."""
    context = await browser.new_context(locale="en-US", timezone_id="UTC")
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    errors: list[Error] = []
    page.on("pageerror", lambda error: errors.append(error))
    yield page
    await context.close()
    assert errors == []

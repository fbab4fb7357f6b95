"""A headless Chromium for tests."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Page, async_playwright

from baton_local import web
from tests.browser.chromium import start

PATIENCE_MS = 60_000


@dataclass
class Profile:
    """A context of the browser, with a session of the DevTools on a page that stays."""

    context: BrowserContext
    session: CDPSession
    _origins: set[str] = field(default_factory=set)
    _pages: list[Page] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note where a page and its frames go."""
        self._pages.append(page)
        page.on("framenavigated", lambda frame: self._origins.add(_origin(frame.url)))

    async def clear(self) -> None:
        """Close the pages, and forget what they have stored and set."""
        for page in self._pages:
            await page.close()
        for origin in self._origins:
            await self.session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        await self.context.clear_cookies()
        await self.context.clear_permissions()
        await self.context.unroute_all()
        self._pages.clear()
        self._origins.clear()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser, for pages that are built. Without one the tests are skipped, but not in continuous integration."""
    web.build()
    async with async_playwright() as playwright:
        try:
            launched = await start(playwright)
        except Error as problem:
            if "Executable doesn't exist" not in problem.message or os.environ.get("CI"):
                raise
            pytest.skip("There is no Chromium: install the system's, or run `playwright install chromium`.")
        yield launched
        await launched.close()


@pytest.fixture(scope="module")
async def profile(browser: Browser) -> AsyncIterator[Profile]:
    """The context of a module's pages. They share a process, which has compiled Baton's scripts with the first one."""
    context = await browser.new_context(locale="en-US", timezone_id="UTC")
    context.set_default_timeout(PATIENCE_MS)
    profile = Profile(context, await context.new_cdp_session(await context.new_page()))
    context.on("page", profile.watch)
    yield profile
    await context.close()


@pytest.fixture
async def page(profile: Profile) -> AsyncIterator[Page]:
    """A page with nothing stored, which must not run into a separate error."""
    page = await profile.context.new_page()
    errors: list[Error] = []
    page.on("pageerror", lambda error: errors.append(error))
    yield page
    await profile.clear()
    assert errors == []

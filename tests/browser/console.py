"""The console at ``/monitor`` of a local cloud, as a person who is signed in sees it."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

ADMINISTRATOR = (
    "agent:write",
    "audit:read",
    "context:inspect",
    "document:write",
    "pii:read",
    "procedure:approve",
    "tenant:manage",
    "thread:read_all",
    "user:manage",
)


@dataclass
class Console:
    """The page, and where it is served."""

    page: Page
    url: str

    async def sign_in(self, tenant: str, user: str = "admin", *permissions: str) -> None:
        """Sign in with these permissions, or with all; the page stays where it is."""
        await self.page.get_by_role("textbox", name="Tenant").fill(tenant)
        await self.page.get_by_role("textbox", name="User").fill(user)
        await self.page.get_by_role("textbox", name="Permissions").fill(" ".join(permissions or ADMINISTRATOR))
        await self.page.get_by_role("button", name="Sign in").click()
        await expect(self.navigation).to_be_visible()

    async def open(self, place: str = "/") -> None:
        """Go to a place, as ``/threads``."""
        await self.page.goto(f"{self.url}/monitor/#{place}")

    @property
    def navigation(self) -> Locator:
        return self.page.get_by_role("navigation", name="Views")

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

"""The console at ``/monitor`` of a local cloud, as a person who is signed in sees it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import httpx
from playwright.async_api import Locator, Page, expect

from tests.e2e.cloud import RunningCloud

ADMINISTRATOR = (
    "agent:write",
    "audit:read",
    "context:inspect",
    "desk:answer",
    "document:write",
    "pii:read",
    "procedure:approve",
    "schedule:manage",
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

    async def open(self, location: str = "/") -> None:
        """Go to a place, as ``/threads``."""
        await self.page.goto(f"{self.url}/monitor/#{location}")

    @property
    def navigation(self) -> Locator:
        return self.page.get_by_role("navigation", name="Views")

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")


async def say(cloud: RunningCloud, tenant: str, user: str, session: str, text: str) -> str:
    """Send a message and return the run's id when it is answered."""
    headers = {"Authorization": f"Bearer {cloud.token(tenant, user)}"}
    body = {"sessionId": session, "messageId": str(uuid.uuid4()), "message": text}
    async with httpx.AsyncClient(base_url=cloud.url, timeout=120) as client:
        answer = await client.post("/v1/messages", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["runId"])

"""Signing in to the console with an OpenID Connect issuer, and what stays on the page when that ends."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.errors import Unauthorized
from baton.domain.token_issuer import OidcIssuer
from local import web
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud

expect.set_options(timeout=60_000)

PROVIDER = web.SOURCES / "console" / "test" / "issuer.mjs"
RESOURCE = "https://baton.example/v1"
TITLE = "Refund of the order 4711"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """What the local cloud serves is what the sources say."""
    web.build()


@pytest.fixture(scope="module")
async def issuer(cloud: RunningCloud) -> AsyncIterator[str]:
    """A provider that signs everybody in whom their own name describes: ``acme ada audit:read``."""
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or "node"
    running = await asyncio.create_subprocess_exec(
        node, PROVIDER, f"{cloud.url}/monitor/", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert running.stdout is not None
    async for line in running.stdout:
        if line.startswith(b"issuer "):
            yield line.split()[1].decode()
            break
    running.kill()
    await running.wait()


class Deployment:
    """The console as it is deployed for an issuer, and the API's answers to the tokens of that issuer."""

    def __init__(self, page: Page, url: str, issuer: str) -> None:
        self.page = page
        self.url = url
        self.issuer = issuer
        self.tokens_are_taken = True
        self.lost: set[str] = set()
        """Permissions that the server no longer grants."""
        told = OidcIssuer.model_validate(
            {"issuer": issuer, "audience": "baton", "algorithms": ["RS256"], "tenantClaim": "tenant"}
        )
        self._verifier = JwtVerifier([told], None, allow_http=True)

    async def begin(self) -> None:
        """Serve the console with this issuer in its configuration and its policy."""
        oidc = {"issuer": self.issuer, "clientId": "console", "resource": RESOURCE}
        await self.page.route("**/monitor/config.json", lambda route: route.fulfill(json={"oidc": oidc}))
        await self.page.route(re.compile(r"/monitor/(\?[^#]*)?$"), self._serve_page)
        await self.page.route(f"{self.url}/v1/**", self._answer)

    async def _serve_page(self, route: Route) -> None:
        served = await route.fetch()
        policy = served.headers["content-security-policy"].replace("connect-src", f"connect-src {self.issuer}")
        await route.fulfill(response=served, headers={**served.headers, "content-security-policy": policy})

    async def _answer(self, route: Route) -> None:
        token = route.request.headers["authorization"].removeprefix("Bearer ")
        try:
            if not self.tokens_are_taken:
                raise Unauthorized("The token is no longer accepted.")
            identity = await asyncio.to_thread(self._verifier.verify, token)
        except Unauthorized as refused:
            await self._refuse(route, 401, "unauthorized", str(refused))
            return
        permissions = sorted(identity.scope.permissions - self.lost)
        path = route.request.url.removeprefix(f"{self.url}/v1/").split("?")[0]
        if path == "users/me":
            await route.fulfill(
                json={
                    "tenantId": identity.scope.tenant_id,
                    "userId": identity.scope.user_id,
                    "permissions": permissions,
                    "expiresAt": identity.expires_at.isoformat(),
                }
            )
        elif path == "threads" and "thread:read_all" in permissions:
            await route.fulfill(json={"items": [thread()], "nextCursor": "more"})
        else:
            await self._refuse(route, 403, "permission_missing", "The token lacks a permission.")

    async def _refuse(self, route: Route, status: int, code: str, detail: str) -> None:
        body = {"status": status, "code": code, "detail": detail, "retryable": False, "requestId": "r-1"}
        await route.fulfill(status=status, json=body, content_type="application/problem+json")


def thread() -> dict[str, Any]:
    """A conversation, as the list shows it."""
    tokens = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    agent = {"id": "assistant", "name": "Assistant", "description": "", "avatarUrl": None, "isMain": True}
    return {
        "id": "0f2d1c3e-0000-4000-8000-000000000001",
        "title": TITLE,
        "userId": "bob",
        "agentId": "assistant",
        "parentThreadId": None,
        "status": "active",
        "state": {"activeAgent": agent, "workflow": None, "resumable": [], "status": "active"},
        "episode": None,
        "usage": tokens,
        "run": None,
        "interrupts": [],
        "lastSeq": 1,
        "createdAt": "2026-01-01T00:00:00Z",
        "lastActivityAt": "2026-01-01T00:00:00Z",
        "cost": None,
        "lastError": None,
        "isSandbox": False,
    }


@pytest.fixture
async def deployment(page: Page, cloud: RunningCloud, issuer: str) -> Deployment:
    """The console of a deployment, nobody signed in."""
    deployed = Deployment(page, cloud.url, issuer)
    await deployed.begin()
    return deployed


async def sign_in(page: Page, who: str) -> None:
    """Go to the issuer and be whom the name says."""
    await page.get_by_role("button", name="Sign in").click()
    await page.locator("input[name=login]").fill(who)
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()


async def test_a_person_signs_in_at_the_issuer_and_stays_signed_in_until_they_sign_out(
    deployment: Deployment, page: Page
) -> None:
    console = Console(page, deployment.url)
    await console.open("/threads?q=refund")
    await sign_in(page, "acme ada thread:read_all audit:read")
    await expect(console.main).to_contain_text(TITLE)
    await expect(page).to_have_url(f"{deployment.url}/monitor/#/threads?q=refund")
    await expect(console.navigation).to_contain_text("acme")
    await page.reload()
    await expect(console.main).to_contain_text(TITLE)
    kept = await page.evaluate("JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])")
    assert "eyJ" not in kept, "Tokens are in memory only."
    await page.get_by_role("button", name="Sign out").click()
    await page.locator("button[name=logout]").click()
    await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.url.startswith(f"{deployment.url}/monitor/")


async def test_a_permission_or_a_token_that_is_lost_takes_what_it_showed_from_the_page(
    deployment: Deployment, page: Page
) -> None:
    console = Console(page, deployment.url)
    await console.open("/threads")
    await sign_in(page, "acme bea thread:read_all audit:read")
    await expect(console.main).to_contain_text(TITLE)
    deployment.lost = {"thread:read_all"}
    await console.main.get_by_role("button", name="Load more").click()
    await expect(console.main.get_by_role("alert")).to_contain_text("thread:read_all")
    await expect(page.get_by_text(TITLE)).to_have_count(0)
    deployment.lost = set()
    await page.reload()
    await expect(console.main).to_contain_text(TITLE)
    deployment.tokens_are_taken = False
    await console.main.get_by_role("button", name="Load more").click()
    await expect(page.get_by_role("alert")).to_contain_text("You are signed out")
    await expect(page.get_by_text(TITLE)).to_have_count(0)

"""Signing in to the console with an OpenID Connect issuer, and what stays on the page when that ends."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.errors import Unauthorized
from baton.domain.tenants.identity import OidcIssuer
from baton_local import web
from baton_local.gateway.application import CONSOLE_HEADERS
from baton_local.serving.asgi import AsgiApp, Receive, Scope, Send
from baton_local.serving.server import Server, claim
from tests.browser.console import Console

expect.set_options(timeout=60_000)

PROVIDER = web.SOURCES / "console" / "test" / "issuer.mjs"
RESOURCE = "https://baton.example/v1"
TITLE = "Refund of the order 4711"


class Deployment:
    """The console as it is deployed for an issuer, and an API that takes the tokens of that issuer."""

    def __init__(self) -> None:
        self._socket = claim(0)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.tokens_are_taken = True
        self.lost: set[str] = set()
        """Permissions that the server no longer grants."""
        self.refused: list[str] = []
        """The paths that were asked for with a token that is not accepted."""

    def start(self, issuer: str) -> Server:
        """Serve for this issuer."""
        oidc = {"issuer": issuer, "clientId": "console", "resource": RESOURCE}
        trusted = OidcIssuer(issuer=issuer, audience="baton")
        self._verifier = JwtVerifier(lambda: (trusted,), None, allow_http=True)
        files = StaticFiles(directory=web.build().parent / "console" / "dist", html=True)
        routes = [
            Route("/monitor/config.json", lambda _: JSONResponse({"oidc": oidc})),
            Route("/v1/{path:path}", self._answer),
            Mount("/monitor", _guarded(files, issuer)),
        ]
        server = Server(Starlette(routes=routes), self._socket)
        server.start()
        return server

    def _answer(self, request: Request) -> Response:
        try:
            if not self.tokens_are_taken:
                self.refused.append(request.path_params["path"])
                raise Unauthorized("The token is no longer accepted.")
            identity = self._verifier.verify(request.headers["authorization"].removeprefix("Bearer "))
        except Unauthorized as refused:
            return _problem(401, "unauthorized", str(refused))
        permissions = sorted(identity.scope.permissions - self.lost)
        path = request.path_params["path"]
        if path == "users/me":
            person = {"tenantId": identity.scope.tenant_id, "userId": identity.scope.user_id}
            return JSONResponse({**person, "permissions": permissions, "expiresAt": identity.expires_at.isoformat()})
        if path == "threads" and "thread:read_all" in permissions:
            return JSONResponse({"items": [thread()], "nextCursor": "more"})
        return _problem(403, "permission_missing", "The token lacks a permission.")


def _guarded(files: StaticFiles, issuer: str) -> AsgiApp:
    policy = CONSOLE_HEADERS["Content-Security-Policy"].replace("connect-src", f"connect-src {issuer}")
    headers = {**CONSOLE_HEADERS, "Content-Security-Policy": policy}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await files(scope, receive, send_guarded)

    return serve


def _problem(status: int, code: str, detail: str) -> Response:
    body = {"status": status, "code": code, "detail": detail, "retryable": False, "requestId": "r-1"}
    return JSONResponse(body, status_code=status, media_type="application/problem+json")


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
async def deployment() -> AsyncIterator[Deployment]:
    """The console of a deployment, with a provider that signs in whom a name describes: ``acme ada audit:read``."""
    deployed = Deployment()
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or "node"
    provider = await asyncio.create_subprocess_exec(
        node,
        PROVIDER,
        f"{deployed.url}/monitor/",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert provider.stdin is not None
    assert provider.stdout is not None
    await provider.stdout.readuntil(b"issuer ")
    issuer = (await provider.stdout.readline()).decode().strip()
    server = deployed.start(issuer)
    yield deployed
    server.stop()
    provider.stdin.close()
    await provider.wait()


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
    stored = await page.evaluate("JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])")
    assert "eyJ" not in stored, "Tokens are in memory only."
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
    assert deployment.refused == ["threads", "users/me"]

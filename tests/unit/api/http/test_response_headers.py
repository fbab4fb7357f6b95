"""Every response says that it is what its type says, and that nobody keeps it."""

from __future__ import annotations

import re

import httpx
import pytest
from starlette.responses import Response

from baton.api.a2a.access import A2AAccess
from baton.api.http.middleware import ResponseHeaders
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.mcp_client import McpServed, request
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served, openapi

KEPT = {
    # What everybody may read without a token, and may keep for some minutes.
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/a2a",
    "/a2a/{agent_id}",
    "/a2a/{agent_id}/.well-known/agent-card.json",
    "/agent/authenticatedExtendedCard",
    "/.well-known/agent-card-keys.json",
    "/.well-known/jwks.json",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
}
"""Routes whose answers may be kept, because they say so. A card for a token's holder is ``private``."""
METHODS = ("GET", "POST", "DELETE", "OPTIONS")


def check(answer: httpx.Response, *, may_be_kept: bool = False) -> None:
    where = f"{answer.request.method} {answer.request.url}: {answer.status_code}"
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"], where
    [stored] = answer.headers.get_list("cache-control")
    is_kept = "max-age" in stored
    assert is_kept or "no-store" in stored, where
    assert not is_kept or (may_be_kept and answer.status_code in (200, 304)), where


@pytest.mark.nightly
async def test_every_route_and_method_with_and_without_a_token() -> None:
    served = Served(a2a=A2AAccess(pushes=lambda: True))
    paths = [*openapi()["paths"], "/v1/docs", "/v1/docs/swagger-ui.js", "/v1/docs/x", "/v1/openapi.json"]
    transport = httpx.ASGITransport(served.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test") as client:
        for path in [*paths, "/", "/nothing", "/v1/threads/", "/v1/../x"]:
            filled = re.sub(r"\{\w+\}", "x", path)
            for method in METHODS:
                for headers in ({}, {"Authorization": "Bearer acme,ada"}):
                    answer = await client.request(method, filled, headers=headers)
                    check(answer, may_be_kept=path in KEPT)
        preflight = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
        check(await client.options("/v1/runs", headers=preflight))
        check(await client.post("/v1/messages", content=b"x" * (6 * 1024 * 1024)))
        check(await client.post("/v1/messages", content=b"{", headers={"Authorization": "Bearer acme,ada"}))


async def test_streams_and_exports() -> None:
    served = Served()
    check(await served.post("/runs", run_input(served)))
    check(await served.get(f"/threads/{served.harness.thread_id}/events"))
    check(await served.get("/users/me/export"))


async def test_answers_of_a2a_and_mcp() -> None:
    a2a = A2AServed()
    headers = {"Authorization": "Bearer acme,ada"}
    transport = httpx.ASGITransport(a2a.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test", headers=headers) as client:
        for method in ("message/send", "message/stream", "nothing"):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": blocking(message("Hello", method))}
            check(await client.post("/a2a", json=body))
        check(await client.post("/a2a/v1/message:send", json={"message": message("Hello", "m-9")}))
    for call in (request("tools/list"), request("nothing"), {}):
        check(await McpServed.over().send(call))


async def test_an_error_that_nobody_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    served = Served()

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(type(served.harness.store), "get_thread", fail)
    transport = httpx.ASGITransport(served.app, raise_app_exceptions=False)
    headers = {"Authorization": "Bearer acme,ada"}
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test", headers=headers) as client:
        answer = await client.get(f"/v1/threads/{served.harness.thread_id}")
    assert answer.status_code == 500
    check(answer)


async def test_what_a_response_says_itself_stays() -> None:
    app = ResponseHeaders(Response(headers={"Cache-Control": "public, max-age=60", "X-Content-Type-Options": "other"}))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://baton.test") as client:
        answer = await client.get("/")
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert answer.headers.get_list("x-content-type-options") == ["other"]


async def test_the_page_about_the_api_runs_its_own_scripts_only() -> None:
    answer = await Served().get("/docs")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert re.fullmatch(r"'self' 'sha256-[A-Za-z0-9+/]{43}='", policy["script-src"])
    assert (policy["frame-ancestors"], policy["base-uri"], policy["connect-src"]) == ("'none'", "'none'", "'self'")

"""Rules for all views of the console: the policy, accessibility, both colour schemes, and permissions."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from baton_local import web
from tests.browser.console import Console
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel

pytestmark = pytest.mark.nightly

expect.set_options(timeout=60_000)

HOSTILE = (
    '<img src=x onerror="alert(1)"> \u202egnp.exe </textarea><script>alert(2)</script> {{7*7}} javascript:alert(3)'
)
HOSTILE_USER = '<img src=x onerror="alert(1)">'
AXE = web.SOURCES / "node_modules" / "axe-core" / "axe.min.js"
PLACES = {
    "/": "thread:read_all",
    "/threads": "thread:read_all",
    "/compare": "thread:read_all",
    "/desk": "desk:answer",
    "/workflows": "thread:read_all",
    "/schedules": "schedule:manage",
    "/audit": "audit:read",
    "/agents": "agent:write",
    "/evaluations": "agent:write",
    "/procedures": "procedure:approve",
    "/documents": "document:write",
    "/users": "user:manage",
    "/limits": "tenant:manage",
    "/usage": "tenant:manage",
    "/webhooks": "tenant:manage",
}


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The local cloud serves a build of the current sources."""
    web.build()


async def violations(page: Page) -> list[str]:
    """Return the problems that axe finds in the page."""
    results: dict[str, Any] = await page.evaluate("axe.run()")
    return [f"{violation['id']} {[node['html'] for node in violation['nodes']]}" for violation in results["violations"]]


async def test_every_view_shows_hostile_content_as_text_and_is_accessible_in_light_and_dark(
    page: Page, cloud: RunningCloud, model: FaultModel
) -> None:
    tenant, session = f"t{uuid.uuid4().hex[:8]}", str(uuid.uuid4())
    headers = {"Authorization": f"Bearer {cloud.token(tenant, HOSTILE_USER)}"}
    body = {"sessionId": session, "messageId": "m-1", "message": HOSTILE}
    async with httpx.AsyncClient(base_url=cloud.url, timeout=60) as client:
        answer = await client.post("/v1/messages", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    run = f"{session}/{answer.json()['runId']}"
    elsewhere: list[str] = []
    reported: list[str] = []
    page.on(
        "request", lambda entry: None if entry.url.startswith((cloud.url, "data:")) else elsewhere.append(entry.url)
    )
    page.on("console", lambda entry: reported.append(entry.text) if entry.type == "error" else None)
    page.on("dialog", lambda entry: reported.append(entry.message))
    console = Console(page, cloud.url)
    await console.open()
    await console.sign_in(tenant)
    await page.evaluate(AXE.read_text())
    results = {}
    places = [
        *PLACES,
        f"/threads/{session}?at=message:m-1",
        f"/threads/{run.replace('/', '/turns/')}",
        f"/compare?left={run}&right={run}",
        f"/users/{HOSTILE_USER}",
    ]
    for location in places:
        await page.evaluate("place => { location.hash = '#' + encodeURI(place) }", location)
        await expect(console.main.get_by_role("heading", level=1)).to_be_visible()
        await expect(console.main.get_by_text("Loading …")).to_have_count(0)
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)
            if wrong := await violations(page):
                results[f"{location} {scheme}"] = wrong
    assert results == {}, "\n".join(f"{location}: {item}" for location, wrong in results.items() for item in wrong)
    assert elsewhere == []
    assert reported == []


async def test_a_view_whose_permission_is_missing_says_so_and_asks_the_server_nothing(
    page: Page, cloud: RunningCloud
) -> None:
    console = Console(page, cloud.url)
    await console.open("/nowhere")
    requests: list[str] = []
    page.on("request", lambda entry: requests.append(entry.url.removeprefix(cloud.url)))
    await console.sign_in("demo", "nobody", "none:at_all")
    await expect(console.navigation.get_by_role("link")).to_have_count(0)
    thread = str(uuid.uuid4())
    others = {f"/threads/{thread}": "thread:read_all", f"/threads/{thread}/turns/r": "context:inspect"}
    for location, permission in {**PLACES, **others}.items():
        await page.evaluate("place => { location.hash = '#' + place }", location)
        await expect(console.main.get_by_role("alert")).to_contain_text(permission)
    assert [path for path in requests if path.startswith("/v1/")] == ["/v1/users/me"]

"""Conversations at desks are closed to all but their user and their people, at every address of the API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from baton.api.runs.sse import Timing
from baton.domain.tenants.identity import Permission
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.threads.outbox import replay
from tests.harness.desks import DeskHarness, desk
from tests.unit.api.noted_calls import THREAD_BODIES, count_calls, list_described_operations, operations_with
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

Caller = tuple[str, ...]
"""Tenant, user and permissions."""
EVERYTHING = tuple(permission for permission in Permission if permission is not Permission.THREAD_READ_ALL)
ANNA = ("acme", "anna", "desk:answer", "desk:support")
BEN = ("acme", "ben", "desk:answer", "desk:support")
OUTSIDERS: dict[str, Caller] = {
    "a stranger": ("acme", "eve"),
    "a person of another desk": ("acme", "ben", *EVERYTHING),
    "a user without the permission to answer": (
        "acme",
        "carl",
        *(permission for permission in EVERYTHING if permission is not Permission.DESK_ANSWER),
        "desk:support",
    ),
    "a person of another tenant": ("other", "anna", *Permission, "desk:support"),
}
UNKNOWN = "6b1f0c7e-1111-5222-8333-444455556666"
STRANGE_IDS = ("a#b", "THREAD#x", "~", "x" * 257, "x" * 5_000, "\x01", "\U0001f600", "a\\b", "null", "-1")
ROUTES = operations_with("{thread_id}")


class Shop:
    """Ada's conversation: a session of last week, and one at the desk, where Anna has answered and left a note."""

    def __init__(self, harness: DeskHarness) -> None:
        self.served = Served(harness, Timing(follow_seconds=0.0))
        self.harness = harness

    async def begin(self) -> None:
        """Bring the conversation to the desk."""
        self.harness.model.script("Noted, secret-before.")
        message = {"sessionId": "order-1", "messageId": "m0", "message": "About secret-before"}
        first = await self.request("POST", "/v1/messages", ("acme", "ada"), message)
        self.harness.thread_id = first.json()["sessionId"]
        await self.post("/close", ("acme", "ada"))
        await self.harness.run_queue()
        await self.harness.ask("m1")
        await self.post("/desk/take")
        await self.post("/desk/messages", messageId="p1", content="Hello, secret-said")
        await self.post("/desk/notes", messageId="n1", text="Difficult, secret-note")

    async def post(self, path: str, caller: Caller = ANNA, /, **body: Any) -> httpx.Response:
        """POST below the conversation."""
        return await self.request("POST", f"/v1/threads/{self.harness.thread_id}{path}", caller, body)

    async def ask(self, method: str, route: str, caller: Caller, thread_id: str | None = None) -> httpx.Response:
        """Make a request of a route, with a body that it takes."""
        body = THREAD_BODIES.get(route.rpartition("/")[2], {}) if method in ("POST", "PUT", "PATCH") else None
        path = re.sub(r"\{\w+\}", "m1", route.replace("{thread_id}", thread_id or self.harness.thread_id))
        return await self.request(method, path, caller, body)

    async def request(self, method: str, path: str, caller: Caller, body: Any = None) -> httpx.Response:
        """Make a request."""
        headers = {"Authorization": f"Bearer {','.join(caller)}"}
        transport = httpx.ASGITransport(self.served.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://baton.test", headers=headers) as client:
            return await client.request(method, path, json=body)


def new_shop(**limits: int) -> Shop:
    """A shop whose desk needs a permission besides ``desk:answer``."""
    harness = DeskHarness(support=desk(triggers=["talk to a human"], desk={"permission": "desk:support"}))
    harness.deployment_limits = DeploymentLimits(**limits)
    return Shop(harness)


@pytest.fixture
async def shop() -> Shop:
    shop = new_shop()
    await shop.begin()
    return shop


@pytest.mark.parametrize("outsider", OUTSIDERS)
async def test_to_outsiders_a_conversation_at_a_desk_is_as_one_that_does_not_exist(shop: Shop, outsider: str) -> None:
    calls = count_calls(shop.served)
    for method, route in ROUTES:
        reported = []
        await shop.ask(method, route, OUTSIDERS[outsider], UNKNOWN)  # later requests find copies of agents and limits
        for thread_id in (shop.harness.thread_id, UNKNOWN):
            calls.clear()
            answer = await shop.ask(method, route, OUTSIDERS[outsider], thread_id)
            text = re.sub(r'"requestId":"[^"]*"', "", answer.text).replace(thread_id, "")
            reported.append((answer.status_code, text, dict(calls)))
        assert "secret" not in reported[0][1]
        assert reported[0] == reported[1], (method, route)


@pytest.mark.parametrize("outsider", OUTSIDERS)
async def test_lists_of_desks_show_outsiders_no_conversation(shop: Shop, outsider: str) -> None:
    for path in ("/v1/desk", "/v1/desk?status=active", "/v1/desk?deskId=support", "/v1/desk/events"):
        answer = await shop.request("GET", path, OUTSIDERS[outsider])
        assert shop.harness.thread_id not in answer.text
        assert "secret" not in answer.text
        assert answer.status_code == 200 or answer.json()["code"] == "forbidden"


async def test_people_learn_nothing_of_earlier_sessions(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for method, route in ROUTES:
        if method == "GET":
            answer = await shop.ask(method, route, ANNA)
            assert "secret-before" not in answer.text, route
    summary = next(request for request in shop.harness.model.requests if "Sum up" in str(request.prompts))
    assert "secret-before" not in str(summary.prompts)
    await shop.post("/desk/draft", kind="summary", instruction="What did she say before?")
    assert "secret-before" not in str(shop.harness.model.requests[-1].prompts)
    monkeypatch.setattr(replay, "SNAPSHOT_MESSAGES", 2)
    monkeypatch.setattr(replay, "MAX_PAGES", 1)
    events = await shop.ask("GET", "/v1/threads/{thread_id}/events", ANNA)
    assert "MESSAGES_SNAPSHOT" in events.text
    assert "secret-before" not in events.text


async def test_people_learn_nothing_of_a_conversation_that_has_left_their_desk(shop: Shop) -> None:
    await shop.post("/desk/return", note="secret-note")
    await shop.harness.say("m2", "secret-after")
    for method, route in ROUTES:
        answer = await shop.ask(method, route, ANNA)
        assert answer.status_code >= 400, (method, route)
        assert "secret" not in answer.text, (method, route)


async def test_people_change_nothing_of_a_conversation_but_at_its_desk(shop: Shop) -> None:
    for method, route in ROUTES:
        if method == "GET" or "/desk" in route or route.endswith(("/files", "/close")):
            continue
        allowed_answer = await shop.ask(method, route, (*ANNA, *EVERYTHING))
        others = await shop.ask(method, route, (*ANNA, *EVERYTHING), UNKNOWN)
        assert (allowed_answer.status_code, allowed_answer.json()["code"]) == (
            others.status_code,
            others.json()["code"],
        ), route


@pytest.mark.parametrize("is_back", [False, True])
async def test_no_door_shows_the_user_a_note(shop: Shop, is_back: bool) -> None:
    """Neither while people answer nor afterwards, in forks and when the session has ended."""
    ada = ("acme", "ada")
    if is_back:
        await shop.post("/desk/return", note="Difficult, secret-note")
        await shop.harness.say("m2", "What did she say?")
    fork = (await shop.post("/fork", ada, agentId="assistant")).raise_for_status().json()["id"]
    if is_back:
        await shop.post("/close", ada)
        await shop.harness.run_queue()
    texts = ""
    for method, route in list_described_operations():
        for thread_id in (shop.harness.thread_id, fork) if method == "GET" else ():
            path = route.replace("{user_id}", "me")
            answer = await shop.ask(method, path, ada, thread_id)
            assert "secret-note" not in answer.text, route
            texts += answer.text
    assert "secret-said" in texts


@pytest.mark.parametrize("desk_id", ["nowhere", "assistant", "support"])
async def test_a_transfer_to_what_is_no_other_desk_changes_nothing(shop: Shop, desk_id: str) -> None:
    before = await shop.harness.thread()
    refused = await shop.post("/desk/transfer", deskId=desk_id, note="Please.")
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_agent")
    assert await shop.harness.thread() == before


async def test_a_person_whose_permission_was_taken_away_can_do_nothing_more(shop: Shop) -> None:
    before = await shop.harness.thread()
    for permissions in (("desk:answer",), ("desk:support",), ()):
        for action in ("messages", "notes", "typing", "draft", "return", "transfer", "take"):
            body = THREAD_BODIES.get(action, {})
            answer = await shop.post(f"/desk/{action}", ("acme", "anna", *permissions), **body)
            assert answer.status_code in (403, 404), action
    assert await shop.harness.thread() == before


@pytest.mark.parametrize("path", ["/desk/messages", "/desk/notes"])
@pytest.mark.parametrize("taken", ["m0", "m1", "n1", "p1"])
async def test_an_id_that_is_in_use_reveals_nothing_to_people(shop: Shop, path: str, taken: str) -> None:
    answer = await shop.post(path, messageId=taken, **{"content" if "messages" in path else "text": "Other"})
    assert answer.json()["code"] == "message_id_conflict"
    assert "secret" not in answer.text


async def test_what_another_person_has_said_under_an_id_is_not_taken_for_ones_own(shop: Shop) -> None:
    await shop.post("/desk/transfer", deskId="billing")
    await shop.post("/desk/take", BEN)
    second_answer = await shop.post("/desk/messages", BEN, messageId="p1", content="Hello, secret-said")
    assert (second_answer.status_code, second_answer.json()["code"]) == (409, "message_id_conflict")


@pytest.mark.parametrize("taken", ["n1", "p1"])
async def test_an_id_of_people_reveals_nothing_to_the_user(shop: Shop, taken: str) -> None:
    ada = ("acme", "ada")
    message = {"sessionId": shop.harness.thread_id, "messageId": taken, "message": "Hi"}
    run = run_input(shop.served, runId=taken)
    run["messages"] = [{"id": taken, "role": "user", "content": "Hi"}]
    for path, body in (("/v1/messages", message), ("/v1/runs", run)):
        answer = await shop.request("POST", path, ada, body)
        assert "message_id_conflict" in answer.text
        assert "secret" not in answer.text


async def test_strange_ids_are_refused(shop: Shop) -> None:
    for method, route in ROUTES:
        if "/desk/" in route or "/queue" in route:
            for strange in STRANGE_IDS:
                answer = await shop.ask(method, route, (*ANNA, *EVERYTHING), quote(strange, safe=""))
                assert answer.status_code in (404, 422), (route, strange, answer.text)
    for body in ({"messageId": "x" * 5_000}, {"messageId": "p#2\n"}, {"messageId": ""}):
        answer = await shop.post("/desk/messages", **({"messageId": "p2", "content": "Hi"} | body))
        assert answer.status_code in (413, 422), body
    answer = await shop.post("/desk/notes", messageId="n2", text="x" * 4_001)
    assert answer.status_code == 422


async def test_asking_for_people_and_what_they_write_count_as_messages() -> None:
    shop = new_shop(user_messages_per_minute=3)
    acts: Sequence[tuple[str, Caller, dict[str, str]]] = (
        ("/desk/messages", ANNA, {"messageId": "p2", "content": "Hi"}),
        ("/desk/notes", ANNA, {"messageId": "n2", "text": "Hi"}),
        ("/desk", ("acme", "ada"), {"deskId": "billing"}),
    )
    await shop.begin()
    shop.harness.clock.advance(60)
    for number in range(3):
        (await shop.post("/desk/messages", messageId=f"q{number}", content="Hi")).raise_for_status()
    for path, caller, body in acts[:2]:
        assert (await shop.post(path, caller, **body)).json()["code"] == "rate_limited"
    shop.harness.clock.advance(60)
    await shop.post("/desk/return")
    for number in range(3):
        await shop.harness.say(f"r{number}", "Hello")
    path, caller, body = acts[2]
    assert (await shop.post(path, caller, **body)).json()["code"] == "rate_limited"


async def test_a_desk_that_the_user_may_not_ask_for_is_as_one_that_does_not_exist() -> None:
    shop = Shop(DeskHarness(support=desk(required_permissions=["vip"])))
    await shop.harness.say("m0", "Hello")
    hidden, unknown = [await shop.post("/desk", ("acme", "ada"), deskId=name) for name in ("support", "nowhere")]
    assert (hidden.status_code, hidden.json()["detail"]) == (unknown.status_code, unknown.json()["detail"])
    assert "support" not in hidden.text
    assert (await shop.post("/desk", ("acme", "ada", "vip"), deskId="support")).status_code == 200

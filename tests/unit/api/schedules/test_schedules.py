"""Schedules over HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from baton.threads.schedules import schedule_lists, schedule_making
from tests.harness.due import DueHarness
from tests.unit.api.served import Served

WATER: dict[str, Any] = {"id": "water", "text": "Water the plants.", "at": "2040-03-01T13:00"}
MANAGE = "schedule:manage"
ODD_IDS = ["a b", "#", "a#b", "%2F", "50%", "ü", "\U0001f600" * 128, "?status=x", "a\\b", "null", "..x"]


@pytest.fixture
def served() -> Served:
    return Served(DueHarness())


async def make(served: Served, **fields: Any) -> dict[str, Any]:
    """Make a schedule of ada's, or of the named ``user``."""
    user = fields.pop("user", "ada")
    answer = await served.post("/schedules", WATER | fields, user=user)
    assert answer.status_code == 201, answer.text
    schedule: dict[str, Any] = answer.json()
    return schedule


async def list_ids(served: Served, *permissions: str, **params: Any) -> list[str]:
    """The ids of all pages of a list."""
    ids: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        items, cursor = await served.items(
            "/schedules", *permissions, **params, **({"cursor": cursor} if cursor else {})
        )
        ids += [item["id"] for item in items]
    return ids


async def change(served: Served, body: Any, *permissions: str, user: str = "ada", of: str = "") -> Any:
    return await served.patch(f"/schedules/water{of and f'?userId={of}'}", body, *permissions, user=user)


async def test_a_reminder_is_made_and_runs_in_its_conversation(served: Served) -> None:
    schedule = await make(served, threadId=served.harness.thread_id, agentId="assistant")
    assert schedule == {
        "id": "water",
        "agentId": "assistant",
        "threadId": served.harness.thread_id,
        "text": "Water the plants.",
        "at": "2040-03-01T13:00:00.000Z",
        "rule": None,
        "timeZone": "UTC",
        "endsAt": None,
        "status": "active",
        "nextAt": "2040-03-01T13:00:00.000Z",
        "lastAt": None,
        "lastRunId": None,
        "paused": False,
        "createdBy": "user",
        "createdAt": "2040-03-01T12:00:00.000Z",
        "runs": 0,
    }
    assert isinstance(served.harness, DueHarness)
    await served.harness.pass_time(hours=1)
    [message, _], _ = await served.items(f"/threads/{served.harness.thread_id}/messages")
    assert (message["role"], message["metadata"]["source"]) == ("event", {"kind": "schedule", "id": "water"})
    finished = (await served.get("/schedules/water")).json()
    assert (finished["status"], finished["runs"], finished["nextAt"]) == ("finished", 1, None)
    assert finished["lastRunId"] == message["metadata"]["runId"]


async def test_a_repeated_request_gets_the_same_schedule(served: Served) -> None:
    schedule = await make(served)
    second_answer = await served.post("/schedules", WATER | {"text": "Something else."})
    assert (second_answer.status_code, second_answer.json()) == (200, schedule)
    assert await list_ids(served) == ["water"]


async def test_a_schedule_without_a_conversation_begins_its_own(served: Served) -> None:
    first, second = await make(served), await make(served, id="feed")
    assert len({first["threadId"], second["threadId"], served.harness.thread_id}) == 3
    of_host = await make(served, id="of a host", threadId="booking 4711 ä")
    assert isinstance(served.harness, DueHarness)
    await served.harness.pass_time(hours=1)
    for thread_id in (first["threadId"], second["threadId"], of_host["threadId"], quote("booking 4711 ä")):
        items, _ = await served.items(f"/threads/{thread_id}/messages")
        assert items[0]["metadata"]["source"]["kind"] == "schedule"


async def test_times_are_on_the_clocks_of_the_zone(served: Served) -> None:
    local = await make(served, timeZone="Europe/Vienna")
    assert (local["at"], local["timeZone"]) == ("2040-03-01T12:00:00.000Z", "Europe/Vienna")
    moment = await make(served, id="moment", timeZone="user", at="2040-03-02T09:00:00-05:00")
    assert moment["at"] == "2040-03-02T14:00:00.000Z"
    assert moment["timeZone"] == "UTC", "a moment follows nobody"
    followed = await make(served, id="followed", timeZone="user")
    assert (followed["at"], followed["timeZone"]) == ("2040-03-01T13:00:00.000Z", "user")


async def test_a_rule_repeats_until_its_end(served: Served) -> None:
    schedule = await make(served, rule="rrule:freq=daily;byhour=9", at=None, endsAt="2040-03-04T00:00:00Z")
    assert (schedule["rule"], schedule["nextAt"]) == ("FREQ=DAILY;BYHOUR=9", "2040-03-02T09:00:00.000Z")
    assert schedule["endsAt"] == "2040-03-04T00:00:00.000Z"
    assert isinstance(served.harness, DueHarness)
    assert [await served.harness.pass_time(hours=24) for _ in range(4)] == [1, 1, 0, 0]


async def test_a_schedule_is_changed_paused_resumed_and_cancelled(served: Served) -> None:
    await make(served, rule="FREQ=DAILY")
    assert (await change(served, {"paused": True})).json()["status"] == "paused"
    changed = (await change(served, {"paused": False, "at": "2040-03-01T14:30", "text": "Only the fern."})).json()
    assert (changed["nextAt"], changed["text"]) == ("2040-03-01T14:30:00.000Z", "Only the fern.")
    assert (await served.request("DELETE", "/schedules/water")).status_code == 204
    for answer in (
        await served.request("DELETE", "/schedules/water"),
        await served.get("/schedules/water"),
        await change(served, {"paused": True}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("schedule_id", ODD_IDS)
async def test_an_id_may_have_any_printable_character_but_a_slash(served: Served, schedule_id: str) -> None:
    schedule = await make(served, id=schedule_id)
    path = f"/schedules/{quote(schedule_id, safe='')}"
    assert (await served.get(path)).json() == schedule
    assert (await served.patch(path, {"text": "Soon."})).json()["text"] == "Soon."
    assert (await served.request("DELETE", path)).status_code == 204


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "a/b"},
        {"id": ".."},
        {"id": "x" * 129},
        {"id": "\x01"},
        {"id": 1},
        {"text": ""},
        {"text": " \n"},
        {"text": "x" * 4_001},
        {"at": None},
        {"at": "x" * 65},
        {"at": 1_900_000_000},
        {"at": "2040-03-01T11:59"},
        {"rule": "FREQ=SECONDLY"},
        {"rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"},
        {"rule": "x" * 1_001},
        {"rule": "FREQ=DAILY;COUNT=0"},
        {"timeZone": "Mars/Base"},
        {"timeZone": "x" * 65},
        {"endsAt": "2040-03-02T00:00:00"},
        {"endsAt": "2040-03-01T12:30:00Z"},
        {"paused": True},
        {"threadId": "x" * 257},
    ],
)
async def test_what_cannot_be_kept_is_refused(served: Served, fields: dict[str, Any]) -> None:
    answer = await served.post("/schedules", WATER | fields)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), answer.text
    assert await list_ids(served) == []


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({"text": "Only the fern."}, {"text": "Only the fern."}),
        ({"at": "2040-03-01T15:00"}, {"at": "2040-03-01T15:00:00.000Z", "nextAt": "2040-03-01T15:00:00.000Z"}),
        ({"rule": "FREQ=WEEKLY;BYDAY=FR"}, {"rule": "FREQ=WEEKLY;BYDAY=FR", "nextAt": "2040-03-02T13:00:00.000Z"}),
        ({"paused": True}, {"paused": True, "status": "paused", "nextAt": None}),
        ({}, {}),
    ],
)
async def test_a_change_changes_its_field_and_what_follows(
    served: Served, body: dict[str, Any], changed: dict[str, Any]
) -> None:
    schedule = await make(served)
    for _ in range(2):  # a repetition changes nothing
        answer = await change(served, body)
        assert (answer.status_code, answer.json()) == (200, schedule | changed), answer.text


@pytest.mark.parametrize(
    "body",
    [
        {"text": ""},
        {"text": "x" * 4_001},
        {"at": "2039-01-01T00:00"},
        {"at": "x" * 65},
        {"rule": "nonsense"},
        {"rule": "FREQ=SECONDLY"},
        {"rule": "FREQ=DAILY" + " " * 1_000},
        {"paused": "yes"},
        {"agentId": "x"},
        {"timeZone": "UTC"},
        [],
    ],
)
async def test_a_change_that_is_not_valid_changes_nothing(served: Served, body: Any) -> None:
    schedule = await make(served)
    assert (await change(served, body)).status_code == 422
    assert (await served.get("/schedules/water")).json() == schedule


async def test_agents_that_take_none_and_unknown_ones_are_refused() -> None:
    served = Served(DueHarness(rules={"allowed": False}))
    assert (await served.post("/schedules", WATER)).status_code == 422
    unknown = await served.post("/schedules", WATER | {"agentId": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_agent")


async def test_a_list_has_pages_in_the_order_of_the_next_slots(served: Served) -> None:
    for hour in range(7):
        await make(served, id=f"s{hour}", at=f"2040-03-02T{9 - hour:02d}:00")
    await served.patch("/schedules/s6", {"paused": True})
    in_order = ["s5", "s4", "s3", "s2", "s1", "s0", "s6"]
    for limit in (1, 3, 7, 100):
        assert await list_ids(served, limit=limit) == in_order
    assert await list_ids(served, limit=1, status="paused") == ["s6"]
    assert await list_ids(served, limit=2, status="active") == in_order[:-1]


async def test_only_the_last_finished_schedules_stay(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_making, "MAX_FINISHED", 2)
    assert isinstance(served.harness, DueHarness)
    for number in range(5):
        await make(served, id=f"s{number}", at=f"2040-03-01T{13 + number}:00")
        await served.harness.pass_time(hours=1)
    await make(served, id="next", at="2040-03-02T09:00")
    assert set(await list_ids(served)) == {"s3", "s4", "next"}


async def test_other_users_and_tenants_find_nothing(served: Served) -> None:
    await make(served, threadId=served.harness.thread_id)
    await served.harness.say("m1", "Hello")
    for user in ("bob", "ada2"):
        assert await served.items("/schedules") != ([], None)
        assert (await served.get("/schedules", user=user)).json()["items"] == []
        assert (await served.get("/schedules/water", user=user)).status_code == 404
        assert (await change(served, {"paused": True}, user=user)).status_code == 404
        assert (await served.request("DELETE", "/schedules/water", user=user)).status_code == 404
        other_answer = await served.post("/schedules", WATER | {"threadId": served.harness.thread_id}, user=user)
        assert (other_answer.status_code, other_answer.json()["code"]) == (404, "thread_unavailable")
    assert (await make(served, user="bob", text="Feed the cat."))["text"] == "Feed the cat."
    assert (await served.get("/schedules/water")).json()["text"] == "Water the plants."


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_schedules_of_others_need_the_permission(served: Served, method: str) -> None:
    await make(served)
    for named in ("ada", "nobody"):  # whether there is such a user does not show
        path = f"/schedules/water?userId={named}"
        async with served._client("boss") as client:
            answer = await client.request(method, path, json={"paused": True} if method == "PATCH" else None)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    denied = await served.get("/schedules", user="boss", scope="tenant")
    assert denied.status_code == 403
    assert (await served.get("/schedules/water")).json()["paused"] is False


async def test_an_administrator_pauses_and_cancels_schedules_of_others(served: Served) -> None:
    await make(served, rule="FREQ=DAILY")
    paused = await change(served, {"paused": True}, MANAGE, user="boss", of="ada")
    assert (paused.json()["paused"], paused.json()["userId"]) == (True, "ada")
    assert (await served.get("/schedules/water", MANAGE, user="boss", userId="ada")).json()["status"] == "paused"
    for words in ({"text": "Send me the keys."}, {"at": "2040-03-02T09:00"}, {"paused": False, "rule": "FREQ=WEEKLY"}):
        assert (await change(served, words, MANAGE, user="boss", of="ada")).status_code == 422
    async with served._client("boss", MANAGE) as client:
        assert (await client.delete("/schedules/water", params={"userId": "ada"})).status_code == 204
    assert await list_ids(served) == []
    audited = [record for record in served.harness.audit.records if record.action.startswith("schedule.")]
    assert [(record.action, record.scope.user_id, record.detail.get("userId")) for record in audited] == [
        ("schedule.create", "ada", None),
        ("schedule.change", "boss", "ada"),
        ("schedule.read", "boss", "ada"),
        ("schedule.cancel", "boss", "ada"),
    ]


async def test_the_tenants_list_names_users_and_hides_personal_data(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule_lists, "MAX_USERS", 2)
    for user in ("ada", "bob", "ann@example.com", "dora", "emil"):
        for number in range(3):
            await make(served, user=user, id=f"{user}-{number}", text="Write to carl@example.com.")
    every = {f"{user}-{number}" for user in ("ada", "bob", "ann@example.com", "dora", "emil") for number in range(3)}
    for limit in (1, 2, 4, 100):
        ids = await list_ids(served, MANAGE, scope="tenant", limit=limit)
        assert (len(ids), set(ids)) == (15, every)
    items, _ = await served.items("/schedules", MANAGE, scope="tenant")
    assert {item["userId"] for item in items} <= {"ada", "bob", "ann@example.com", "dora", "emil"}
    for item in items:
        assert ("carl@example.com" in item["text"]) == (item["userId"] == "ada")
    everything, _ = await served.items("/schedules", MANAGE, "pii:read", scope="tenant")
    assert all("carl@example.com" in item["text"] for item in everything)


@pytest.mark.parametrize("scope", ["user", "tenant"])
async def test_cursors_of_other_lists_are_refused(served: Served, scope: str) -> None:
    for number in range(2):
        await make(served, id=f"s{number}")
    other = "tenant" if scope == "user" else "user"
    _, cursor = await served.items("/schedules", MANAGE, scope=other, limit=1)
    for wrong in (cursor, "garbage", "e30", "x" * 513):
        assert (await served.get("/schedules", MANAGE, scope=scope, cursor=wrong)).status_code == 422


async def test_a_users_export_has_their_schedules(served: Served) -> None:
    schedule = await make(served)
    await make(served, user="bob", id="of bob")
    exported = await served.get("/users/me/export")
    lines = [json.loads(line) for line in exported.text.splitlines()]
    assert [line for line in lines if line.get("type") == "schedule"] == [{"type": "schedule", **schedule}]


async def test_a_field_that_a_validator_refuses_is_described_in_plain_words(served: Served) -> None:
    answer = await served.post("/schedules", WATER | {"endsAt": "tomorrow"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("endsAt: must be an ISO 8601 time with a time zone")

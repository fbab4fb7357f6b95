"""Time zones over HTTP: in requests, in the days of memories, and in exports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from baton.domain.documents.search import IndexDocument
from baton_testing.fakes.clock import FakeClock
from tests.contracts.stores import new_thread_id
from tests.harness.harness import Harness
from tests.harness.sessions import close, make_episode
from tests.harness.wiki import run_until_interrupt, wiki
from tests.unit.api.resuming import resume
from tests.unit.api.served import Served

MORNING = datetime(2026, 11, 21, 16, tzinfo=UTC)
"""A Saturday, at eight in the morning in Los Angeles."""
DENTIST: list[dict[str, Any]] = [
    {
        "id": "z-1",
        "role": "user",
        "content": "My dentist appointment with Doctor Quill is tomorrow at nine.",
        "timestamp": "2026-11-20T22:30:00-08:00",
    },
    {"id": "z-2", "role": "assistant", "content": "Noted.", "timestamp": "2026-11-20T22:30:05-08:00"},
]
QUESTION = "When is my dentist appointment with Doctor Quill?"
SAID = 'the user said: "My dentist appointment with Doctor Quill is tomorrow at nine."'
WRONG = ["Mars/Olympus", "UTC+02:00", "", " ", "Europe/Vienna ", "../../etc/passwd", "A" * 10_000, 1, True, ["UTC"], {}]


@pytest.fixture
def served() -> Served:
    return Served(Harness(clock=FakeClock(MORNING), recalls=True))


def zones_of_prompts(served: Served) -> list[str]:
    """Return the last prompt of the agent's model."""
    return [str(content) for _, content in served.harness.model.requests[-1].contents]


async def ask(served: Served, text: str = QUESTION, **fields: Any) -> list[str]:
    """Return the model's prompt for a question in a new conversation."""
    body = {"sessionId": new_thread_id(), "message": text, **fields}
    answer = await served.post("/messages", body)
    assert answer.status_code == 200, answer.text
    return zones_of_prompts(served)


async def remember(served: Served, messages: list[dict[str, Any]], **fields: Any) -> None:
    """Import a session, and make its episode."""
    body = {"sessionId": new_thread_id(), "messages": messages, **fields}
    answer = await served.post("/episodes/import", body)
    assert answer.status_code == 202, answer.text
    served.harness.thread_id = answer.json()["sessionId"]
    await make_episode(served.harness)


def documents(served: Served) -> list[IndexDocument]:
    """Return all documents of the search index."""
    return [item for of_owner in served.harness.search.documents.values() for item in of_owner.values()]


def run_body(served: Served, **forwarded: Any) -> dict[str, Any]:
    """A run input of an AG-UI client."""
    messages = [{"id": "m1", "role": "user", "content": "Hello"}]
    body = {"threadId": served.harness.thread_id, "runId": "r-1", "messages": messages, "tools": [], "context": []}
    return body | {"state": {}, "forwardedProps": forwarded}


# The days of memories


async def test_tomorrow_is_the_day_after_the_users_day(served: Served) -> None:
    await remember(served, DENTIST)
    system, remembered_lines, today, question = await ask(served)
    assert remembered_lines.split("\n")[1:] == [f"- 2026-11-20: {SAID}"]
    assert today == "Today is Saturday, 21 November 2026 (UTC)."
    assert question == QUESTION
    assert "Today is" not in system + remembered_lines


async def test_the_index_has_the_users_day_too(served: Served) -> None:
    await remember(served, DENTIST)
    views = {view.text for document in documents(served) for view in document.views.values()}
    assert views
    assert all(text.startswith("2026-11-20 (Friday, 20 November 2026): ") for text in views)


async def test_a_prompt_without_memories_names_the_day(served: Served) -> None:
    assert await ask(served, "Which weekday is tomorrow?", timeZone="Asia/Tokyo") == [
        zones_of_prompts(served)[0],
        "Today is Sunday, 22 November 2026 (Asia/Tokyo).",
        "Which weekday is tomorrow?",
    ]


@pytest.mark.parametrize(
    ("timestamp", "fields", "day"),
    [
        ("2026-11-20T22:30:00-08:00", {}, "2026-11-20"),
        ("2026-11-21T06:30:00+00:00", {}, "2026-11-21"),
        ("2026-11-21T06:30:00Z", {}, "2026-11-21"),
        ("2026-11-21T06:30:00Z", {"timeZone": "America/Los_Angeles"}, "2026-11-20"),
        ("2026-11-21T06:30:00+00:00", {"timeZone": "America/Los_Angeles"}, "2026-11-20"),
        # The hour that there is twice, and a day later in the other direction.
        ("2026-10-25T00:30:00Z", {"timeZone": "Europe/Vienna"}, "2026-10-25"),
        ("2026-10-25T22:30:00Z", {"timeZone": "Europe/Vienna"}, "2026-10-25"),
        ("2026-03-28T22:30:00Z", {"timeZone": "Europe/Vienna"}, "2026-03-28"),
        ("2026-03-29T21:30:00Z", {"timeZone": "Europe/Vienna"}, "2026-03-29"),
        ("2026-03-29T22:30:00Z", {"timeZone": "Europe/Vienna"}, "2026-03-30"),
    ],
)
async def test_an_imported_message_has_the_day_of_the_named_zone_or_of_its_offset(
    served: Served, timestamp: str, fields: dict[str, Any], day: str
) -> None:
    await remember(served, [DENTIST[0] | {"timestamp": timestamp}], **fields)
    assert (await ask(served))[1].split("\n")[1:] == [f"- {day}: {SAID}"]


async def test_a_message_of_an_import_may_name_a_zone_of_its_own(served: Served) -> None:
    message = DENTIST[0] | {"timestamp": "2026-11-21T06:30:00Z", "timeZone": "America/Los_Angeles"}
    await remember(served, [message], timeZone="Asia/Tokyo")
    assert (await ask(served))[1].split("\n")[1:] == [f"- 2026-11-20: {SAID}"]


async def test_an_import_without_local_times_has_the_days_of_the_users_last_zone(served: Served) -> None:
    await ask(served, "Hello", timeZone="America/Los_Angeles")
    await remember(served, [DENTIST[0] | {"timestamp": "2026-11-21T06:30:00Z"}])
    assert (await ask(served))[1].split("\n")[1:] == [f"- 2026-11-20: {SAID}"]


async def test_an_import_does_not_change_where_the_user_is_now(served: Served) -> None:
    await remember(served, DENTIST, timeZone="America/Los_Angeles")
    assert (await ask(served))[2] == "Today is Saturday, 21 November 2026 (UTC)."


async def test_where_only_utc_is_known_of_a_memory_its_line_says_so(served: Served) -> None:
    await remember(served, [DENTIST[0] | {"timestamp": "2026-11-21T06:30:00Z"}])
    assert (await ask(served))[1].split("\n")[1:] == [f"- 2026-11-21: {SAID}"]
    result = await ask(served, timeZone="America/Los_Angeles")
    assert result[1].split("\n")[1:] == [f"- 2026-11-21 (UTC): {SAID}"]


async def test_a_conversation_is_remembered_by_the_days_of_its_messages_zones(served: Served) -> None:
    harness = served.harness
    harness.clock.time = datetime(2026, 11, 21, 6, 30, tzinfo=UTC)
    await harness.say("m1", DENTIST[0]["content"], time_zone="America/Los_Angeles")
    await close(harness)
    await make_episode(harness)
    harness.clock.time = MORNING
    assert (await ask(served))[1].split("\n")[1] == f"- 2026-11-20: {SAID}"
    days = {document.fields["day"] for document in documents(served)}
    assert days == {"2026-11-20"}, "the answer and the summary are of the question's day"


# Time zones in requests


@pytest.mark.parametrize("zone", WRONG)
async def test_a_message_with_an_unknown_zone_is_refused_by_name(served: Served, zone: Any) -> None:
    refused = await served.post("/messages", {"message": "Hello", "timeZone": zone})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "timeZone" in refused.text
    assert len(refused.text) < 1_000
    assert served.harness.model.requests == []


@pytest.mark.parametrize("zone", WRONG)
async def test_a_run_with_an_unknown_zone_is_refused_by_name(served: Served, zone: Any) -> None:
    refused = await served.post("/runs", run_body(served, timeZone=zone))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "forwardedProps.timeZone" in refused.text
    assert served.harness.model.requests == []


@pytest.mark.parametrize("zone", WRONG)
async def test_an_import_with_an_unknown_zone_is_refused_by_name(served: Served, zone: Any) -> None:
    body = {"sessionId": "zone-1", "messages": DENTIST}
    for wrong, name in (
        (body | {"timeZone": zone}, "timeZone"),
        (body | {"messages": [DENTIST[0], DENTIST[1] | {"timeZone": zone}]}, "messages"),
    ):
        refused = await served.post("/episodes/import", wrong)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
        assert name in refused.text
    assert not served.harness.store.rows


@pytest.mark.parametrize("props", [{"timeZone": "Asia/Tokyo"}, {"runConfig": {"timeZone": "Asia/Tokyo"}}])
async def test_a_run_names_its_zone_among_the_forwarded_properties(served: Served, props: dict[str, Any]) -> None:
    await served.post("/runs", run_body(served, **props))
    assert zones_of_prompts(served)[-2] == "Today is Sunday, 22 November 2026 (Asia/Tokyo)."


async def test_a_zone_that_is_null_counts_as_missing(served: Served) -> None:
    assert (await ask(served, timeZone=None))[-2] == "Today is Saturday, 21 November 2026 (UTC)."
    await served.post("/runs", run_body(served, timeZone=None))
    assert zones_of_prompts(served)[-2] == "Today is Saturday, 21 November 2026 (UTC)."


async def test_an_approval_shows_the_zone_of_the_user_and_not_of_the_approver() -> None:
    for user, permissions, day in (
        ("ada", (), "Today is Sunday, 22 November 2026 (Asia/Tokyo)."),
        ("boss", ("tool:approve",), "Today is Saturday, 21 November 2026 (UTC)."),
    ):
        served = Served(wiki())
        served.harness.clock.time = MORNING
        (interrupt,) = await run_until_interrupt(served.harness)
        body = resume(served, interrupt) | {"forwardedProps": {"timeZone": "Asia/Tokyo"}}
        answer = await served.post("/runs", body, *permissions, user=user)
        assert answer.status_code == 200
        assert day in zones_of_prompts(served)
        assert (await served.harness.time_zones.last(served.harness.ada) is not None) is (user == "ada")


async def test_a_repeated_import_is_the_same_unless_it_names_another_zone(served: Served) -> None:
    body = {"sessionId": "zone-1", "messages": DENTIST}
    for fields, status in (({}, 202), ({}, 202), ({"timeZone": "America/Los_Angeles"}, 409)):
        assert (await served.post("/episodes/import", body | fields)).status_code == status


# What is exported


async def lines(served: Served, user: str = "ada", **params: Any) -> list[dict[str, Any]]:
    answer = await served.get("/users/me/export", user=user, **params)
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_an_export_has_the_users_zone_and_those_of_the_messages(served: Served) -> None:
    await ask(served, "Hello", timeZone="Asia/Tokyo")
    result = await lines(served)
    assert [line for line in result if line.get("type") == "timeZone"] == [
        {"type": "timeZone", "threadId": None, "timeZone": "Asia/Tokyo", "since": "2026-11-21T16:00:00.000Z"}
    ]
    zones = [line["metadata"].get("timeZone") for line in result if line.get("type") == "message"]
    assert zones == ["Asia/Tokyo", None]
    assert not [line for line in await lines(served, user="bob") if line.get("type") == "timeZone"]


async def test_an_exported_session_has_the_same_days_when_it_is_imported(served: Served) -> None:
    offset = DENTIST[0] | {"timestamp": "2026-11-20T22:30:00.000-08:00"}
    named = DENTIST[1] | {"timestamp": "2026-11-21T06:30:05.000Z", "timeZone": "America/Los_Angeles"}
    await served.post("/episodes/import", {"sessionId": "zone-1", "messages": [offset, named]})
    [session] = await lines(served, content="sessions")
    assert session["messages"] == [offset, named]
    second_answer = await served.post("/episodes/import", session | {"sessionId": "zone-1"})
    assert second_answer.status_code == 202, second_answer.text

"""DELETE, export and retention over HTTP: who may, what is said, and what is left unsaid."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import httpx
import pytest

from baton.composition.app import build
from baton.domain.memory.forgetting import ForgetStatus
from baton.domain.times import to_iso
from tests.harness.sessions import close, make_episode
from tests.unit.api.served import Served

MANAGER = "user:manage"


@pytest.fixture
def served() -> Served:
    return Served()


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_user_is_forgotten_by_themselves(served: Served) -> None:
    answer = await served.request("DELETE", "/users/me/memory")
    assert answer.status_code == 202
    body = answer.json()
    assert (body["subject"], body["userId"], body["status"], body["counts"]) == ("user", "ada", "running", {})
    assert (await served.get(f"/forget-requests/{body['requestId']}")).json() == body
    assert (await served.request("DELETE", "/users/ada/memory")).json() == body
    assert served.harness.forgettings.started == [body["requestId"]]  # type: ignore[attr-defined]


async def test_another_user_is_forgotten_by_who_manages_users(served: Served) -> None:
    assert code(await served.request("DELETE", "/users/bob/memory")) == (403, "forbidden")
    answer = await served.request("DELETE", "/users/bob/memory", MANAGER)
    assert (answer.json()["userId"], answer.json()["requestedBy"]) == ("bob", "ada")
    path = f"/forget-requests/{answer.json()['requestId']}"
    assert (await served.get(path, user="bob")).status_code == 200
    assert (await served.get(path, MANAGER, user="carl")).status_code == 200
    assert code(await served.get(path, user="eve")) == (404, "not_found")
    outcomes = [(record.action, record.outcome) for record in served.harness.audit.records]
    assert outcomes == [("user.forget", "denied"), ("user.forget", "requested")]


async def test_a_user_id_in_a_path_may_hold_any_character(served: Served) -> None:
    answer = await served.request("DELETE", "/users/a%2Fb%20%C3%BC/memory", MANAGER)
    assert answer.json()["userId"] == "a/b ü"


async def test_a_thread_is_forgotten_by_its_owner_only(served: Served) -> None:
    await served.harness.say()
    path = f"/threads/{served.harness.thread_id}"
    for user, permissions in (("eve", ()), ("boss", ("thread:read_all", MANAGER))):
        assert code(await served.request("DELETE", path, *permissions, user=user)) == (404, "thread_unavailable")
    assert code(await served.request("DELETE", f"/threads/{uuid.uuid4()}")) == (404, "thread_unavailable")
    answer = await served.request("DELETE", path)
    assert (answer.status_code, answer.json()["threadId"]) == (202, served.harness.thread_id)


async def test_a_request_that_cannot_be_started_is_an_error_and_can_be_repeated(served: Served) -> None:
    from baton.domain.errors import StoreUnavailable

    forgettings: Any = served.harness.forgettings
    forgettings.failure = StoreUnavailable()
    assert code(await served.request("DELETE", "/users/me/memory")) == (503, "store_unavailable")
    forgettings.failure = None
    answer = await served.request("DELETE", "/users/me/memory")
    assert answer.status_code == 202
    assert forgettings.started == [answer.json()["requestId"]]


async def lines(served: Served, *permissions: str, user: str = "ada", path: str = "me", **params: Any) -> list[Any]:
    answer = await served.get(f"/users/{path}/export", *permissions, user=user, **params)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/jsonl")
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_an_export_has_everything_in_order_and_says_when_it_is_whole(served: Served) -> None:
    for number in range(25):
        await served.harness.say(f"m{number}", f"question {number}")
    result = await lines(served)
    assert result[-1] == {"type": "end"}
    assert [line["id"] for line in result if line.get("type") == "thread"] == [served.harness.thread_id]
    messages = [line["content"] for line in result if line.get("type") == "message" and line["role"] == "user"]
    assert messages == [f"question {number}" for number in range(25)]
    [session] = [line for line in result if "sessionId" in line]
    assert session["messages"][0]["content"] == "question 0"
    assert len(session["messages"]) == 50


async def test_sessions_are_exported_as_they_are_imported(served: Served) -> None:
    await served.harness.say("m1", "Hello")
    [session] = await lines(served, content="sessions")
    assert set(session) == {"sessionId", "agentId", "messages"}
    assert [set(message) for message in session["messages"]] == [{"id", "role", "content", "timestamp"}] * 2
    assert [message["role"] for message in session["messages"]] == ["user", "assistant"]


async def test_title_and_feedback_are_exported_and_imported_with_the_session(served: Served) -> None:
    await served.harness.say("m1", "Hello")
    thread_id = served.harness.thread_id
    await served.patch(f"/threads/{thread_id}", {"title": "Erste Schritte"})
    [_, answer], _ = await served.items(f"/threads/{thread_id}/messages")
    path = f"/messages/{answer['id']}/feedback"
    feedback = {"rating": "down", "comment": "Too short."}
    feedback = (await served.post(f"/threads/{thread_id}{path}", feedback)).json()["feedback"]
    result = await lines(served)
    assert [line["title"] for line in result if line.get("type") == "thread"] == ["Erste Schritte"]
    assert [line["feedback"] for line in result if "feedback" in line] == [feedback]
    [session] = await lines(served, content="sessions")
    assert (session["title"], session["messages"][1]["feedback"]) == ("Erste Schritte", feedback)

    elsewhere = Served()
    for _ in range(2):
        imported = (await elsewhere.post("/episodes/import", session)).json()["sessionId"]
        thread = (await elsewhere.get(f"/threads/{imported}")).json()
        assert thread["title"] == "Erste Schritte"
    assert (await elsewhere.post(f"/threads/{imported}{path}", {"rating": "up"})).status_code == 200
    assert (await elsewhere.post("/episodes/import", session)).status_code == 202  # it undoes nothing
    [second_session] = await lines(elsewhere, content="sessions")
    assert second_session["messages"][1]["feedback"]["rating"] == "up"
    other = await elsewhere.post("/episodes/import", {**session, "title": "Another"})
    assert code(other) == (409, "import_conflict")


@pytest.mark.parametrize(
    "change",
    [{"title": "a\nb"}, {"feedback": {"rating": "none"}}, {"feedback": {"rating": "up", "comment": "x" * 2_001}}],
)
async def test_a_title_and_feedback_that_could_not_be_given_are_not_imported(
    served: Served, change: dict[str, Any]
) -> None:
    message = {"role": "assistant", "content": "Hi", "timestamp": "2025-06-02T09:30:00Z"}
    for role in ("assistant", "user"):
        session = {"sessionId": "s-1", "messages": [{**message, "role": role, "feedback": {"rating": "up"}}]}
        if "feedback" in change:
            session["messages"] = [{**message, "role": role, **change}]
        else:
            session |= change
        assert code(await served.post("/episodes/import", session)) == (422, "invalid_request")


async def test_an_episode_is_exported_as_it_is_served(served: Served) -> None:
    await served.harness.say("m1", "Write to ada@example.com.")
    episode_id = await close(served.harness)
    await make_episode(served.harness)
    [exported] = [line for line in await lines(served) if line.get("type") == "episode"]
    [listed], _ = await served.items("/episodes")
    assert exported == {"type": "episode", **listed}
    assert exported["id"] == episode_id


async def test_what_was_exported_can_be_imported_elsewhere_and_exported_again(served: Served) -> None:
    await served.harness.say("m1", "I moved to Bern last week.")
    await close(served.harness)
    await served.harness.say("m2", "Write to ada@example.com. \u2028 \U0001f600")
    await close(served.harness)
    await served.harness.say("m3", "And this goes on.")
    sessions = await lines(served, content="sessions")
    assert len(sessions) == 3

    elsewhere = Served()
    for _ in range(2):  # a repetition changes nothing
        for session in sessions:
            answer = await elsewhere.post("/episodes/import", session, user="bob")
            assert answer.status_code == 202, answer.text
    second_session = await lines(elsewhere, content="sessions", user="bob")
    message = {session["messages"][0]["content"]: session["messages"] for session in sessions}
    assert {session["messages"][0]["content"]: session["messages"] for session in second_session} == message
    ends = {session["endedAt"] for session in sessions if "endedAt" in session}
    assert ends <= {session["endedAt"] for session in second_session}

    # Under the ids that the second deployment has given, too.
    third = Served()
    for session in second_session:
        assert (await third.post("/episodes/import", session, user="carl")).status_code == 202
    assert len(await lines(third, content="sessions", user="carl")) == 3


async def test_each_piece_is_one_line_whatever_was_said(served: Served) -> None:
    text = 'a\u2028b\u2029c\x85d\n"e" \U0001f600'
    await served.harness.say("m1", text)
    result = await lines(served)  # splits at all of Unicode's line ends
    assert next(line["content"] for line in result if line.get("type") == "message") == text
    [session] = [line for line in result if "sessionId" in line]
    assert session["messages"][0]["content"] == text


async def test_a_session_that_is_too_long_to_be_imported_is_exported_in_parts(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.tenants.privacy.export.IMPORTED", 4)
    for number in range(3):
        await served.harness.say(f"m{number}", f"question {number}")
    parts = await lines(served, content="sessions")
    assert [part["sessionId"] for part in parts] == [served.harness.thread_id, f"{served.harness.thread_id}.2"]
    assert [len(part["messages"]) for part in parts] == [4, 2]


async def test_parts_of_a_session_are_small_enough_to_be_imported(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.tenants.privacy.export.IMPORTED_BYTES", 5_000)
    for number in range(3):
        await served.harness.say(f"m{number}", f'{number}"\n\u00fc' * 500)
    parts = await lines(served, content="sessions")
    assert [part["sessionId"].partition(".")[2] for part in parts] == ["", "2", "3"]
    assert max(len(json.dumps(part, ensure_ascii=False).encode()) for part in parts) < 5_500
    messages = [message["id"] for part in parts for message in part["messages"] if message["role"] == "user"]
    assert messages == ["m0", "m1", "m2"]


async def test_an_export_is_of_one_user(served: Served) -> None:
    await served.harness.say("m1", "Hello")
    assert code(await served.get("/users/ada/export", user="bob")) == (403, "forbidden")
    assert [line["type"] for line in await lines(served, "thread:read_all", user="carl")] == ["end"]
    managed = await lines(served, MANAGER, user="boss", path="ada")
    assert managed[0]["type"] == "thread"
    assert ("user.export", "allowed") in [(record.action, record.outcome) for record in served.harness.audit.records]


async def test_a_cursor_that_no_export_handed_out_is_refused(served: Served) -> None:
    assert code(await served.get("/users/me/export", cursor="garbage")) == (422, "invalid_request")


async def test_retention_is_set_by_who_manages_users(served: Served) -> None:
    assert code(await served.get("/retention")) == (403, "forbidden")
    stored = (await served.get("/retention", MANAGER)).json()
    assert (stored["threads"], stored["changedBy"]) == (None, None)
    async with served._client("boss", MANAGER) as client:
        answer = await client.put("/retention", json={"threads": 365, "uploads": 90})
        assert answer.status_code == 200
        for wrong in ({"threads": 0}, {"threads": "30"}, {"threads": True}, {"messages": 3}, {"audit": 10**9}, []):
            assert code(await client.put("/retention", json=wrong)) == (422, "invalid_request")
    stored = (await served.get("/retention", MANAGER)).json()
    assert (stored["threads"], stored["uploads"], stored["audit"], stored["changedBy"]) == (365, 90, None, "boss")


async def test_a_retention_that_names_nothing_is_refused_and_null_keeps_for_ever(served: Served) -> None:
    async with served._client("boss", MANAGER) as client:
        await client.put("/retention", json={"threads": 365})
        refused = await client.put("/retention", json={})
        assert code(refused) == (422, "invalid_request")
        assert "at least one of threads" in refused.json()["detail"]
        assert (await client.get("/retention")).json()["threads"] == 365
        stored = (await client.put("/retention", json={"threads": None})).json()
    assert (stored["threads"], stored["nextRunAt"]) == (None, None)


async def test_a_retention_shows_when_it_is_enforced_next_and_by_which_request_it_was(served: Served) -> None:
    now = to_iso(served.harness.clock.now())
    async with served._client("boss", MANAGER) as client:
        first = (await client.put("/retention", json={"threads": 365})).json()
        assert (first["nextRunAt"], first["lastRequestId"]) == (now, None)
        await build(served.harness).privacy.retention_runs.start_due()
        enforced = (await client.get("/retention")).json()
        assert enforced["nextRunAt"] == to_iso(served.harness.clock.now() + timedelta(days=1))
        request = await client.get(f"/forget-requests/{enforced['lastRequestId']}")
        assert (request.json()["subject"], request.json()["expectedCutoffAt"]) == ("retention", None)
        changed = (await client.put("/retention", json={"threads": 30})).json()
    assert (changed["nextRunAt"], changed["lastRequestId"]) == (now, enforced["lastRequestId"])


async def test_a_request_says_until_when_about_what_is_said_is_forgotten(served: Served) -> None:
    body = (await served.request("DELETE", "/users/me/memory")).json()
    in_16_minutes = served.harness.clock.now() + timedelta(minutes=16)
    assert (body["cutoffAt"], body["expectedCutoffAt"]) == (None, to_iso(in_16_minutes))
    forgetting = build(served.harness).privacy.forgetting
    for _ in range(2):
        await forgetting.sweep(served.harness.ada, body["requestId"], seconds=60)
    visible = (await served.get(f"/forget-requests/{body['requestId']}")).json()
    assert visible["cutoffAt"] is not None
    assert visible["expectedCutoffAt"] is None


async def test_a_running_request_is_known_by_its_status(served: Served) -> None:
    answer = await served.request("DELETE", "/users/me/memory")
    assert ForgetStatus(answer.json()["status"]) is ForgetStatus.RUNNING

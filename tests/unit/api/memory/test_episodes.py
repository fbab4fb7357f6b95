"""Episodes over HTTP: list, read, import."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.domain.errors import SearchUnavailable
from baton.domain.memory.episode import make_episode_ref
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason, ThreadStatus
from baton.ports.threads.leases import LeaseRequest
from tests.fakes.chat_model import Answer
from tests.harness.sessions import close, make_episode
from tests.unit.api.served import Served

HELLO = [
    {"id": "a-1", "role": "user", "content": "I moved to Bern last week.", "timestamp": "2025-06-02T09:30:00+02:00"},
    {"role": "assistant", "content": "Write to the town hall.", "timestamp": "2025-06-02T07:30:04.123456Z"},
    {"role": "tool", "content": "[]", "timestamp": "2025-06-02T07:30:05Z", "toolName": "look_up"},
    {"role": "user", "content": "Call me at +41 44 668 18 00.", "timestamp": "2025-06-02T07:31:00Z"},
]
SESSION: dict[str, Any] = {"sessionId": "crm-4711", "messages": HELLO}


@pytest.fixture
def served() -> Served:
    return Served()


async def import_session(served: Served, body: dict[str, Any] = SESSION, *, user: str = "ada") -> dict[str, Any]:
    answer = await served.post("/episodes/import", body, user=user)
    assert answer.status_code == 202, answer.text
    results: dict[str, Any] = answer.json()
    return results


async def test_an_episode_can_be_read_as_soon_as_its_session_has_ended(served: Served) -> None:
    await served.harness.say("m1", "Write to ada@example.com.")
    episode_id = await close(served.harness)
    pending = (await served.get(f"/episodes/{episode_id}")).raise_for_status().json()
    assert (pending["status"], pending["messageCount"], len(pending["messages"])) == ("pending", 2, 2)
    await make_episode(served.harness)
    episode = (await served.get(f"/episodes/{episode_id}")).raise_for_status().json()
    assert episode["status"] == "complete"
    assert episode["missing"] == []
    assert episode["threadId"] == served.harness.thread_id
    assert (episode["tenantId"], episode["userId"], episode["agentIds"]) == ("acme", "ada", ["assistant"])
    assert (episode["endReason"], episode["totalInputTokens"], episode["totalOutputTokens"]) == ("UserClosed", 10, 2)
    [question, answer] = episode["messages"]
    assert (question["id"], question["ordinal"], question["role"]) == ("m1", 0, "user")
    assert (question["content"], question["containsPii"]) == ("Write to ada@example.com.", True)
    assert question["redactedContent"] == "Write to [email]."
    assert (answer["containsPii"], answer["redactedContent"], answer["agentId"]) == (False, None, "assistant")


async def test_an_episode_has_its_own_tool_calls(served: Served) -> None:
    harness = served.harness
    for number in (1, 2):
        harness.model.script(Answer.calling(ToolCall(f"call-{number}", "launch", "{}")), "Done.")
        await harness.say(f"m{number}")
        await close(harness)
        await make_episode(harness, number)
    items, _ = await served.items("/episodes")
    for item in items:
        episode = (await served.get(f"/episodes/{item['id']}")).raise_for_status().json()
        assert {message["id"] for message in episode["messages"] if message["role"] == "user"} == {f"m{item['number']}"}
        assert all(call["runId"] for call in episode["toolCalls"])


async def test_the_messages_of_a_long_episode_come_in_pages(served: Served) -> None:
    for number in range(7):
        await served.harness.say(f"m{number}")
    episode_id = await close(served.harness)
    results: list[int] = []
    cursor: str | None = None
    while True:
        params = {"limit": 4} | ({"cursor": cursor} if cursor else {})
        page = (await served.get(f"/episodes/{episode_id}", **params)).raise_for_status().json()
        assert len(page["messages"]) <= 4
        results = [message["ordinal"] for message in page["messages"]] + results
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert results == list(range(14))


@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_pages_of_an_episode_have_each_tool_call_once(
    served: Served, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.api.memory.episodes.MAX_READS", 1)  # so that pages are empty where no message is shown
    for number in (1, 2):
        served.harness.model.script(Answer.calling(ToolCall(f"call-{number}", "launch", "{}")), "Done.")
        await served.harness.say(f"m{number}")
    episode_id = await close(served.harness)
    calls: list[str] = []
    sizes: list[int] = []
    cursor: str | None = None
    while cursor is not None or not sizes:
        params = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = (await served.get(f"/episodes/{episode_id}", **params)).raise_for_status().json()
        calls += [call["runId"] for call in page["toolCalls"]]
        sizes.append(len(page["messages"]))
        cursor = page["nextCursor"]
    assert len(calls) == len(set(calls)) == 2
    assert (0 in sizes) == (limit == 1)


@pytest.mark.parametrize("user", ["bob", "stranger"])
async def test_nobody_elses_episode_exists(served: Served, user: str) -> None:
    await served.harness.say()
    episode_id = await close(served.harness)
    await make_episode(served.harness)
    refused = await served.get(f"/episodes/{episode_id}", "thread:read_all", user=user)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert (await served.get("/episodes", "thread:read_all", user=user)).json()["items"] == []


async def test_a_session_that_never_ended_has_no_episode(served: Served) -> None:
    """A worker recorded it and died before it could close the thread."""
    harness = served.harness
    await harness.say()
    lease = await harness.store.acquire(harness.ada, LeaseRequest(harness.thread_id))
    ref = make_episode_ref(lease.thread, lease.thread.next_ordinal, EndReason.USER_CLOSED, harness.clock.now())
    assert ref is not None
    await harness.episodes.begin(lease, ref)
    assert (await served.get(f"/episodes/{ref.id}")).status_code == 404


async def test_episodes_are_listed_latest_end_first(served: Served) -> None:
    ids = []
    for number in range(3):
        answer = await import_session(served, {**SESSION, "sessionId": f"s-{number}"})
        ids.append(answer["episodeId"])
        served.harness.thread_id = answer["sessionId"]
        await make_episode(served.harness)
    items, cursor = await served.items("/episodes", limit=2)
    more, end = await served.items("/episodes", limit=2, cursor=cursor)
    assert {item["id"] for item in items + more} == set(ids)
    assert end is None
    assert [item["endedAt"] for item in items + more] == ["2025-06-02T07:31:00.000Z"] * 3


# Search


async def index_session(served: Served, session_id: str, text: str, day: str, *, user: str = "ada") -> str:
    """A session of one message, imported and closed; the id of its episode."""
    message = {"id": "m-1", "role": "user", "content": text, "timestamp": f"{day}T12:00:00Z"}
    answer = await import_session(served, {"sessionId": session_id, "messages": [message]}, user=user)
    harness = served.harness
    mine, harness.ada, harness.thread_id = harness.ada, Scope("acme", user), answer["sessionId"]
    await make_episode(harness)
    harness.ada = mine
    return str(answer["episodeId"])


async def test_a_search_finds_the_episode_and_the_message_without_personal_data(served: Served) -> None:
    expected = await index_session(served, "s-1", "My cat Molly is registered at molly@example.com.", "2025-06-02")
    await index_session(served, "s-2", "The weather in Bern is fine.", "2025-06-03")
    answer = (await served.post("/episodes/search", {"query": "What is the name of my cat?"})).raise_for_status()
    body = answer.json()["items"][0]
    assert (body["episodeId"], body["startedAt"]) == (expected, "2025-06-02T12:00:00.000Z")
    assert set(body) == {
        "episodeId",
        "threadId",
        "startedAt",
        "endedAt",
        "summary",
        "facts",
        "score",
        "signals",
        "matches",
    }
    [match] = body["matches"]
    assert (match["messageId"], match["ordinal"], match["timestamp"]) == ("m-1", 0, "2025-06-02T12:00:00.000Z")
    assert match["text"] == "My cat Molly is registered at [email]."


async def test_a_search_about_a_time_is_answered_from_that_time(served: Served) -> None:
    ids = [await index_session(served, f"s-{day}", "We talked about cats.", f"2025-06-0{day}") for day in (1, 2, 3)]
    body = {"query": "cats", "from": "2025-06-02T00:00:00Z", "to": "2025-06-03T00:00:00+00:00"}
    items = (await served.post("/episodes/search", body)).json()["items"]
    assert [item["episodeId"] for item in items] == [ids[1]]


async def test_a_search_finds_nothing_of_others(served: Served) -> None:
    await index_session(served, "s-1", "We talked about cats.", "2025-06-02", user="bob")
    for query in ("cats", '" OR * AND NOT (', "x" * 20_000, "猫について"):
        assert (await served.post("/episodes/search", {"query": query})).json()["items"] == []


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"query": "x" * 20_001}, "query"),
        ({"query": 7}, "query"),
        ({"query": ""}, "query must hold words"),
        ({"query": " \n"}, "query must hold words"),
        ({"form": "2025-06-02T00:00:00Z"}, "form"),
        ({"limit": 0}, "limit"),
        ({"limit": 51}, "limit"),
        ({"limit": True}, "limit"),
        ({"from": "last week"}, "from"),
        ({"to": "2025-06-02"}, "to"),
        ({"from": "2025-06-02T00:00:00Z", "to": "2025-06-02T00:00:00Z"}, "from"),
    ],
)
async def test_a_search_that_makes_no_sense_is_refused(served: Served, wrong: dict[str, Any], named: str) -> None:
    refused = await served.post("/episodes/search", {"query": "cats", **wrong})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert named in refused.json()["detail"]


async def test_a_search_without_an_engine_says_so(served: Served) -> None:
    served.harness.search.failure = SearchUnavailable()
    refused = await served.post("/episodes/search", {"query": "cats"})
    assert (refused.status_code, refused.json()["code"]) == (503, "search_unavailable")


# Import


async def test_an_imported_session_keeps_its_messages_ids_and_times(served: Served) -> None:
    answer = await import_session(served)
    served.harness.thread_id = answer["sessionId"]
    await make_episode(served.harness)
    episode = (await served.get(f"/episodes/{answer['episodeId']}")).raise_for_status().json()
    assert episode["messages"][0]["id"] == "a-1"
    assert [message["timestamp"] for message in episode["messages"]] == [
        "2025-06-02T07:30:00.000Z",
        "2025-06-02T07:30:04.123Z",
        "2025-06-02T07:30:05.000Z",
        "2025-06-02T07:31:00.000Z",
    ]
    assert (episode["startedAt"], episode["endedAt"]) == ("2025-06-02T07:30:00.000Z", "2025-06-02T07:31:00.000Z")
    assert episode["messages"][3]["redactedContent"] == "Call me at [phone]."
    thread = (await served.get("/threads/crm-4711")).raise_for_status().json()
    assert (thread["status"], thread["id"], thread["run"]) == ("closed", answer["sessionId"], None)
    messages, _ = await served.items("/threads/crm-4711/messages")
    assert [message["content"] for message in messages] == [
        HELLO[0]["content"],
        HELLO[1]["content"],
        HELLO[3]["content"],
    ]


async def test_an_imported_thread_goes_on_with_a_message(served: Served) -> None:
    answer = await import_session(served)
    served.harness.thread_id = answer["sessionId"]
    turn = await served.harness.say("m1", "Where did I move?")
    assert turn.text == "Hello there."
    assert ("user", "I moved to Bern last week.") in served.harness.model.requests[0].contents
    assert await close(served.harness) not in (None, answer["episodeId"])
    thread = await served.harness.store.get_thread(served.harness.ada, answer["sessionId"])
    assert (thread.status, thread.episode) == (ThreadStatus.CLOSED, 3)


async def test_a_client_that_asks_for_events_gets_the_messages(served: Served) -> None:
    answer = await import_session(served)
    thread = await served.harness.store.get_thread(served.harness.ada, answer["sessionId"])
    replay = await served.harness.replays.replay_after(served.harness.ada, thread, 0)
    assert replay.snapshot is not None


async def test_repeating_an_import_changes_nothing(served: Served) -> None:
    first = await import_session(served)
    harness = served.harness
    seen = harness.store.rows["acme", first["sessionId"]].thread
    started = dict(harness.closings.started)
    assert await import_session(served) == first
    assert harness.store.rows["acme", first["sessionId"]].thread == seen
    assert harness.closings.started == started
    harness.thread_id = first["sessionId"]
    await make_episode(harness)
    await harness.say("m1")
    assert await import_session(served) == first


async def test_other_messages_under_the_same_id_are_refused(served: Served) -> None:
    await import_session(served)
    for body in ({**SESSION, "messages": HELLO[:2]}, {**SESSION, "endedAt": "2025-06-03T00:00:00Z"}):
        refused = await served.post("/episodes/import", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "import_conflict")


async def test_a_conversation_that_was_held_here_is_not_imported_over(served: Served) -> None:
    await served.harness.say()
    refused = await served.post("/episodes/import", {**SESSION, "sessionId": served.harness.thread_id})
    assert (refused.status_code, refused.json()["code"]) == (409, "import_conflict")
    assert (await served.harness.say("m2")).text == "Hello there."


async def test_another_user_may_have_the_same_session_id(served: Served) -> None:
    mine, bobs = await import_session(served), await import_session(served, user="bob")
    assert mine["sessionId"] != bobs["sessionId"]


async def test_somebody_elses_uuid_is_unavailable(served: Served) -> None:
    session = {**SESSION, "sessionId": "6d1f4c62-3f0a-4a52-9f0e-6a4f1f4f7a11"}
    await import_session(served, session)
    refused = await served.post("/episodes/import", session, user="bob")
    assert (refused.status_code, refused.json()["code"]) == (404, "thread_unavailable")


async def test_what_was_exported_under_a_mapped_id_can_be_imported(served: Served) -> None:
    mapped = (await import_session(served))["sessionId"]
    answer = await import_session(served, {**SESSION, "sessionId": mapped}, user="bob")
    assert await import_session(served, {**SESSION, "sessionId": mapped}, user="bob") == answer
    assert answer["sessionId"] != mapped


async def test_many_imports_at_once_lose_none(served: Served) -> None:
    bodies = [{**SESSION, "sessionId": f"s-{number // 2}"} for number in range(100)]
    answers = await asyncio.gather(*(import_session(served, body) for body in bodies))
    assert len({answer["episodeId"] for answer in answers}) == 50
    assert len(served.harness.closings.started) == 50


async def test_content_parts_become_text(served: Served) -> None:
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}},
        {"type": "document", "metadata": {"name": "contract.pdf"}},
    ]
    message = {"role": "user", "content": parts, "timestamp": "2025-06-02T09:30:00Z"}
    await import_session(served, {"sessionId": "s", "messages": [message]})
    messages, _ = await served.items("/threads/s/messages")
    assert messages[0]["content"] == "Look:\n[image]\n[document: contract.pdf]"


async def test_messages_without_a_text_are_left_out_of_an_import(served: Served) -> None:
    blank = [
        {**HELLO[0], "id": f"blank-{number}", "content": content} for number, content in enumerate(("", " \n", []))
    ]
    answer = await import_session(served, {"sessionId": "s", "messages": [*blank, *HELLO]})
    assert await import_session(served, {"sessionId": "s", "messages": [*blank, *HELLO]}) == answer
    messages, _ = await served.items("/threads/s/messages", roles="user,assistant,tool")
    assert [message["content"] for message in messages] == [item["content"] for item in HELLO]


@pytest.mark.parametrize("times", [("10:00", "10:00", "10:00"), ("10:02", "10:01", "10:00")])
async def test_imported_messages_keep_their_order_whatever_their_times(served: Served, times: tuple[str, ...]) -> None:
    reported = [
        {"role": "user", "content": f"Message {number}", "timestamp": f"2025-06-02T{time}:00Z"}
        for number, time in enumerate(times)
    ]
    await import_session(served, {"sessionId": "s", "messages": reported})
    messages, _ = await served.items("/threads/s/messages")
    assert [message["content"] for message in messages] == ["Message 0", "Message 1", "Message 2"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "messages"),
    ({"messages": [HELLO[0]] * 5001}, "messages"),
    ({"messages": [HELLO[0], HELLO[0]]}, "id"),
    ({"messages": [{**HELLO[0], "role": "system"}]}, "messages[0].role"),
    ({"messages": [HELLO[1], {**HELLO[0], "timestamp": "yesterday"}]}, "messages[1].timestamp"),
    ({"messages": [{**HELLO[0], "timestamp": "2025-06-02T09:30:00"}]}, "time zone"),
    ({"messages": [{**HELLO[0], "timestamp": "2999-06-02T09:30:00Z"}]}, "between 1970 and a day from now"),
    ({"messages": [{**HELLO[0], "timestamp": "0001-01-01T00:00:00+14:00"}]}, "timestamp"),
    ({"messages": [{**HELLO[0], "timestamp": "1969-12-31T00:00:00Z"}]}, "between 1970 and a day from now"),
    ({"messages": [{**HELLO[0], "id": ""}]}, "messages[0].id"),
    ({"messages": [{**HELLO[0], "id": "a\nb"}]}, "messages[0].id"),
    ({"messages": [{**HELLO[0], "content": [{"text": "no type"}]}]}, "messages[0].content[0]"),
    ({"messages": [{**HELLO[0], "toolName": "x" * 65}]}, "toolName"),
    ({"messages": HELLO, "endedAt": "2025-06-01T00:00:00Z"}, "endedAt"),
    ({"messages": HELLO, "endedAt": "never"}, "endedAt"),
    ({"messages": [{**HELLO[0], "timestamp": 5}]}, "messages[0].timestamp"),
    ({"messages": HELLO, "sessionId": ""}, "threadId"),
    ({"messages": HELLO, "agentId": ""}, "agentId"),
    ({"messages": HELLO, "endetAt": "2025-06-03T00:00:00Z"}, "endetAt"),
    ({"messages": [{**HELLO[0], "content": " "}, {**HELLO[1], "content": []}]}, "at least one must have a text"),
]


@pytest.mark.parametrize(("wrong", "named"), WRONG)
async def test_what_cannot_be_imported_is_refused_by_name(served: Served, wrong: dict[str, Any], named: str) -> None:
    refused = await served.post("/episodes/import", {**SESSION, **wrong})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert named in refused.json()["detail"]


async def test_messages_over_one_mebibyte_are_too_large(served: Served) -> None:
    huge = {**HELLO[0], "content": "x" * (1024 * 1024 + 1)}
    refused = await served.post("/episodes/import", {**SESSION, "messages": [huge]})
    assert (refused.status_code, refused.json()["code"]) == (413, "message_too_large")


async def test_an_agent_that_does_not_exist_cannot_have_held_a_conversation(served: Served) -> None:
    refused = await served.post("/episodes/import", {**SESSION, "agentId": "nobody"})
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_agent")


async def test_an_import_is_audited_once(served: Served) -> None:
    began = served.harness.clock.now()
    for _ in range(2):
        await import_session(served)
    records = {record.action: record for record in served.harness.audit.records}
    assert len(served.harness.audit.records) == len(records) == 2
    assert records.keys() == {"thread.close", "thread.import"}
    assert records["thread.import"].at == began, "not when the session ended"

"""Reading: threads, messages, events, agents, health."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import Any

import httpx
import pytest

from baton import __version__
from tests.e2e.ag_ui_rules import check_run
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.gates import Gate
from tests.e2e.problems import check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User, run_input
from tests.fault_model import FaultModel, answers

UNAVAILABLE = "This conversation is not available to you. Please start a new one."


async def test_a_thread_shows_what_it_is(alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    first = await alice.ask("Hello", sessionId=thread_id)
    second = await alice.ask("Hello", sessionId=thread_id)
    thread = await alice.read(f"/threads/{thread_id}")
    assert thread["createdAt"] <= thread["lastActivityAt"]
    assert thread["createdAt"].endswith("Z")
    assert thread["lastActivityAt"].endswith("Z")
    del thread["createdAt"], thread["lastActivityAt"]
    assert thread == {
        "id": thread_id,
        "title": None,
        "userId": "alice",
        "agentId": "assistant",
        "parentThreadId": None,
        "status": "active",
        "state": second["state"],
        "episode": 1,
        "usage": {name: first["usage"][name] + second["usage"][name] for name in first["usage"]},
        "run": None,
        "interrupts": [],
        "lastSeq": 12,
        "unread": 1,
        "cost": None,
        "lastError": None,
    }


async def test_a_thread_shows_the_run_it_is_in(alice: User, model: FaultModel) -> None:
    gate = Gate()
    model.script(gate.behaviour)
    body = run_input("Hello", message_id="m-1")
    async with alice.stream("POST", "/runs", json=body) as stream:
        seen = [await anext(stream)]
        run = (await alice.read(f"/threads/{body['threadId']}"))["run"]
        assert run == {"runId": body["runId"], "messageId": "m-1", "status": "running", "attempt": 1}
        gate.open()
        seen += [event async for event in stream]
    check_run(seen)
    thread = await alice.read(f"/threads/{body['threadId']}")
    assert (thread["run"], thread["lastSeq"]) == (None, seen[-1]["metadata"]["seq"])


@pytest.mark.nightly
async def test_threads_are_listed_newest_first_in_pages(alice: User, new_user: NewUser) -> None:
    response = [(await alice.ask(f"Thread {n}"))["sessionId"] for n in range(5)]
    await new_user("bob").ask("Not Alice's")
    listed, cursor, pages = [], None, 0
    while True:
        page = await alice.read("/threads", limit=2, **({"cursor": cursor} if cursor else {}))
        assert page.keys() == {"items", "nextCursor"}
        assert len(page["items"]) <= 2
        listed += page["items"]
        cursor, pages = page["nextCursor"], pages + 1
        if cursor is None:
            break
    assert [thread["id"] for thread in listed] == response[::-1]
    assert pages in (3, 4)
    assert listed[0] == await alice.read(f"/threads/{response[-1]}")


@pytest.mark.nightly
async def test_a_stranger_has_no_threads(new_user: NewUser, model: FaultModel) -> None:
    assert await new_user("nobody").read("/threads") == {"items": [], "nextCursor": None}


@pytest.mark.nightly
async def test_the_whole_tenants_threads_need_a_permission(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str
) -> None:
    bob, admin = new_user("bob"), new_user("admin", "thread:read_all")
    stranger = new_user("stranger", "thread:read_all", tenant=f"t-{uuid.uuid4().hex}")
    response = [(await user.ask("Hello"))["sessionId"] for user in (alice, bob, alice)]
    listed = await admin.read("/threads", scope="tenant")
    assert [thread["id"] for thread in listed["items"]] == response[::-1]
    assert {thread["userId"] for thread in listed["items"]} == {"alice", "bob"}
    page = await admin.read("/threads", scope="tenant", limit=2)
    rest = await admin.read("/threads", scope="tenant", limit=2, cursor=page["nextCursor"])
    assert [thread["id"] for thread in (*page["items"], *rest["items"])] == response[::-1]
    check_problem(await alice.get("/threads", scope="tenant"), 403, "forbidden")
    assert (await stranger.read("/threads", scope="tenant"))["items"] == []
    assert (await admin.read("/threads"))["items"] == []


async def test_holders_of_read_all_may_read_but_not_write(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str
) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    admin = new_user("admin", "thread:read_all")
    assert (await admin.read(f"/threads/{thread_id}"))["userId"] == "alice"
    assert await admin.messages(thread_id) == await alice.messages(thread_id)
    assert await admin.follow(thread_id) == await alice.follow(thread_id)
    before = cloud.list_data(tenant)
    check_problem(await admin.post("/messages", {"message": "Hi", "sessionId": thread_id}), 404, "thread_unavailable")
    upload = {"name": "a.txt", "contentType": "text/plain", "size": 1}
    check_problem(await admin.post(f"/threads/{thread_id}/files", upload), 404, "thread_unavailable")
    assert cloud.list_data(tenant) == before


@pytest.mark.parametrize("what", ["", "/messages", "/events"])
async def test_foreign_and_unknown_threads_are_refused_alike(
    alice: User, new_user: NewUser, cloud: RunningCloud, tenant: str, what: str
) -> None:
    elsewhere = f"t-{uuid.uuid4().hex}"
    theirs = (await new_user("alice", "thread:read_all", tenant=elsewhere).ask("Secret"))["sessionId"]
    bobs = (await new_user("bob").ask("Secret"))["sessionId"]
    reported = []
    for thread_id in (theirs, bobs, new_id(), "no-such-booking"):
        problem = check_problem(await alice.get(f"/threads/{thread_id}{what}"), 404, "thread_unavailable")
        assert problem["detail"] == UNAVAILABLE
        reported.append({**problem, "requestId": ""})
    assert reported == reported[:1] * 4
    attempts = [item for item in cloud.audits(tenant) if item["user_id"] == "alice"]
    outcomes = {item["PK"].partition("#")[2]: (item["action"], item["outcome"]) for item in attempts}
    assert {outcomes.pop(theirs), outcomes.pop(bobs)} == {("thread.read", "denied")}
    assert list(outcomes.values()) == [("thread.read", "not_found")] * 2


@pytest.mark.nightly
async def test_messages_are_paged_back_in_time_each_page_in_order(alice: User) -> None:
    thread_id = new_id()
    for number in range(4):
        await alice.ask(f"Message {number}", sessionId=thread_id)
    pages: list[list[int]] = []
    cursor = None
    while True:
        page = await alice.read(f"/threads/{thread_id}/messages", limit=3, **({"cursor": cursor} if cursor else {}))
        pages.append([message["metadata"]["ordinal"] for message in page["items"]])
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert [page for page in pages if page] == [[5, 6, 7], [2, 3, 4], [0, 1]]
    whole = await alice.read(f"/threads/{thread_id}/messages")
    assert [message["metadata"]["ordinal"] for message in whole["items"]] == list(range(8))
    assert whole["nextCursor"] is None


@pytest.mark.nightly
async def test_messages_are_shown_by_role(alice: User) -> None:
    thread_id = new_id()
    for number in range(3):
        await alice.ask(f"Message {number}", sessionId=thread_id)
    mine = await alice.messages(thread_id, roles="user")
    assert [message["content"] for message in mine] == ["Message 0", "Message 1", "Message 2"]
    page = await alice.read(f"/threads/{thread_id}/messages", roles="assistant", limit=2)
    assert [message["metadata"]["ordinal"] for message in page["items"]] == [3, 5]
    rest = await alice.read(f"/threads/{thread_id}/messages", roles="assistant", limit=2, cursor=page["nextCursor"])
    assert [message["metadata"]["ordinal"] for message in rest["items"]] == [1]
    assert await alice.messages(thread_id, roles="tool") == []
    assert len(await alice.messages(thread_id, roles="user,assistant,tool")) == 6


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/threads", {"limit": 0}),
        ("/threads", {"limit": 101}),
        ("/threads", {"limit": "many"}),
        ("/threads", {"cursor": "garbage"}),
        ("/threads", {"cursor": "x" * 513}),
        ("/threads", {"scope": "world"}),
        ("/threads/{thread}/messages", {"limit": -1}),
        ("/threads/{thread}/messages", {"cursor": "garbage"}),
        ("/threads/{thread}/messages", {"cursor": "YmVmb3JlOi0x"}),
        ("/threads/{thread}/messages", {"roles": ""}),
        ("/threads/{thread}/messages", {"roles": "system"}),
        ("/threads/{thread}/messages", {"roles": "user,everybody"}),
        ("/threads/{thread}/events", {"after": -1}),
        ("/threads/{thread}/events", {"after": "last"}),
        ("/threads/{thread}/events", {"after": 10**30}),
    ],
    ids=str,
)
async def test_a_query_that_makes_no_sense_is_a_problem(alice: User, path: str, query: dict[str, Any]) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    check_problem(await alice.get(path.format(thread=thread_id), **query), 422, "invalid_request")


@pytest.mark.nightly
async def test_a_threads_cursor_is_no_good_for_somebody_else(alice: User, new_user: NewUser) -> None:
    for _ in range(2):
        await alice.ask("Hello")
    cursor = (await alice.read("/threads", limit=1))["nextCursor"]
    bob = new_user("bob", tenant=f"t-{uuid.uuid4().hex}")
    theirs = await bob.get("/threads", limit=1, cursor=cursor)
    if theirs.status_code == 200:
        assert theirs.json()["items"] == []
    else:
        check_problem(theirs, 422, "invalid_request")


@pytest.mark.nightly
async def test_events_are_replayed_after_any_number(alice: User, model: FaultModel) -> None:
    thread_id = new_id()
    model.script(answers("One two three.", delay=0.15))
    await alice.ask("Count", sessionId=thread_id)
    await alice.ask("Again", sessionId=thread_id)
    events = await alice.follow(thread_id)
    last = events[-1]["metadata"]["seq"]
    assert [event["metadata"]["seq"] for event in events] == list(range(1, last + 1))
    for after in range(last + 1):
        assert await alice.follow(thread_id, after=after) == events[after:]
        assert await alice.follow(thread_id, headers={"Last-Event-ID": str(after)}) == events[after:]
    assert await alice.follow(thread_id, headers={"Last-Event-ID": "1"}, after=3) == events[3:]
    check_problem(await alice.get(f"/threads/{thread_id}/events", after=last + 1), 422, "invalid_sequence")
    wrong = await alice.get(f"/threads/{thread_id}/events", headers={"Last-Event-ID": "three"})
    check_problem(wrong, 422, "invalid_request")


async def test_events_are_followed_live_by_a_second_client(alice: User, model: FaultModel) -> None:
    gate = Gate("It was a dark ", "and stormy night.")
    model.script(gate.behaviour)
    body = run_input("Tell me a story")
    async with alice.stream("POST", "/runs", json=body) as stream:
        seen = []
        async for event in stream:
            seen.append(event)
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                break
        path = f"/threads/{body['threadId']}/events"
        async with alice.stream("GET", path, params={"after": 0}) as following:
            followed = [await anext(following)]
            gate.open()
            followed += [event async for event in following]
        with contextlib.suppress(StopAsyncIteration):
            while True:
                seen.append(await anext(stream))
    check_run(followed)
    assert followed == await alice.follow(body["threadId"])
    assert seen == followed[: len(seen)]


@pytest.mark.nightly
async def test_agents_are_those_the_caller_may_talk_to(alice: User, new_user: NewUser) -> None:
    listed = await alice.read("/agents")
    assert [agent["id"] for agent in listed["items"]] == [
        "assistant",
        "careful",
        "foreman",
        "hurried",
        "impatient",
        "joiner",
        "knowledge",
        "research",
        "specialist",
        "thrifty",
    ]
    assert listed["nextCursor"] is None
    assistant = listed["items"][0]
    assert assistant == {
        "id": "assistant",
        "name": "Assistant",
        "description": "Answers questions, and knows whom to ask.",
        "avatarUrl": None,
        "main": True,
        "version": None,
        "desks": [],
        "isDefault": True,
    }
    of_lists = {"desks", "isDefault"}
    definition = {name: value for name, value in assistant.items() if name not in of_lists}
    assert await alice.read("/agents/assistant") == definition
    check_problem(await alice.get("/agents/guarded"), 404, "unknown_agent")
    check_problem(await alice.get("/agents/nobody"), 404, "unknown_agent")
    chosen = new_user("chosen", "guarded:use")
    assert (await chosen.read("/agents/guarded"))["name"] == "Guarded"
    assert "guarded" in [agent["id"] for agent in (await chosen.read("/agents"))["items"]]


@pytest.mark.nightly
async def test_whole_definitions_are_for_those_who_may_change_them(new_user: NewUser) -> None:
    editor = new_user("editor", "agent:write")
    assistant = await editor.read("/agents/assistant")
    assert assistant["systemPrompt"].startswith("You are Assistant")
    assert assistant["timeouts"]["idleMinutes"] == 30
    assert assistant["sentences"]["en"]["still_waiting"]


async def test_health_needs_no_token(http_client: httpx.AsyncClient) -> None:
    response = await http_client.get("/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "version": __version__})


async def test_reading_while_a_turn_runs_shows_what_was_committed(alice: User, model: FaultModel) -> None:
    gate = Gate()
    model.script(answers("Hello."), gate.behaviour)
    thread_id = (await alice.ask("Hello"))["sessionId"]
    asking = asyncio.ensure_future(alice.ask("Another", sessionId=thread_id))
    await model.wait_until(lambda seen: len(seen.requests) == 2)
    assert [message["content"] for message in await alice.messages(thread_id)] == ["Hello", "Hello."]
    gate.open()
    await asking
    assert len(await alice.messages(thread_id)) == 4

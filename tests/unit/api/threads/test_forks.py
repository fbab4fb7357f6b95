"""Branching conversations, over HTTP."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, transfer
from tests.unit.api.served import Served


async def hold_conversation() -> Served:
    """Ada and her assistant have said four things."""
    served = Served(HandoffHarness(Answer(("One.",)), Answer(("Two.",))))
    await served.harness.say("m1", "First")
    await served.harness.say("m2", "Second")
    return served


async def fork(served: Served, *permissions: str, user: str = "ada", **fields: Any) -> Any:
    body = {"agentId": "helper", **fields}
    return await served.post(f"/threads/{served.harness.thread_id}/fork", body, *permissions, user=user)


async def list_texts(served: Served, thread_id: str) -> list[str]:
    items, _ = await served.items(f"/threads/{thread_id}/messages")
    return [message["content"] for message in items]


async def forks(served: Served) -> list[Any]:
    items, _ = await served.items("/threads", parentThreadId=served.harness.thread_id)
    return items


async def test_a_fork_is_a_conversation_with_another_agent_that_begins_with_the_last_messages() -> None:
    served = await hold_conversation()
    answer = await fork(served, includeHistoryMessages=3)
    assert answer.status_code == 201
    child = answer.json()
    assert (child["agentId"], child["parentThreadId"]) == ("helper", served.harness.thread_id)
    assert (child["status"], child["state"]["activeAgent"]["id"], child["run"]) == ("active", "helper", None)
    assert (await served.get(f"/threads/{child['id']}")).json() == child
    assert await list_texts(served, child["id"]) == ["One.", "Second", "Two."]

    body = {"sessionId": child["id"], "messageId": "m3", "message": "Third"}
    (await served.post("/messages", body)).raise_for_status()
    assert await list_texts(served, served.harness.thread_id) == ["First", "One.", "Second", "Two."]


async def test_a_fork_begins_with_five_messages_unless_more_or_fewer_are_wanted() -> None:
    served = await hold_conversation()
    await served.harness.say("m3", "Third")
    assert len(await list_texts(served, (await fork(served)).json()["id"])) == 5
    assert len(await list_texts(served, (await fork(served, includeHistoryMessages=200)).json()["id"])) == 6
    assert await list_texts(served, (await fork(served, includeHistoryMessages=0)).json()["id"]) == []


async def test_forks_are_listed_under_their_parent_only() -> None:
    served = await hold_conversation()
    instance = {(await fork(served)).json()["id"] for _ in range(2)}
    assert {thread["id"] for thread in await forks(served)} == instance
    assert [thread["id"] for thread in (await served.items("/threads"))[0]] == [served.harness.thread_id]
    everybodys, _ = await served.items("/threads", "thread:read_all", scope="tenant")
    assert [thread["id"] for thread in everybodys] == [served.harness.thread_id]
    page, cursor = await served.items("/threads", parentThreadId=served.harness.thread_id, limit=1)
    rest, end = await served.items("/threads", parentThreadId=served.harness.thread_id, limit=1, cursor=cursor)
    assert ({thread["id"] for thread in (*page, *rest)}, end) == (instance, None)


async def test_a_reader_sees_the_forks_of_what_they_may_read() -> None:
    served = await hold_conversation()
    child = (await fork(served)).json()
    visible = await served.get("/threads", "thread:read_all", user="boss", parentThreadId=served.harness.thread_id)
    assert [thread["id"] for thread in visible.json()["items"]] == [child["id"]]


@pytest.mark.parametrize(("user", "permissions"), [("eve", ()), ("boss", ("thread:read_all",))])
async def test_nobody_forks_what_is_not_theirs(user: str, permissions: tuple[str, ...]) -> None:
    served = await hold_conversation()
    refused = await fork(served, *permissions, user=user)
    assert (refused.status_code, refused.json()["code"]) == (404, "thread_unavailable")
    record = served.harness.audit.records[-1]
    assert (record.scope.user_id, record.action, record.outcome) == (user, "thread.fork", "denied")
    assert await forks(served) == []


async def test_an_unknown_conversation_has_no_forks() -> None:
    served = await hold_conversation()
    served.harness.thread_id = str(uuid.uuid4())
    assert (await fork(served)).json()["code"] == "thread_unavailable"


@pytest.mark.parametrize("agent_id", ["nobody", "locked"])
async def test_an_agent_that_is_not_there_for_the_caller_is_refused(agent_id: str) -> None:
    served = await hold_conversation()
    refused = await fork(served, agentId=agent_id)
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_agent")
    assert await forks(served) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"agentId": None},
        {"agentId": 7},
        {"agentId": ""},
        {"agentId": "x" * 65},
        {"includeHistoryMessages": -1},
        {"includeHistoryMessages": 201},
        {"includeHistoryMessages": "5"},
        {"includeHistoryMessages": 1.5},
        {"includeHistoryMessages": True},
        {"includeHistoryMessages": None},
    ],
    ids=str,
)
async def test_malformed_fields_are_refused(fields: dict[str, Any]) -> None:
    served = await hold_conversation()
    refused = await fork(served, **fields)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert await forks(served) == []


async def test_a_field_that_the_request_does_not_have_is_ignored_as_everywhere() -> None:
    served = await hold_conversation()
    child = await fork(served, contextMode="full")
    assert child.status_code == 201
    assert len(await list_texts(served, child.json()["id"])) == 4


async def test_a_fork_that_is_led_by_its_parent_is_written_to_there() -> None:
    served = Served(HandoffHarness(transfer(), context_mode="forked"))
    await served.harness.say()
    [handoff], _ = await served.items(f"/threads/{served.harness.thread_id}/handoffs")
    [child] = await forks(served)
    assert child["id"] == handoff["childThreadId"]
    body = {"sessionId": child["id"], "messageId": "m2", "message": "Hello?"}
    refused = await served.post("/messages", body)
    assert (refused.status_code, refused.json()["code"]) == (409, "thread_led_by_parent")
    [workflow], _ = await served.items("/workflows")
    (await served.post(f"/threads/{served.harness.thread_id}/exit", None)).raise_for_status()
    going_on = await served.post(f"/threads/{child['id']}/continue", {"workflowId": workflow["id"]})
    assert (going_on.status_code, going_on.json()["code"]) == (409, "thread_led_by_parent")

"""The active agent, over HTTP: exit, continue, handoffs, workflows and the state that shows them."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.errors import ModelUnavailable
from baton.ports.threads.leases import LeaseRequest
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, advance, transfer
from tests.unit.api.served import Served

EXITED = [
    ("Maker", "No problem! Returning you to the main assistant."),
    ("Assistant", "Let me know if you'd like to continue making it later."),
]


async def hand_over(*answers: Answer) -> Served:
    """Ada's conversation is with the maker."""
    served = Served(HandoffHarness(transfer(), *answers))
    await served.harness.say()
    return served


async def leave_workflow() -> tuple[Served, dict[str, Any]]:
    """Ada has left a workflow in its second state; the workflow as she is shown it."""
    served = await hand_over(Answer(("Name?",)), advance("BUILD", name="Box"), Answer(("Building.",)))
    await served.harness.say("m2", "Box")
    (await exit_(served)).raise_for_status()
    [workflow], _ = await served.items("/workflows")
    return served, workflow


def thread(served: Served) -> str:
    return f"/threads/{served.harness.thread_id}"


async def exit_(served: Served, *permissions: str, **user: str) -> Any:
    return await served.post(f"{thread(served)}/exit", None, *permissions, **user)


async def continue_(served: Served, workflow_id: object, *permissions: str, **user: str) -> Any:
    return await served.post(f"{thread(served)}/continue", {"workflowId": workflow_id}, *permissions, **user)


def list_spoken(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["name"], message["content"]) for message in answer["messages"]]


def read_refusal(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


# Exit


async def test_an_exit_answers_with_its_turn() -> None:
    served = await hand_over()
    answer = await exit_(served)

    assert answer.status_code == 200
    body = answer.json()
    assert body.keys() == {"sessionId", "runId", "messages", "state", "usage", "outcome"}
    assert body["sessionId"] == served.harness.thread_id
    assert list_spoken(body) == EXITED
    assert {message["metadata"]["runId"] for message in body["messages"]} == {body["runId"]}
    assert (body["state"]["activeAgent"]["isMain"], body["state"]["workflow"]) == (True, None)
    assert [workflow["name"] for workflow in body["state"]["resumable"]] == ["your new thing"]
    assert (body["outcome"], body["usage"]["totalTokens"]) == ({"type": "success"}, 0)
    visible = (await served.get(thread(served))).json()
    assert visible["state"] == body["state"]


async def test_an_exit_after_the_exit_is_refused() -> None:
    served = await hand_over()
    await exit_(served)
    assert read_refusal(await exit_(served)) == (409, "not_in_handoff")


async def test_exits_at_the_same_time_are_one() -> None:
    served = await hand_over()
    harness = served.harness
    busy = await harness.store.acquire(harness.ada, LeaseRequest(harness.thread_id, "r-9", "m9"))
    leaving = [asyncio.ensure_future(exit_(served)) for _ in range(2)]
    async with asyncio.timeout(10):
        while len([record for record in harness.audit.records if record.action == "run.cancel"]) < 2:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
    await harness.store.release(busy)
    first, second = [(answer.status_code, answer.json()) for answer in await asyncio.gather(*leaving)]
    assert first == second
    assert list_spoken(first[1]) == EXITED
    messages, _ = await served.items(f"{thread(served)}/messages")
    assert [message["content"] for message in messages].count(EXITED[0][1]) == 1


async def test_with_the_main_agent_there_is_nobody_to_leave() -> None:
    served = Served(HandoffHarness())
    await served.harness.say()
    assert read_refusal(await exit_(served)) == (409, "not_in_handoff")


@pytest.mark.parametrize(("user", "permissions"), [("eve", ()), ("boss", ("thread:read_all",))])
async def test_strangers_leave_nobody(user: str, permissions: tuple[str, ...]) -> None:
    served = await hand_over()
    assert read_refusal(await exit_(served, *permissions, user=user)) == (404, "thread_unavailable")
    record = served.harness.audit.records[-1]
    assert (record.scope.user_id, record.action, record.outcome) == (user, "thread.exit", "denied")
    assert (await served.get(thread(served))).json()["state"]["activeAgent"]["id"] == "maker"


async def test_an_exit_begins_no_conversation() -> None:
    served = Served(HandoffHarness())
    assert read_refusal(await exit_(served)) == (404, "thread_unavailable")
    assert read_refusal(await exit_(served, user="eve")) == (404, "thread_unavailable")
    assert await served.items("/threads") == ([], None)


# Continue


async def test_a_workflow_is_continued_where_it_was_left() -> None:
    served, workflow = await leave_workflow()
    answer = await continue_(served, workflow["id"])
    assert answer.status_code == 200
    body = answer.json()
    assert list_spoken(body) == [("Maker", "What shall it be called?")]
    assert body["state"]["activeAgent"]["id"] == "maker"
    assert body["state"]["workflow"] == {
        "id": workflow["id"],
        "name": "your Box",
        "state": "BUILD",
        "label": "Building",
        "step": 2,
        "steps": 2,
        "canExit": True,
    }
    assert body["state"]["resumable"] == []


async def test_a_new_conversation_can_begin_with_a_workflow() -> None:
    served, workflow = await leave_workflow()
    served.harness.thread_id = str(uuid.uuid4())
    body = (await continue_(served, workflow["id"])).raise_for_status().json()
    assert body["sessionId"] == served.harness.thread_id
    assert body["state"]["workflow"]["id"] == workflow["id"]
    [unfinished], _ = await served.items("/workflows")
    assert unfinished["threadId"] == served.harness.thread_id
    assert (await served.get(thread(served))).json()["agentId"] == "assistant"


async def test_a_hosts_own_id_names_the_new_conversation() -> None:
    served, workflow = await leave_workflow()
    served.harness.thread_id = "booking-4711"
    first = (await continue_(served, workflow["id"])).raise_for_status().json()
    left_again = (await exit_(served)).raise_for_status().json()
    assert first["sessionId"] == left_again["sessionId"]


async def test_a_new_id_of_version_5_begins_nothing() -> None:
    served, workflow = await leave_workflow()
    served.harness.thread_id = str(uuid.uuid5(uuid.NAMESPACE_URL, "https://example.com"))
    assert read_refusal(await continue_(served, workflow["id"])) == (404, "thread_unavailable")


async def test_continuing_twice_is_refused_while_the_specialist_is_active() -> None:
    served, workflow = await leave_workflow()
    (await continue_(served, workflow["id"])).raise_for_status()
    assert read_refusal(await continue_(served, workflow["id"])) == (409, "handoff_in_progress")


async def test_a_specialist_that_cannot_be_reached_leaves_the_conversation_as_it_was() -> None:
    served, workflow = await leave_workflow()
    served.harness.model.script(ModelUnavailable())
    body = (await continue_(served, workflow["id"])).raise_for_status().json()
    assert "currently unavailable" in body["messages"][0]["content"]
    assert body["state"]["activeAgent"]["isMain"]
    assert [item["id"] for item in body["state"]["resumable"]] == [workflow["id"]]


async def test_an_unknown_or_expired_workflow_is_refused() -> None:
    served, workflow = await leave_workflow()
    assert read_refusal(await continue_(served, str(uuid.uuid4()))) == (409, "workflow_unavailable")
    served.harness.clock.advance(timedelta(days=31).total_seconds())
    assert read_refusal(await continue_(served, workflow["id"])) == (409, "workflow_unavailable")
    assert await served.items("/workflows") == ([], None)


async def test_another_users_workflow_is_like_none_and_stays_where_it_is() -> None:
    served, workflow = await leave_workflow()
    own, served.harness.thread_id = served.harness.thread_id, str(uuid.uuid4())
    assert read_refusal(await continue_(served, workflow["id"], user="eve")) == (409, "workflow_unavailable")
    assert read_refusal(await served.get(thread(served), user="eve")) == (404, "thread_unavailable")
    served.harness.thread_id = own
    assert read_refusal(await continue_(served, workflow["id"], user="eve")) == (409, "workflow_unavailable")
    record = served.harness.audit.records[-1]
    assert (record.scope.user_id, record.action, record.outcome) == ("eve", "thread.continue", "denied")
    assert (await served.items("/workflows"))[0] == [workflow]


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        [],
        {"workflowId": None},
        {"workflowId": 7},
        {"workflowId": ""},
        {"workflowId": "x" * 129},
        {"workflowId": "a\nb"},
    ],
)
async def test_a_body_that_names_no_workflow_is_refused(body: Any) -> None:
    served = Served(HandoffHarness())
    assert read_refusal(await served.post(f"{thread(served)}/continue", body)) == (422, "invalid_request")


# What is shown


async def test_the_state_shows_the_specialist_and_its_workflow_wherever_it_is_read() -> None:
    served = await hand_over()
    body = {"sessionId": served.harness.thread_id, "messageId": "m2", "message": "Well?"}
    answered = (await served.post("/messages", body)).raise_for_status().json()["state"]
    assert answered["activeAgent"] == {
        "id": "maker",
        "name": "Maker",
        "description": "Makes things step by step.",
        "avatarUrl": None,
        "isMain": False,
    }
    assert (answered["workflow"]["label"], answered["workflow"]["step"], answered["workflow"]["steps"]) == (
        "Asking",
        1,
        2,
    )
    assert (await served.get(thread(served))).json()["state"] == answered
    assert [item["state"] for item in (await served.items("/threads"))[0]] == [answered]


async def test_handoffs_are_listed_newest_first_in_pages() -> None:
    served, workflow = await leave_workflow()
    (await continue_(served, workflow["id"])).raise_for_status()
    items, cursor = await served.items(f"{thread(served)}/handoffs")
    assert cursor is None
    assert [(item["handoffReason"], item["outcome"]) for item in items] == [("continue", None), ("it makes", "exited")]
    assert items[1].keys() == {
        "id",
        "sourceAgentId",
        "targetAgentId",
        "contextMode",
        "contextSummary",
        "conversationHistoryCount",
        "handoffReason",
        "preserveState",
        "returnExpected",
        "outcome",
        "childThreadId",
        "startedAt",
        "endedAt",
    }
    first, cursor = await served.items(f"{thread(served)}/handoffs", limit=1)
    rest, end = await served.items(f"{thread(served)}/handoffs", limit=1, cursor=cursor)
    assert ([*first, *rest], end) == (items, None)
    assert read_refusal(await served.get(f"{thread(served)}/handoffs", cursor="garbage")) == (422, "invalid_request")


async def test_handoffs_are_shown_to_those_who_may_read_the_conversation_only() -> None:
    served = await hand_over()
    own_handoffs = await served.items(f"{thread(served)}/handoffs")
    assert read_refusal(await served.get(f"{thread(served)}/handoffs", user="eve")) == (404, "thread_unavailable")
    manager_answer = await served.get(f"{thread(served)}/handoffs", "thread:read_all", user="boss")
    assert (manager_answer.json()["items"], None) == own_handoffs


async def test_workflows_are_listed_for_their_user_wherever_they_are() -> None:
    served, workflow = await leave_workflow()
    assert workflow | {"updatedAt": "", "expiresAt": ""} == {
        "id": workflow["id"],
        "agentId": "maker",
        "name": "your Box",
        "state": "BUILD",
        "label": "Building",
        "step": 2,
        "steps": 2,
        "threadId": served.harness.thread_id,
        "updatedAt": "",
        "expiresAt": "",
    }
    assert (await served.get("/workflows", user="eve")).json() == {"items": [], "nextCursor": None}
    assert (await served.get("/workflows", "thread:read_all", user="boss")).json()["items"] == []


async def test_the_forks_of_a_conversation_are_listed_for_a_user_who_may_read_it() -> None:
    served = await hand_over()
    assert await served.items("/threads", parentThreadId=served.harness.thread_id) == ([], None)
    of_it = {"parentThreadId": served.harness.thread_id}
    assert read_refusal(await served.get("/threads", user="eve", **of_it)) == (404, "thread_unavailable")
    assert read_refusal(await served.get("/threads", "thread:read_all", scope="tenant", **of_it)) == (
        422,
        "invalid_request",
    )
    assert read_refusal(await served.get("/threads", parentThreadId=str(uuid.uuid4()))) == (404, "thread_unavailable")

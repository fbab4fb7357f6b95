"""Merging what a fork has come to into its parent, over HTTP."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from baton.api.http.middleware import MAX_BODY_BYTES
from baton.domain.threads.message import Role
from baton.domain.threads.thread import EndReason
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, transfer
from tests.unit.api.served import Served


async def make_fork(*answers: Answer) -> tuple[Served, str]:
    """Ada and her assistant have said two things; a fork begins with both. ``answers`` are what follows."""
    served = Served(HandoffHarness(Answer(("One.",)), *answers))
    await served.harness.say("m1", "First")
    response = await served.post(f"/threads/{served.harness.thread_id}/fork", {"agentId": "helper"})
    fork_id: str = response.raise_for_status().json()["id"]
    return served, fork_id


async def answer_in_fork() -> tuple[Served, str]:
    """The fork's agent has answered."""
    served, fork_id = await make_fork(Answer(("From the fork.",)))
    await ask(served, fork_id, "m2", "Work")
    return served, fork_id


async def ask(served: Served, thread_id: str, message_id: str, text: str) -> dict[str, Any]:
    body = {"sessionId": thread_id, "messageId": message_id, "message": text}
    answer: dict[str, Any] = (await served.post("/messages", body)).raise_for_status().json()
    return answer


async def list_texts(served: Served, thread_id: str) -> list[str]:
    items, _ = await served.items(f"/threads/{thread_id}/messages")
    return [message["content"] for message in items]


async def read_refusal(served: Served, thread_id: str, *permissions: str, user: str = "ada") -> tuple[int, str]:
    answer = await served.post(f"/threads/{thread_id}/merge", {}, *permissions, user=user)
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("body", [{}, {"anything": "else"}, None])
async def test_the_last_answer_of_a_fork_becomes_one_message_of_its_parent(body: Any) -> None:
    served, fork_id = await answer_in_fork()
    parent_id = served.harness.thread_id
    answer = (await served.post(f"/threads/{fork_id}/merge", body)).raise_for_status().json()

    [message] = answer["messages"]
    assert (message["role"], message["content"]) == ("assistant", "From the fork.")
    assert (message["metadata"]["agentId"], message["metadata"]["source"]) == ("helper", "specialist")
    assert (answer["sessionId"], answer["outcome"]) == (parent_id, {"type": "success"})
    assert answer["state"]["activeAgent"]["id"] == "assistant"
    assert answer["usage"]["totalTokens"] == 0
    assert await list_texts(served, parent_id) == ["First", "One.", "From the fork."]
    assert await list_texts(served, fork_id) == ["First", "One.", "Work", "From the fork."]


async def test_merging_again_gives_the_same_answer_and_adds_nothing() -> None:
    served, fork_id = await answer_in_fork()
    first, second_answer = [await served.post(f"/threads/{fork_id}/merge", {}) for _ in range(2)]
    assert second_answer.json()["messages"] == first.json()["messages"]
    await ask(served, served.harness.thread_id, "m3", "Thanks")
    assert (await served.post(f"/threads/{fork_id}/merge", {})).json()["messages"] == first.json()["messages"]
    assert (await list_texts(served, served.harness.thread_id)).count("From the fork.") == 1


async def test_merges_at_the_same_time_are_one() -> None:
    served, fork_id = await answer_in_fork()
    answers = await asyncio.gather(*(served.post(f"/threads/{fork_id}/merge", {}) for _ in range(3)))
    assert len({answer.json()["messages"][0]["id"] for answer in answers}) == 1
    assert (await list_texts(served, served.harness.thread_id)).count("From the fork.") == 1


async def test_each_answer_that_follows_can_be_merged() -> None:
    served, fork_id = await answer_in_fork()
    await served.post(f"/threads/{fork_id}/merge", {})
    served.harness.model.script("More from the fork.")
    await ask(served, fork_id, "m3", "Go on")
    (await served.post(f"/threads/{fork_id}/merge", {})).raise_for_status()
    assert await list_texts(served, served.harness.thread_id) == [
        "First",
        "One.",
        "From the fork.",
        "More from the fork.",
    ]


async def test_a_merge_into_a_closed_parent_opens_it_again_as_a_message_does() -> None:
    served, fork_id = await answer_in_fork()
    harness = served.harness
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=1)
    answer = (await served.post(f"/threads/{fork_id}/merge", {})).raise_for_status().json()
    assert answer["state"]["status"] == "active"
    assert (await served.get(f"/threads/{harness.thread_id}")).json()["status"] == "active"


async def test_a_merge_waits_for_the_parents_turn_and_is_refused_retryably_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("baton.api.threads.branches.TURN_SECONDS", 0.1)
    gate = asyncio.Event()
    served, fork_id = await answer_in_fork()
    harness = served.harness
    harness.model.script(Answer(("Busy", " no more."), gate=gate, gate_at=1))
    request_count = len(harness.model.requests)
    busy = asyncio.ensure_future(harness.say("m3", "Take your time"))
    await harness.wait_for_requests(request_count + 1)
    answer = await served.post(f"/threads/{fork_id}/merge", {})
    gate.set()
    await busy
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "thread_busy", True)


async def test_a_conversation_that_is_no_fork_has_nowhere_to_merge() -> None:
    served, _ = await answer_in_fork()
    assert await read_refusal(served, served.harness.thread_id) == (409, "not_a_fork")


async def test_what_a_fork_began_with_is_no_answer_of_its_own() -> None:
    served, fork_id = await make_fork()
    assert await read_refusal(served, fork_id) == (409, "nothing_to_merge")
    assert await list_texts(served, served.harness.thread_id) == ["First", "One."]


async def test_a_fork_whose_answers_are_merged_anyway_is_not_merged_again() -> None:
    served = Served(HandoffHarness(transfer(), context_mode="forked"))
    await served.harness.say()
    [handoff], _ = await served.items(f"/threads/{served.harness.thread_id}/handoffs")
    assert await read_refusal(served, handoff["childThreadId"]) == (409, "thread_led_by_parent")


@pytest.mark.parametrize(("user", "permissions"), [("eve", ()), ("boss", ("thread:read_all",))])
async def test_nobody_merges_what_is_not_theirs(user: str, permissions: tuple[str, ...]) -> None:
    served, fork_id = await answer_in_fork()
    unknown = str(uuid.uuid4())
    not_theirs = await served.post(f"/threads/{fork_id}/merge", {}, *permissions, user=user)
    not_there = await served.post(f"/threads/{unknown}/merge", {}, *permissions, user=user)
    assert not_theirs.status_code == not_there.status_code == 404
    same = ("type", "title", "detail", "code")
    assert [not_theirs.json()[name] for name in same] == [not_there.json()[name] for name in same]
    records = [record for record in served.harness.audit.records if record.action == "thread.merge"]
    assert [(record.scope.user_id, record.thread_id, record.outcome) for record in records] == [
        (user, fork_id, "denied"),
        (user, unknown, "not_found"),
    ]
    assert await list_texts(served, served.harness.thread_id) == ["First", "One."]


async def test_a_merge_is_audited_once() -> None:
    served, fork_id = await answer_in_fork()
    for _ in range(2):
        answer = (await served.post(f"/threads/{fork_id}/merge", {})).json()
    items, _ = await served.items(f"/threads/{served.harness.thread_id}/audit")
    [record] = [item for item in items if item["action"] == "thread.merge"]
    detail = {"forkThreadId": fork_id, "messageId": answer["messages"][0]["id"]}
    assert (record["outcome"], record["userId"], record["detail"]) == ("merged", "ada", detail)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ([], 422, "invalid_request"),
        ("text", 422, "invalid_request"),
        ({"x": "y" * MAX_BODY_BYTES}, 413, "message_too_large"),
    ],
    ids=["list", "text", "too large"],
)
async def test_a_body_that_is_no_object_or_too_large_is_refused(body: Any, status: int, code: str) -> None:
    served, fork_id = await answer_in_fork()
    answer = await served.post(f"/threads/{fork_id}/merge", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert await list_texts(served, served.harness.thread_id) == ["First", "One."]


async def test_a_merge_asks_no_model_and_is_known_to_the_parents_next_turn() -> None:
    served, fork_id = await answer_in_fork()
    request_count = len(served.harness.model.requests)
    await served.post(f"/threads/{fork_id}/merge", {})
    assert len(served.harness.model.requests) == request_count
    await ask(served, served.harness.thread_id, "m3", "And now?")
    reported = [prompt.content for prompt in served.harness.model.requests[-1].prompts if prompt.role is Role.ASSISTANT]
    assert any("From the fork." in str(content) for content in reported)

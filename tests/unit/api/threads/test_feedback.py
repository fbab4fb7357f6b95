"""Feedback on answers over HTTP."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from baton.domain.metrics import collect_counts
from tests.unit.api.served import Served

THREAD = "booking-4711"


async def hold_conversation(*answers: str) -> Served:
    served = Served()
    served.harness.model.script(*(answers or ("Hi.",)))
    for number in range(len(answers) or 1):
        body = {"sessionId": THREAD, "messageId": f"m-{number}", "message": f"Question {number}"}
        (await served.post("/messages", body)).raise_for_status()
    return served


async def rate(served: Served, message_id: str, rating: Any, *permissions: str, user: str = "ada", **body: Any) -> Any:
    path = f"/threads/{body.pop('thread', THREAD)}/messages/{message_id}/feedback"
    return await served.post(path, {"rating": rating, **body}, *permissions, user=user)


async def messages(served: Served, **params: Any) -> list[dict[str, Any]]:
    return (await served.items(f"/threads/{THREAD}/messages", **params))[0]


async def answer_id(served: Served, index: int = -1) -> str:
    return str((await messages(served))[index]["id"])


def list_audited(served: Served) -> list[tuple[str, Any]]:
    records = served.harness.audit.records
    return [(record.outcome, record.detail) for record in records if record.action == "message.feedback"]


async def test_feedback_stands_with_its_answer_until_it_is_changed_or_withdrawn() -> None:
    served = await hold_conversation("One.", "Two.")
    first, second = await answer_id(served, 1), await answer_id(served, 3)
    rated = (await rate(served, first, "up")).raise_for_status().json()
    assert rated["feedback"] == {"rating": "up", "comment": None, "updatedAt": rated["feedback"]["updatedAt"]}
    visible = await messages(served)
    assert [message.get("feedback") for message in visible] == [None, rated["feedback"], None, None]
    assert "feedback" not in visible[3]

    changed = (await rate(served, first, "down", comment=" Wrong.\nVery. ")).json()["feedback"]
    assert (changed["rating"], changed["comment"]) == ("down", "Wrong.\nVery.")
    await rate(served, second, "up")
    assert [message["feedback"]["rating"] for message in await messages(served) if "feedback" in message] == [
        "down",
        "up",
    ]
    assert (await rate(served, first, "none")).json()["feedback"] is None
    assert [message["feedback"]["rating"] for message in await messages(served) if "feedback" in message] == ["up"]


async def test_feedback_is_audited_and_counted_once_without_what_the_comment_says() -> None:
    served = await hold_conversation()
    message_id, counts = await answer_id(served), {}
    with collect_counts(lambda written: counts.update(written)):
        for _ in range(2):
            await rate(served, message_id, "down", comment="My address is ada@example.com")
        for _ in range(2):
            await rate(served, message_id, "none")
    assert {metric.value: number for metric, number in counts.items()} == {"AnswersRatedDown": 1}
    (outcome, detail), (withdrawn, _) = list_audited(served)
    assert (outcome, withdrawn) == ("down", "withdrawn")
    assert detail == {"messageId": message_id, "runId": detail["runId"], "agentId": "assistant", "hasComment": True}


async def test_feedback_belongs_to_its_answer_on_whatever_branch() -> None:
    served = await hold_conversation("One.")
    await rate(served, await answer_id(served), "down")
    served.harness.model.script("Another one.")
    body = {"sessionId": THREAD, "messageId": "w-1", "branch": {"from": "m-0", "regenerate": True}}
    (await served.post("/messages", body)).raise_for_status()
    assert [message.get("feedback") for message in await messages(served)] == [None, None]
    old = await messages(served, branch="b0")
    assert old[1]["feedback"]["rating"] == "down"
    assert (await rate(served, old[1]["id"], "up")).status_code == 200


async def test_only_answers_can_be_rated() -> None:
    served = await hold_conversation()
    assert (await rate(served, "m-0", "up")).status_code == 422
    refusal = await rate(served, str(uuid.uuid4()), "up")
    assert (refusal.status_code, refusal.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"rating": "good"},
        {"rating": None},
        {"rating": "up", "comment": "x" * 2_001},
        {"rating": "up", "comment": "a\x00b"},
        {"rating": "up", "comment": 1},
        {"rating": "none", "comment": "But why?"},
        {"rating": "up", "stars": 5},
    ],
)
async def test_feedback_of_another_shape_is_refused(body: dict[str, Any]) -> None:
    served = await hold_conversation()
    refusal = await rate(served, await answer_id(served), **body)
    assert (refusal.status_code, refusal.json()["code"]) == (422, "invalid_request")


async def test_half_a_character_in_a_comment_does_no_harm() -> None:
    served = await hold_conversation()
    path = f"/threads/{THREAD}/messages/{await answer_id(served)}/feedback"
    rated = await served.raw(path, {"rating": "up", "comment": "broken \ud83d"})
    assert rated.json()["feedback"]["comment"] == "broken \ufffd"


async def test_nobody_else_can_rate_an_answer_or_learn_that_it_exists() -> None:
    served = await hold_conversation()
    thread_id = (await served.get(f"/threads/{THREAD}")).json()["id"]
    message_id = await answer_id(served)
    for permissions in ((), ("thread:read_all",)):
        refusal = await rate(served, message_id, "up", *permissions, user="bob", thread=thread_id)
        assert (refusal.status_code, refusal.json()["code"]) == (404, "thread_unavailable")
    assert list_audited(served) == [("denied", {"messageId": message_id})] * 2
    assert "feedback" not in (await messages(served))[-1]

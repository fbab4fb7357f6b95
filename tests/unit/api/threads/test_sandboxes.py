"""Sandboxes: anybody who may read a conversation goes on from one of its turns in a copy, and changes nothing in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.served import Served

READER = ("thread:read_all", "pii:read")
MAIL = "ada@example.com"


@pytest.fixture
async def served() -> Served:
    served = Served()
    served.harness.model.script("One.", "Two.", "Three.")
    for number, text in enumerate(("First", f"Write to {MAIL}", "Third"), start=1):
        await served.harness.say(f"m{number}", text)
    return served


async def copy(served: Served, *permissions: str, user: str = "boss", **fields: Any) -> Any:
    path = f"/threads/{served.harness.thread_id}/sandbox"
    return await served.post(path, {"messageId": "m2", **fields}, *permissions, user=user)


async def list_texts(served: Served, thread_id: str, user: str = "boss") -> list[str]:
    listed = await served.get(f"/threads/{thread_id}/messages", user=user)
    return [message["content"] for message in listed.json()["items"]]


async def test_a_reader_goes_on_from_a_turn_in_a_copy_of_their_own(served: Served) -> None:
    procedure = await copy(served, *READER)
    assert procedure.status_code == 201
    child = procedure.json()
    assert (child["userId"], child["parentThreadId"]) == ("boss", served.harness.thread_id)
    assert child["title"].startswith("Sandbox: ")
    assert await list_texts(served, child["id"]) == ["First", "One.", f"Write to {MAIL}", "Two."]

    served.harness.model.script("Otherwise.")
    body = {"sessionId": child["id"], "messageId": "b1", "message": "And then?"}
    assert (await served.post("/messages", body, user="boss")).status_code == 200
    assert (await list_texts(served, child["id"]))[-2:] == ["And then?", "Otherwise."]
    assert len(await list_texts(served, served.harness.thread_id, "ada")) == 6


async def test_the_question_can_be_asked_again(served: Served) -> None:
    child = (await copy(served, *READER, includeTurn=False)).json()
    assert await list_texts(served, child["id"]) == ["First", "One."]


async def test_who_may_not_see_personal_data_copies_none(served: Served) -> None:
    child = (await copy(served, "thread:read_all")).json()
    assert await list_texts(served, child["id"]) == ["First", "One.", "Write to [email]", "Two."]


async def test_closing_a_sandbox_makes_no_episode(served: Served) -> None:
    child = (await copy(served, *READER)).json()
    served.harness.model.script("Otherwise.")
    await served.post("/messages", {"sessionId": child["id"], "messageId": "b1", "message": "Hi"}, user="boss")
    closed = await served.post(f"/threads/{child['id']}/close", {}, user="boss")
    assert closed.json()["episodeId"] is None


async def test_a_copy_is_audited_where_it_was_taken_from(served: Served) -> None:
    child = (await copy(served, *READER)).json()
    [record] = [record for record in served.harness.audit.records if record.action == "thread.sandbox"]
    assert (record.scope.user_id, record.thread_id) == ("boss", served.harness.thread_id)
    assert record.detail == {"sandboxThreadId": child["id"], "messageId": "m2", "userId": "ada"}


@pytest.mark.parametrize(
    ("user", "permissions", "message_id", "status"),
    [("eve", (), "m2", 404), ("boss", READER, "m9", 404), ("boss", READER, "", 422)],
)
async def test_what_cannot_be_read_cannot_be_copied(
    served: Served, user: str, permissions: tuple[str, ...], message_id: str, status: int
) -> None:
    refused = await copy(served, *permissions, user=user, messageId=message_id)
    assert refused.status_code == status
    assert (await served.items("/threads", parentThreadId=served.harness.thread_id))[0] == []

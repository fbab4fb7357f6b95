"""Unread answers over HTTP: shown with each conversation, and marked as read by its user alone."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from baton.domain.tenants.identity import resolve_thread_ref
from tests.unit.api.served import Served

THREAD = "booking-4711"


async def hold_conversation(served: Served | None = None) -> Served:
    served = served or Served()
    served.harness.model.script("Hi.")
    body = {"sessionId": THREAD, "messageId": str(uuid.uuid4()), "message": "Hello"}
    (await served.post("/messages", body)).raise_for_status()
    return served


async def unread(served: Served) -> int:
    count: int = (await served.get(f"/threads/{THREAD}")).json()["unread"]
    [listed], _ = await served.items("/threads")
    assert listed["unread"] == count
    return count


async def mark(served: Served, ordinal: Any, *permissions: str, thread: str = THREAD, user: str = "ada") -> Any:
    return await served.put(f"/threads/{thread}/read", {"ordinal": ordinal}, *permissions, user=user)


async def leave_unread(served: Served, count: int) -> None:
    """Set the number of unread answers of the conversation to ``count``."""
    thread_id = resolve_thread_ref(served.harness.ada, THREAD).id
    row = served.harness.store.rows[served.harness.ada.tenant_id, thread_id]
    row.thread = replace(row.thread, unread=count)


async def test_an_answer_is_unread_until_it_is_marked() -> None:
    served = await hold_conversation()
    assert await unread(served) == 1
    assert (await mark(served, 0)).status_code == 204
    assert await unread(served) == 1
    assert ((await mark(served, 1)).status_code, await unread(served)) == (204, 0)


async def test_a_marker_counts_what_is_after_it_and_never_adds_to_it() -> None:
    served = await hold_conversation()
    for _ in range(3):
        await hold_conversation(served=served)
    assert await unread(served) == 1, "who writes has read the earlier answers"
    await leave_unread(served, 3)
    for ordinal, count in ((0, 3), (5, 1), (2, 1), (6, 1), (7, 0), (0, 0)):
        assert (await mark(served, ordinal)).status_code == 204
        assert await unread(served) == count, ordinal


async def test_a_marker_beyond_the_end_means_all_that_is_there() -> None:
    served = await hold_conversation()
    assert ((await mark(served, 10**9)).status_code, await unread(served)) == (204, 0)
    await hold_conversation(served=served)
    assert await unread(served) == 1


async def test_of_long_conversations_the_newest_messages_are_counted() -> None:
    served = await hold_conversation()
    for _ in range(120):
        await hold_conversation(served=served)
    await leave_unread(served, 121)
    await mark(served, 1)
    assert await unread(served) == 100


@pytest.mark.parametrize("ordinal", [-1, None, "x", 1.5, True])
async def test_a_marker_that_is_no_ordinal_is_refused(ordinal: Any) -> None:
    served = await hold_conversation()
    refusal = await mark(served, ordinal)
    assert (refusal.status_code, refusal.json()["code"]) == (422, "invalid_request")


async def test_nobody_else_marks_answers_as_read() -> None:
    served = await hold_conversation()
    thread_id = (await served.get(f"/threads/{THREAD}")).json()["id"]
    refusals = [
        await mark(served, 9, thread=thread_id, user="bob"),
        await mark(served, 9, thread=str(uuid.uuid4())),
        await mark(served, 9, "thread:read_all", "pii:read", thread=thread_id, user="auditor"),
    ]
    assert [(refusal.status_code, refusal.json()["code"]) for refusal in refusals] == [(404, "thread_unavailable")] * 3
    assert await unread(served) == 1
    outcomes = [record.outcome for record in served.harness.audit.records if record.action == "thread.mark_read"]
    assert outcomes == ["denied", "not_found", "denied"]

"""Titles of threads over HTTP: rename, show, search."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.tenants.identity import resolve_thread_ref
from tests.contracts.languages import LANGUAGES
from tests.unit.api.served import Served

THREAD = "booking-4711"


async def say(message: str = "Hello", thread: str = THREAD, served: Served | None = None) -> Served:
    served = served or Served()
    served.harness.model.script("Hi.")
    body = {"sessionId": thread, "messageId": str(uuid.uuid4()), "message": message}
    (await served.post("/messages", body)).raise_for_status()
    return served


async def rename(served: Served, title: Any, *, thread: str = THREAD, user: str = "ada") -> Any:
    return await served.patch(f"/threads/{thread}", {"title": title}, user=user)


async def list_audited(served: Served) -> list[tuple[str, str]]:
    records = served.harness.audit.records
    return [(record.action, record.outcome) for record in records if record.action == "thread.rename"]


async def test_a_renamed_thread_has_its_title_wherever_it_is_shown() -> None:
    served = await say()
    renamed = (await rename(served, "  Weekend in Lisbon ")).raise_for_status().json()
    assert renamed["title"] == "Weekend in Lisbon"
    assert (await served.get(f"/threads/{THREAD}")).json() == renamed
    assert (await served.items("/threads"))[0] == [renamed]
    assert (await rename(served, "Weekend in Lisbon")).json() == renamed
    assert await list_audited(served) == [("thread.rename", "renamed")]


async def test_open_connections_learn_of_a_new_title() -> None:
    served = await say()
    harness = served.harness
    thread_id = resolve_thread_ref(harness.ada, THREAD).id
    now = harness.clock.now()
    await harness.live.attach(harness.ada, thread_id, "c-1", now + timedelta(hours=1))
    await harness.live.attach(harness.ada, thread_id, "c-2", now)
    for _ in range(2):
        await rename(served, "Lisbon")
    reported = [json.loads(frame) for frame in harness.connections.frames["c-1"]]
    assert reported == [
        {"type": "CUSTOM", "name": "thread_title", "value": {"title": "Lisbon"}, "metadata": {"threadId": thread_id}}
    ]
    assert harness.connections.frames["c-2"] == []  # its token has expired


@pytest.mark.parametrize("title", ["", "  ", "\u200b", "a\nb", "a\x00b", "a\u2028b", "\u202eabc", "x" * 121, None, 1])
async def test_a_title_that_would_spoil_a_list_is_refused(title: Any) -> None:
    served = await say()
    refusal = await rename(served, title)
    assert (refusal.status_code, refusal.json()["code"]) == (422, "invalid_request")
    assert (await served.get(f"/threads/{THREAD}")).json()["title"] is None


async def test_nobody_else_can_rename_a_thread_or_learn_that_it_exists() -> None:
    served = await say()
    thread_id = (await served.get(f"/threads/{THREAD}")).json()["id"]
    foreign = await rename(served, "Mine", thread=thread_id, user="bob")
    unknown = await rename(served, "Mine", thread=str(uuid.uuid4()), user="bob")
    reader = await served.patch(f"/threads/{thread_id}", {"title": "Mine"}, "thread:read_all", user="auditor")
    for refusal in (foreign, unknown, reader):
        assert (refusal.status_code, refusal.json()["code"]) == (404, "thread_unavailable")
        assert refusal.json()["detail"] == foreign.json()["detail"]
    assert await list_audited(served) == [
        ("thread.rename", "denied"),
        ("thread.rename", "not_found"),
        ("thread.rename", "denied"),
    ]
    assert (await served.get(f"/threads/{THREAD}")).json()["title"] is None


async def test_ones_own_threads_are_searched_whatever_case_and_accents() -> None:
    served = await say(thread="one")
    await rename(served, "Café in São Paulo", thread="one")
    await say(thread="two", served=served)
    await rename(served, "Invoice 4711", thread="two")

    async def find_titles(q: str, **params: Any) -> list[str]:
        return [thread["title"] for thread in (await served.items("/threads", q=q, **params))[0]]

    assert await find_titles("sao CAFE") == ["Café in São Paulo"]
    assert await find_titles("471") == ["Invoice 4711"]
    assert await find_titles("in") == ["Invoice 4711", "Café in São Paulo"]
    assert await find_titles("lisbon") == []
    assert (await served.get("/threads", user="bob", q="in")).json()["items"] == []


async def test_ones_own_threads_are_searched_in_every_script() -> None:
    served = await say()
    missed = []
    for case in LANGUAGES:
        (await rename(served, case.text[:100])).raise_for_status()
        for question in case.questions:
            page_items, _ = await served.items("/threads", q=question)
            missed += [] if page_items else [(case.language, question)]
    assert missed == []


@pytest.mark.parametrize("params", [{"q": ""}, {"q": " "}, {"q": "x" * 101}])
async def test_a_search_without_words_is_refused(params: dict[str, str]) -> None:
    served = await say()
    assert (await served.get("/threads", "thread:read_all", **params)).status_code == 422

"""Sessions are imported and closed on real tables, also by workers that die or work at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import timedelta
from typing import Any

import pytest

from baton.adapters.dynamodb.table import Table
from baton.domain.errors import ImportConflict
from baton.memory.episodes.session_closing import ClosingStep
from baton.threads.requests.session_import import parse_imported_session
from baton_testing.fakes.memory.episodes import WorkerDied
from tests.contracts.stores import Stores
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness

FACTS = json.dumps({"facts": [{"text": "Ada lives in Bern.", "date": "2026-03-14", "sources": [1]}], "pairs": []})


def session(harness: Harness, name: str, texts: list[str]) -> Any:
    """A session of another system."""
    now = harness.clock.now()
    messages = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": text,
            "timestamp": (now - timedelta(hours=1) + timedelta(seconds=number)).isoformat(),
        }
        for number, text in enumerate(texts)
    ]
    return parse_imported_session(
        harness.ada, session_id=name, agent_id=None, messages=messages, ended_at=None, now=harness.clock.now()
    )


async def close_thread(harness: Harness, thread_id: str) -> Any:
    harness.model.otherwise = Answer((FACTS,))
    for step in ClosingStep:
        await asyncio.gather(
            *(harness.app.memory.session_closing.run(step, harness.ada, thread_id, 1) for _ in range(2))
        )
    return await harness.episodes.get(harness.ada, thread_id, 1)


# Not on moto: there, several of the requests that take a new thread's lease at the same time succeed.
@pytest.mark.parametrize("stores", ["in_memory", "on_dynamodb_local"], indirect=True)
async def test_an_imported_session_becomes_an_episode_however_often_it_is_sent(stores: Stores) -> None:
    harness = Harness(stores=stores, clock=stores.clock)
    texts = ["I am ada@example.com", "Hello Ada", "x" * 400_000, "Long."] + ["And?", "So."] * 20
    imported = session(harness, "s-1", texts)
    refs = await asyncio.gather(*(harness.app.sessions.importer.run(harness.ada, imported) for _ in range(3)))
    assert len({ref.id for ref in refs}) == 1
    with pytest.raises(ImportConflict):
        await harness.app.sessions.importer.run(harness.ada, session(harness, "s-1", texts[:1]))
    episode = await close_thread(harness, refs[0].thread_id)
    assert (episode.missing, episode.message_count, len(episode.facts)) == ((), 44, 1)
    redacted = await harness.episodes.read_redactions(harness.ada, refs[0].thread_id, first_ordinal=0, end_ordinal=44)
    assert dict(redacted) == {0: "I am [email]"}
    assert (await harness.episodes.of_user(harness.ada, limit=5, cursor=None))[0] == [episode]


async def test_a_closing_whose_worker_dies_at_any_write_is_completed_by_the_next_one(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(stores=stores, clock=stores.clock)
    write = Table._write
    writes_left = 0

    async def write_or_die(self: Table, *arguments: Any) -> Any:
        nonlocal writes_left
        writes_left -= 1
        if writes_left == 0:
            raise WorkerDied
        return await write(self, *arguments)

    for number in range(1, 12):
        imported = session(harness, f"s-{number}", ["I am ada@example.com", "Hello", "Call +41 44 668 18 00", "No."])
        ref = await harness.app.sessions.importer.run(harness.ada, imported)
        harness.model.otherwise = Answer((FACTS,))
        monkeypatch.setattr(Table, "_write", write_or_die)
        writes_left = number
        end = {"tenantId": "acme", "userId": "ada", "threadId": ref.thread_id, "episode": 1, "subject": ref.id}
        with contextlib.suppress(WorkerDied):
            await harness.app.closing_events.run_step({"step": "whole", "session": end}, seconds=600)
        monkeypatch.setattr(Table, "_write", write)
        episode = await close_thread(harness, ref.thread_id)
        assert (episode.missing, episode.summary is not None) == ((), True), f"after a death at write {number}"
        redacted = await harness.episodes.read_redactions(harness.ada, ref.thread_id, first_ordinal=0, end_ordinal=4)
        assert dict(redacted) == {0: "I am [email]", 2: "Call [phone]"}

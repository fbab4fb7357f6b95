"""Sessions of other systems are imported whole, also where the store is slow or fails in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.episode import EpisodeStatus
from baton.domain.threads.imported_session import ImportedSession
from baton.domain.threads.message import StoredMessage
from baton.ports.threads.leases import Lease
from baton.threads.requests.session_import import parse_imported_session
from baton.threads.sessions.importing import MESSAGES_AT_ONCE
from tests.harness.harness import Harness
from tests.harness.sessions import make_episode

Write = Callable[[Lease, Sequence[StoredMessage]], Any]


@pytest.fixture
def harness() -> Harness:
    return Harness()


def session(harness: Harness, count: int) -> ImportedSession:
    """A session of another system."""
    began = harness.clock.now() - timedelta(hours=2)
    messages = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": f"Message {number}.",
            "timestamp": (began + timedelta(seconds=number)).isoformat(),
        }
        for number in range(count)
    ]
    return parse_imported_session(
        harness.ada, session_id="s", agent_id=None, messages=messages, ended_at=None, now=harness.clock.now()
    )


class Writes:
    """The writes of messages, in the order in which they are begun, and what happens to each."""

    def __init__(self, harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fences: list[int] = []
        self.untils: list[Any] = []
        self.fails_at: set[int] = set()
        """The numbers of those that fail, from 1."""
        self.seconds = 0.0
        self._clock = harness.clock
        self._put: Write = harness.store.put_messages
        monkeypatch.setattr(harness.store, "put_messages", self._write)

    async def _write(self, lease: Lease, messages: Sequence[StoredMessage]) -> None:
        self.fences.append(lease.fence)
        self.untils.append(lease.until)
        self._clock.advance(self.seconds)
        await asyncio.sleep(self.seconds)
        if len(self.fences) in self.fails_at:
            raise StoreUnavailable
        await self._put(lease, messages)


async def count_messages(harness: Harness, thread_id: str) -> int:
    thread = await harness.store.get_thread(harness.ada, thread_id)
    return thread.next_ordinal


async def test_a_store_that_is_overloaded_for_seconds_is_waited_for(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = Writes(harness, monkeypatch)
    writes.fails_at = {1, 2, 4}
    imported = session(harness, 2 * MESSAGES_AT_ONCE)
    ref = await harness.app.sessions.importer.run(harness.ada, imported)
    assert (len(writes.fences), len(set(writes.fences))) == (5, 1)
    assert await count_messages(harness, ref.thread_id) == 2 * MESSAGES_AT_ONCE


async def test_an_import_that_fails_half_way_is_completed_by_a_repetition(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = Writes(harness, monkeypatch)
    writes.fails_at = set(range(2, 100))
    imported = session(harness, 2 * MESSAGES_AT_ONCE)
    with pytest.raises(StoreUnavailable):
        await harness.app.sessions.importer.run(harness.ada, imported)
    assert await count_messages(harness, imported.thread_id) == 0, "readers see nothing of it"
    writes.fails_at = set()
    ref = await harness.app.sessions.importer.run(harness.ada, imported)
    harness.thread_id = ref.thread_id
    episode = await make_episode(harness)
    assert (episode.status, episode.message_count) == (EpisodeStatus.COMPLETE, 2 * MESSAGES_AT_ONCE)


async def test_a_long_import_keeps_its_lease(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = Writes(harness, monkeypatch)
    writes.seconds = 5.0
    ref = await harness.app.sessions.importer.run(harness.ada, session(harness, 10 * MESSAGES_AT_ONCE))
    assert len(set(writes.fences)) == 1
    assert len(set(writes.untils)) == 5, "it is renewed after every second write"
    assert await count_messages(harness, ref.thread_id) == 10 * MESSAGES_AT_ONCE


async def test_a_repetition_waits_for_the_first_request_and_gets_its_answer(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = Writes(harness, monkeypatch)
    writes.seconds = 5.0
    imported = session(harness, 4 * MESSAGES_AT_ONCE)
    refs = await asyncio.gather(*(harness.app.sessions.importer.run(harness.ada, imported) for _ in range(2)))
    assert refs[0] == refs[1]
    assert len(writes.fences) == 4

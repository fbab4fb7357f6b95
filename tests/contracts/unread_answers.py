"""Unread answers, and threads that stay open until their user writes: for every store."""

from __future__ import annotations

from datetime import timedelta

from baton.domain.threads.thread import Thread, ThreadStatus
from baton.ports.threads.leases import CommittedThread, UnreadChange
from baton.ports.threads.threads import OPEN_FOR_USER
from tests.contracts.endings import IDLE, close, idle_threads
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id

WRITES = UnreadChange(1, is_read=True, awaits_user=False)
"""The user writes, and gets an answer."""
BEGINS_ITSELF = UnreadChange(2, awaits_user=True)
"""A run begins by itself and says two things."""


class UnreadContract:
    """The number of unread answers, and the session that waits for its user."""

    async def test_runs_add_unread_answers_until_the_user_writes(self, stores: Stores) -> None:
        thread_id, unread = new_thread_id(), []
        for number, reading in enumerate(
            [UnreadChange(2), WRITES, BEGINS_ITSELF, UnreadChange(), WRITES, UnreadChange(is_read=True)]
        ):
            committed = await _run(stores, thread_id, number, reading)
            thread = await _thread(stores, thread_id)
            assert committed.unread == thread.unread
            unread.append(thread.unread)
        assert unread == [2, 1, 3, 3, 1, 0]

    async def test_only_fewer_than_were_seen_replace_them(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await _run(stores, thread_id, 1, UnreadChange(3))
        seen = await _thread(stores, thread_id)
        lowered = await stores.store.lower_unread(stores.ada, seen, 1)
        assert lowered is not None
        assert (lowered.unread, (await _thread(stores, thread_id)).unread) == (1, 1)
        assert await stores.store.lower_unread(stores.ada, seen, 2) is None
        await _run(stores, thread_id, 2, UnreadChange(1))
        assert await stores.store.lower_unread(stores.ada, seen, 0) is None, "a run has ended meanwhile"
        now = await _thread(stores, thread_id)
        for other in (stores.bob, stores.stranger, stores.auditor):
            assert await stores.store.lower_unread(other, now, 0) is None
        assert now.unread == 2
        cleared = await stores.store.lower_unread(stores.ada, now, 0)
        assert cleared is not None
        assert cleared == await _thread(stores, thread_id)
        assert cleared.unread == 0

    async def test_a_thread_that_waits_for_its_user_stays_open_for_a_month(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await _run(stores, thread_id, 1, BEGINS_ITSELF)
        stores.clock.advance(IDLE.total_seconds())
        [due] = await idle_threads(stores)
        assert due.read().closes_at == stores.clock.now() - IDLE + OPEN_FOR_USER
        await stores.idle.postpone(due, due.read().closes_at)

        stores.clock.advance(timedelta(days=3).total_seconds())
        assert await idle_threads(stores) == []
        await _run(stores, thread_id, 2, UnreadChange())
        assert (await _thread(stores, thread_id)).awaits_user
        await _run(stores, thread_id, 3, WRITES)
        assert not (await _thread(stores, thread_id)).awaits_user
        stores.clock.advance(IDLE.total_seconds())
        [due] = await idle_threads(stores)
        assert due.check_at == due.read().closes_at == stores.clock.now()

    async def test_a_thread_that_is_closed_waits_for_nobody(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await _run(stores, thread_id, 1, BEGINS_ITSELF)
        await close(stores, thread_id)
        closed = await _thread(stores, thread_id)
        assert (closed.status, closed.awaits_user, closed.unread) == (ThreadStatus.CLOSED, False, 2)
        await _run(stores, thread_id, 2, BEGINS_ITSELF)
        again = await _thread(stores, thread_id)
        assert (again.status, again.awaits_user, again.episode) == (ThreadStatus.ACTIVE, True, 2)


async def _run(stores: Stores, thread_id: str, number: int, reading: UnreadChange) -> CommittedThread:
    lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
    return await stores.commit(lease, make_question(lease), make_answer(lease), reading=reading)


async def _thread(stores: Stores, thread_id: str) -> Thread:
    return await stores.store.get_thread(stores.ada, thread_id)

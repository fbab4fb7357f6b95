"""Ends of sessions, cancellations of runs, and the search for idle threads: for every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.memory.episode import EpisodeRef, make_episode_ref
from baton.domain.runs.usage import Usage
from baton.domain.threads.thread import EndReason, ThreadStatus
from baton.ports.threads.connections import Live
from baton.ports.threads.leases import Commit, Lease
from baton.ports.threads.threads import DueThread
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id

IDLE = timedelta(seconds=1800)
"""The idle timeout of the threads."""


def session(stores: Stores, lease: Lease, *, end: int | None = None) -> EpisodeRef:
    """Return the session that ends now."""
    thread = lease.thread
    finished = make_episode_ref(
        thread, thread.next_ordinal if end is None else end, EndReason.USER_CLOSED, stores.clock.now()
    )
    assert finished is not None
    return finished


async def close(stores: Stores, thread_id: str) -> Lease:
    """Close the thread with one event."""
    lease = await stores.lease(thread_id)
    await stores.store.close(lease, last_seq=lease.first_seq, ended=session(stores, lease))
    return lease


async def idle_threads(stores: Stores) -> list[DueThread]:
    """Return the threads of these stores that are due now."""
    return [due async for due in stores.idle.due(stores.clock.now()) if due.tenant_id == stores.tenant]


class CloseContract:
    """The end of a session."""

    async def test_closing_ends_the_session_and_the_lease_in_one_step(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lease = await close(stores, thread_id)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.CLOSED, 2, 2)
        assert (thread.last_seq, thread.reserved_seq, thread.run) == (lease.first_seq, lease.first_seq, None)
        assert (await stores.acquire(thread_id, message_id="m2", run_id="r2")).first_seq == lease.first_seq + 1

    async def test_closing_without_a_session_ends_none(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        await close(stores, thread_id)
        lease = await stores.lease(thread_id)
        await stores.store.close(lease, last_seq=lease.first_seq, ended=None)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.CLOSED, 2, 2)

    async def test_closing_again_under_the_same_lease_changes_nothing(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lease = await stores.lease(thread_id)
        for _ in range(2):
            await stores.store.close(lease, last_seq=lease.first_seq, ended=session(stores, lease))
        assert (await stores.store.get_thread(stores.ada, thread_id)).episode == 2

    async def test_a_zombie_closes_nothing(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        zombie = await stores.lease(thread_id)
        stores.clock.advance(60)
        await stores.acquire(thread_id, message_id="m2", run_id="r2")
        with pytest.raises(LeaseLost):
            await stores.store.close(zombie, last_seq=zombie.first_seq, ended=session(stores, zombie))
        with pytest.raises(LeaseLost):
            await stores.episodes.begin(
                await _record_with_higher_fence(stores, thread_id, zombie), replace(session(stores, zombie), number=99)
            )
        assert (await stores.store.get_thread(stores.ada, thread_id)).status is ThreadStatus.ACTIVE

    async def test_the_next_commit_opens_the_thread_again_for_a_new_session(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        await close(stores, thread_id)
        await stores.turn(thread_id, 2)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.ACTIVE, 2, 2)
        assert thread.next_ordinal == 4

    async def test_a_commit_can_end_the_session_it_belongs_to(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        for message in (make_question(lease), make_answer(lease)):
            await stores.store.put_message(lease, message)
        session_ref = session(stores, lease, end=2)
        commit = Commit(next_ordinal=2, last_seq=7, usage=Usage(), tokens=20, ended=session_ref)
        for _ in range(2):
            await stores.store.commit(lease, commit)
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.CLOSED, 2, 2)
        assert (thread.next_ordinal, thread.last_seq, thread.run) == (2, 7, None)


class IdleContract:
    """Threads that are to be looked at."""

    async def test_a_thread_is_due_when_its_idle_time_has_passed(self, stores: Stores) -> None:
        lease = await stores.turn(new_thread_id())
        stores.clock.advance(IDLE.total_seconds() - 0.001)
        assert await idle_threads(stores) == []
        stores.clock.advance(0.001)
        [due] = await idle_threads(stores)
        idle = due.read()
        assert (due.tenant_id, due.thread_id, due.failures) == (stores.tenant, lease.thread_id, 0)
        assert (idle.scope, idle.thread.id) == (stores.ada, lease.thread_id)
        assert due.check_at == idle.closes_at == stores.clock.now()
        assert idle.thread == await stores.store.get_thread(stores.ada, lease.thread_id)

    async def test_activity_moves_the_closing_and_not_the_check(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        stores.clock.advance(1000)
        await stores.turn(thread_id, 2)
        stores.clock.advance(800)
        [due] = await idle_threads(stores)
        assert due.check_at == stores.clock.now()
        assert due.read().closes_at == stores.clock.now() + timedelta(seconds=1000)

    async def test_only_the_first_of_two_sweeps_postpones(self, stores: Stores) -> None:
        await stores.turn(new_thread_id())
        stores.clock.advance(1800)
        [first], [second] = await idle_threads(stores), await idle_threads(stores)
        later = stores.clock.now() + timedelta(seconds=60)
        assert await stores.idle.postpone(first, later)
        assert not await stores.idle.postpone(second, later + timedelta(seconds=1))
        assert await idle_threads(stores) == []
        stores.clock.advance(60)
        assert [due.check_at for due in await idle_threads(stores)] == [later]

    async def test_failed_looks_are_remembered_until_one_succeeds(self, stores: Stores) -> None:
        await stores.turn(new_thread_id())
        for failures in (1, 2, 0):
            stores.clock.advance(1800)
            [due] = await idle_threads(stores)
            assert await stores.idle.postpone(due, stores.clock.now() + timedelta(seconds=1800), failures=failures)
            stores.clock.advance(1800)
            assert [again.failures for again in await idle_threads(stores)] == [failures]

    async def test_a_closed_thread_stays_in_the_index_until_it_is_settled(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        await close(stores, thread_id)
        stores.clock.advance(300)
        assert [due.read().thread.status for due in await idle_threads(stores)] == [ThreadStatus.CLOSED]

        await stores.store.settle(stores.ada, thread_id, episode=1)
        await stores.store.settle(stores.ada, thread_id, episode=1)

        stores.clock.advance(10**6)
        assert await idle_threads(stores) == []

    async def test_settling_an_earlier_session_changes_nothing(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        await close(stores, thread_id)
        await stores.turn(thread_id, 2)
        await stores.store.settle(stores.ada, thread_id, episode=1)
        await close(stores, thread_id)
        await stores.store.settle(stores.ada, thread_id, episode=1)
        await stores.store.settle(stores.ada, new_thread_id(), episode=1)
        stores.clock.advance(300)
        assert [due.thread_id for due in await idle_threads(stores)] == [thread_id]

    async def test_a_reopened_thread_is_looked_at_again(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        await close(stores, thread_id)
        await stores.store.settle(stores.ada, thread_id, episode=1)
        await stores.turn(thread_id, 2)
        stores.clock.advance(1800)
        assert [due.thread_id for due in await idle_threads(stores)] == [thread_id]


class CancelContract:
    """Requests to stop runs."""

    async def test_a_cancelled_run_shows_beside_the_connections(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        end = stores.clock.now() + timedelta(minutes=5)
        await stores.live.attach(stores.ada, thread_id, "c1", end)
        for _ in range(2):
            await stores.live.request_cancel(stores.ada, thread_id, "r1")
        await stores.live.request_cancel(stores.ada, thread_id, "r#2")
        live = await stores.live.live(stores.ada, thread_id)
        assert live == Live({"c1": end}, frozenset({"r1", "r#2"}))

    async def test_a_cancel_is_of_its_own_thread_and_tenant(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.live.request_cancel(stores.ada, thread_id, "r1")
        assert (await stores.live.live(stores.ada, new_thread_id())).cancelled_runs == frozenset()
        assert (await stores.live.live(stores.stranger, thread_id)).cancelled_runs == frozenset()

    async def test_a_cancel_is_cleared_alone_and_can_be_asked_for_again(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for run_id in ("r1", "r2"):
            await stores.live.request_cancel(stores.ada, thread_id, run_id)
        await stores.live.clear_cancel(stores.stranger, thread_id, "r1")
        for _ in range(2):
            await stores.live.clear_cancel(stores.ada, thread_id, "r1")
        assert (await stores.live.live(stores.ada, thread_id)).cancelled_runs == {"r2"}
        await stores.live.request_cancel(stores.ada, thread_id, "r1")
        assert (await stores.live.live(stores.ada, thread_id)).cancelled_runs == {"r1", "r2"}

    async def test_a_cancel_is_forgotten_when_no_run_can_last_so_long(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.live.request_cancel(stores.ada, thread_id, "r1")
        stores.clock.advance(3599)
        assert (await stores.live.live(stores.ada, thread_id)).cancelled_runs == {"r1"}
        stores.clock.advance(2)
        assert (await stores.live.live(stores.ada, thread_id)).cancelled_runs == frozenset()


async def _record_with_higher_fence(stores: Stores, thread_id: str, zombie: Lease) -> Lease:
    """Record the session under a lease with a higher fence, and return ``zombie``, the older lease."""
    stores.clock.advance(60)
    lease = await stores.lease(thread_id)
    await stores.episodes.begin(lease, replace(session(stores, zombie), number=99))
    return zombie

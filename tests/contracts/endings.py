"""How sessions end, how runs are cancelled, and how idle threads are found: for every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.episode import EndReason, Episode, EpisodeRef, EpisodeStatus, ended_session
from baton.domain.errors import LeaseLost
from baton.domain.thread import ThreadStatus
from baton.domain.usage import Usage
from baton.ports.idle_threads import DueThread
from baton.ports.live import Live
from baton.ports.thread_store import Commit, Lease
from tests.contracts.house import House, answered, new_thread_id, said

IDLE = timedelta(seconds=1800)
"""The idle timeout of the house's threads."""


def session(house: House, lease: Lease, *, end: int | None = None) -> EpisodeRef:
    """The session that ends now."""
    thread = lease.thread
    ended = ended_session(thread, thread.next_ordinal if end is None else end, EndReason.USER_CLOSED, house.clock.now())
    assert ended is not None
    return ended


async def close(house: House, thread_id: str) -> Lease:
    """Close the thread with one event."""
    lease = await house.lease(thread_id)
    await house.store.close(lease, last_seq=lease.first_seq, ended=session(house, lease))
    return lease


async def idle_threads(house: House) -> list[DueThread]:
    """What is due now, of this house."""
    return [due async for due in house.idle.due(house.clock.now()) if due.tenant_id == house.tenant]


class CloseContract:
    """The end of a session."""

    async def test_closing_ends_the_session_and_the_lease_in_one_step(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        lease = await close(house, thread_id)
        thread = await house.store.get_thread(house.ada, thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.CLOSED, 2, 2)
        assert (thread.last_seq, thread.reserved_seq, thread.run) == (lease.first_seq, lease.first_seq, None)
        assert (await house.acquire(thread_id, message_id="m2", run_id="r2")).first_seq == lease.first_seq + 1

    async def test_closing_without_a_session_ends_none(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        await close(house, thread_id)
        lease = await house.lease(thread_id)
        await house.store.close(lease, last_seq=lease.first_seq, ended=None)
        thread = await house.store.get_thread(house.ada, thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.CLOSED, 2, 2)

    async def test_closing_again_under_the_same_lease_changes_nothing(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        lease = await house.lease(thread_id)
        for _ in range(2):
            await house.store.close(lease, last_seq=lease.first_seq, ended=session(house, lease))
        assert (await house.store.get_thread(house.ada, thread_id)).episode == 2

    async def test_a_zombie_closes_nothing(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        zombie = await house.lease(thread_id)
        house.clock.advance(60)
        await house.acquire(thread_id, message_id="m2", run_id="r2")
        with pytest.raises(LeaseLost):
            await house.store.close(zombie, last_seq=zombie.first_seq, ended=session(house, zombie))
        with pytest.raises(LeaseLost):
            await house.episodes.begin(
                await _second(house, thread_id, zombie), replace(session(house, zombie), number=99)
            )
        assert (await house.store.get_thread(house.ada, thread_id)).status is ThreadStatus.ACTIVE

    async def test_the_next_commit_opens_the_thread_again_for_a_new_session(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        await close(house, thread_id)
        await house.turn(thread_id, 2)
        thread = await house.store.get_thread(house.ada, thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.ACTIVE, 2, 2)
        assert thread.next_ordinal == 4

    async def test_a_commit_can_end_the_session_it_belongs_to(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        for message in (said(lease), answered(lease)):
            await house.store.put_message(lease, message)
        ended = session(house, lease, end=2)
        commit = Commit(next_ordinal=2, last_seq=7, usage=Usage(), tokens=20, ended=ended)
        for _ in range(2):
            await house.store.commit(lease, commit)
        thread = await house.store.get_thread(house.ada, lease.thread_id)
        assert (thread.status, thread.episode, thread.episode_first_ordinal) == (ThreadStatus.CLOSED, 2, 2)
        assert (thread.next_ordinal, thread.last_seq, thread.run) == (2, 7, None)


class IdleContract:
    """Threads that are to be looked at."""

    async def test_a_thread_is_due_when_its_idle_time_has_passed(self, house: House) -> None:
        lease = await house.turn(new_thread_id())
        house.clock.advance(IDLE.total_seconds() - 0.001)
        assert await idle_threads(house) == []
        house.clock.advance(0.001)
        [due] = await idle_threads(house)
        idle = due.read()
        assert (due.tenant_id, due.thread_id, due.failures) == (house.tenant, lease.thread_id, 0)
        assert (idle.scope, idle.thread.id) == (house.ada, lease.thread_id)
        assert due.check_at == idle.closes_at == house.clock.now()
        assert idle.thread == await house.store.get_thread(house.ada, lease.thread_id)

    async def test_activity_moves_the_closing_and_not_the_check(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        house.clock.advance(1000)
        await house.turn(thread_id, 2)
        house.clock.advance(800)
        [due] = await idle_threads(house)
        assert due.check_at == house.clock.now()
        assert due.read().closes_at == house.clock.now() + timedelta(seconds=1000)

    async def test_only_the_first_of_two_sweeps_postpones(self, house: House) -> None:
        await house.turn(new_thread_id())
        house.clock.advance(1800)
        [first], [second] = await idle_threads(house), await idle_threads(house)
        later = house.clock.now() + timedelta(seconds=60)
        assert await house.idle.postpone(first, later)
        assert not await house.idle.postpone(second, later + timedelta(seconds=1))
        assert await idle_threads(house) == []
        house.clock.advance(60)
        assert [due.check_at for due in await idle_threads(house)] == [later]

    async def test_failed_looks_are_remembered_until_one_succeeds(self, house: House) -> None:
        await house.turn(new_thread_id())
        for failures in (1, 2, 0):
            house.clock.advance(1800)
            [due] = await idle_threads(house)
            assert await house.idle.postpone(due, house.clock.now() + timedelta(seconds=1800), failures=failures)
            house.clock.advance(1800)
            assert [again.failures for again in await idle_threads(house)] == [failures]

    async def test_a_closed_thread_stays_in_the_index_until_it_is_settled(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        await close(house, thread_id)
        house.clock.advance(300)
        assert [due.read().thread.status for due in await idle_threads(house)] == [ThreadStatus.CLOSED]

        await house.store.settle(house.ada, thread_id, episode=1)
        await house.store.settle(house.ada, thread_id, episode=1)

        house.clock.advance(10**6)
        assert await idle_threads(house) == []

    async def test_settling_an_earlier_session_changes_nothing(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        await close(house, thread_id)
        await house.turn(thread_id, 2)
        await house.store.settle(house.ada, thread_id, episode=1)
        await close(house, thread_id)
        await house.store.settle(house.ada, thread_id, episode=1)
        await house.store.settle(house.ada, new_thread_id(), episode=1)
        house.clock.advance(300)
        assert [due.thread_id for due in await idle_threads(house)] == [thread_id]

    async def test_a_reopened_thread_is_looked_at_again(self, house: House) -> None:
        thread_id = (await house.turn(new_thread_id())).thread_id
        await close(house, thread_id)
        await house.store.settle(house.ada, thread_id, episode=1)
        await house.turn(thread_id, 2)
        house.clock.advance(1800)
        assert [due.thread_id for due in await idle_threads(house)] == [thread_id]


class EpisodeContract:
    """What is kept of a session."""

    async def test_a_session_that_is_ending_is_pending(self, house: House) -> None:
        ref = await begun(house)
        assert await house.episodes.get_ref(house.ada, ref.thread_id, 1) == ref
        assert await house.episodes.get(house.ada, ref.thread_id, 1) is None
        assert await house.episodes.get_ref(house.ada, ref.thread_id, 2) is None
        assert await house.episodes.get_ref(house.stranger, ref.thread_id, 1) is None

    async def test_a_complete_episode_is_kept_however_often_it_is_completed(self, house: House) -> None:
        ref = await begun(house)
        episode = Episode(ref, "ada", ("assistant",), EpisodeStatus.COMPLETE, house.clock.now(), 2, Usage(10, 5))
        for _ in range(2):
            await house.episodes.complete(house.ada, episode)
        assert await house.episodes.get(house.ada, ref.thread_id, 1) == episode

        await house.episodes.fail(house.ada, ref)

        assert await house.episodes.get(house.ada, ref.thread_id, 1) == episode

    async def test_a_failed_closing_can_still_succeed(self, house: House) -> None:
        ref = await begun(house)
        await house.episodes.fail(house.ada, ref)
        assert await house.episodes.get_ref(house.ada, ref.thread_id, 1) == ref
        episode = Episode(ref, "ada", ("assistant",), EpisodeStatus.COMPLETE, house.clock.now(), 2, Usage(10, 5))
        await house.episodes.complete(house.ada, episode)
        assert await house.episodes.get(house.ada, ref.thread_id, 1) == episode


class CancelContract:
    """Runs that somebody wants stopped."""

    async def test_a_cancelled_run_shows_beside_the_connections(self, house: House) -> None:
        thread_id = new_thread_id()
        end = house.clock.now() + timedelta(minutes=5)
        await house.live.attach(house.ada, thread_id, "c1", end)
        for _ in range(2):
            await house.live.request_cancel(house.ada, thread_id, "r1")
        await house.live.request_cancel(house.ada, thread_id, "r#2")
        live = await house.live.live(house.ada, thread_id)
        assert live == Live({"c1": end}, frozenset({"r1", "r#2"}))

    async def test_a_cancel_is_of_its_own_thread_and_tenant(self, house: House) -> None:
        thread_id = new_thread_id()
        await house.live.request_cancel(house.ada, thread_id, "r1")
        assert (await house.live.live(house.ada, new_thread_id())).cancelled_runs == frozenset()
        assert (await house.live.live(house.stranger, thread_id)).cancelled_runs == frozenset()

    async def test_a_cancel_is_cleared_alone_and_can_be_asked_for_again(self, house: House) -> None:
        thread_id = new_thread_id()
        for run_id in ("r1", "r2"):
            await house.live.request_cancel(house.ada, thread_id, run_id)
        await house.live.clear_cancel(house.stranger, thread_id, "r1")
        for _ in range(2):
            await house.live.clear_cancel(house.ada, thread_id, "r1")
        assert (await house.live.live(house.ada, thread_id)).cancelled_runs == {"r2"}
        await house.live.request_cancel(house.ada, thread_id, "r1")
        assert (await house.live.live(house.ada, thread_id)).cancelled_runs == {"r1", "r2"}

    async def test_a_cancel_is_forgotten_when_no_run_can_last_so_long(self, house: House) -> None:
        thread_id = new_thread_id()
        await house.live.request_cancel(house.ada, thread_id, "r1")
        house.clock.advance(3599)
        assert (await house.live.live(house.ada, thread_id)).cancelled_runs == {"r1"}
        house.clock.advance(2)
        assert (await house.live.live(house.ada, thread_id)).cancelled_runs == frozenset()


async def begun(house: House) -> EpisodeRef:
    """A session of two messages that is ending."""
    lease = await house.lease((await house.turn(new_thread_id())).thread_id)
    ref = session(house, lease)
    await house.episodes.begin(lease, ref)
    return ref


async def _second(house: House, thread_id: str, zombie: Lease) -> Lease:
    """``zombie``, after a holder with a higher fence has recorded the session that it wants to record."""
    house.clock.advance(60)
    lease = await house.lease(thread_id)
    await house.episodes.begin(lease, replace(session(house, zombie), number=99))
    return zombie

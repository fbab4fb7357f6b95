"""Leases that nothing stored shows until their commit: for every store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.runs.usage import Usage
from baton.domain.threads.thread import Run
from baton.ports.threads.leases import FENCE_STEP, Commit, Lease
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, texts, turn

RUN = Run("r2", "m2", attempt=1)


async def acquire_optimistic_lease(stores: Stores, thread_id: str, run: Run = RUN) -> Lease:
    lease = await stores.store.acquire_optimistically(stores.ada, thread_id, run)
    assert lease is not None
    return lease


async def read_texts(stores: Stores, thread_id: str) -> list[str]:
    thread = await stores.store.get_thread(stores.ada, thread_id)
    return texts((await stores.store.read_messages(stores.ada, thread, limit=10, before=None)).messages)


class OptimisticLeaseContract:
    """A thread has one writer at a time, although no read shows an optimistic lease."""

    async def test_its_commit_is_like_any_other(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lease = await acquire_optimistic_lease(stores, thread_id)
        assert lease.thread.run == RUN
        assert (await stores.store.get_thread(stores.ada, thread_id)).lease is None
        await stores.store.open_turn(lease, turn(lease))

        await stores.commit(lease, replace(make_answer(lease, "Hello?", index=0), id="m2"))

        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.next_ordinal, thread.last_seq) == (3, lease.first_seq + 4)
        assert await read_texts(stores, thread_id) == ["q1", "a1", "Hello?"]
        following = await stores.acquire(thread_id, message_id="m3", run_id="r3")
        assert following.first_seq == lease.first_seq + 5
        assert following.fence == lease.fence + FENCE_STEP

    async def test_there_is_none_for_others_and_for_threads_that_are_held_unfinished_or_new(
        self, stores: Stores
    ) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        for other in (stores.bob, stores.stranger):
            assert await stores.store.acquire_optimistically(other, thread_id, RUN) is None
        assert await stores.store.acquire_optimistically(stores.ada, new_thread_id(), RUN) is None
        held = await stores.acquire(thread_id, message_id="m9", run_id="r9")
        assert await stores.store.acquire_optimistically(stores.ada, thread_id, RUN) is None
        stores.clock.advance(600)
        assert await stores.store.acquire_optimistically(stores.ada, thread_id, RUN) is None, "its run is unfinished"
        await stores.store.release(await stores.lease(thread_id))
        assert held.fence < (await acquire_optimistic_lease(stores, thread_id)).fence

    async def test_it_is_lost_to_a_lease_that_is_taken_meanwhile(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lease = await acquire_optimistic_lease(stores, thread_id)
        usual = await stores.acquire(thread_id, message_id="m3", run_id="r3")
        assert usual.fence > lease.fence
        await stores.store.put_message(usual, make_question(usual, "q3"))

        with pytest.raises(LeaseLost):
            await stores.store.put_message(lease, make_question(lease, "q2"))
        with pytest.raises(LeaseLost):
            await stores.commit(lease)
        await stores.store.release(lease)
        with pytest.raises(LeaseLost):
            await stores.store.renew(lease, used_seq=lease.first_seq)
        await stores.commit(usual, make_question(usual, "q3"), make_answer(usual, "a3"))
        with pytest.raises(LeaseLost):
            await stores.commit(lease)
        assert await read_texts(stores, thread_id) == ["q1", "a1", "q3", "a3"]

    async def test_of_two_one_commits(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        one, two = (
            await acquire_optimistic_lease(stores, thread_id),
            await acquire_optimistic_lease(stores, thread_id, Run("r3", "m3", attempt=1)),
        )
        await stores.store.put_message(one, make_question(one, "q2"))
        with pytest.raises(LeaseLost):
            await stores.commit(two, make_question(two, "q3"))

        commit = Commit(one.thread.next_ordinal + 1, one.first_seq, Usage(), 10)
        await stores.store.commit(one, commit)
        await stores.store.commit(one, commit)  # the response was lost

        assert await read_texts(stores, thread_id) == ["q1", "a1", "q2"]
        assert (await acquire_optimistic_lease(stores, thread_id)).fence > two.fence

    async def test_a_usual_lease_replaces_what_one_has_left(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        dead = await acquire_optimistic_lease(stores, thread_id)
        await stores.store.open_turn(dead, turn(dead))
        await stores.store.put_message(dead, make_question(dead, "q2"))

        lease = await stores.acquire(thread_id, message_id="m3", run_id="r3")
        await stores.commit(lease, make_question(lease, "q3"), make_answer(lease, "a3"))

        assert await read_texts(stores, thread_id) == ["q1", "a1", "q3", "a3"]

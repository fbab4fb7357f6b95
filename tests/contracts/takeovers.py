"""Takeovers of a dead worker's run: for every store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from baton.domain.errors import LeaseLost, ThreadUnavailable
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import LeaseMark, Run
from baton.ports.threads.leases import FENCE_STEP, LeaseBusy, NoSuchThread
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, turn

FIRST, SECOND = RecordDelivery("record-1", 1), RecordDelivery("record-1", 2)
"""One record, delivered and delivered again."""


class TakeoverContract:
    """A lease taken without a run, and a dead worker's run found with it."""

    async def test_a_lease_for_something_else_begins_no_run(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lease = await stores.lease(thread_id)
        assert lease.thread.run is None
        assert lease.first_seq == lease.thread.last_seq + 1
        assert (await stores.store.get_thread(stores.ada, thread_id)).run is None

    async def test_only_a_thread_that_exists_is_leased_for_something_else(self, stores: Stores) -> None:
        with pytest.raises(NoSuchThread):
            await stores.lease(new_thread_id())
        thread_id = (await stores.turn(new_thread_id())).thread_id
        for other in (stores.bob, stores.stranger):
            with pytest.raises((ThreadUnavailable, NoSuchThread)):
                await stores.lease(thread_id, scope=other)

    async def test_a_dead_workers_run_is_found_as_it_was_and_taken_over_by_name(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        lease = await stores.lease(dead.thread_id)
        assert lease.thread.run == Run("r1", "m1", attempt=1)

        lease = await stores.store.take_over(lease)

        assert lease.thread.run == Run("r1", "m1", attempt=2)
        assert (await stores.store.get_thread(stores.ada, dead.thread_id)).run == Run("r1", "m1", attempt=2)

    async def test_a_record_that_comes_again_takes_over_from_its_worker_at_once(self, stores: Stores) -> None:
        lost = await stores.acquire(new_thread_id(), delivery=FIRST)

        lease = await stores.acquire(lost.thread_id, delivery=SECOND)

        assert lease.fence > lost.fence
        assert lease.first_seq == lost.end_seq
        assert lease.thread.run == Run("r1", "m1", attempt=2)
        with pytest.raises(LeaseLost):
            await stores.store.renew(lost, used_seq=lost.first_seq)

    async def test_a_record_that_comes_again_for_something_else_takes_over_at_once(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lost = await stores.lease(thread_id, delivery=FIRST)
        assert (await stores.lease(thread_id, delivery=SECOND)).fence == lost.fence + FENCE_STEP

    @pytest.mark.parametrize(
        ("held", "comes"),
        [(FIRST, FIRST), (SECOND, FIRST), (FIRST, RecordDelivery("record-2", 2)), (None, SECOND), (FIRST, None)],
        ids=["the same delivery", "an earlier one", "another record", "a lease over HTTP", "a caller over HTTP"],
    )
    async def test_no_living_lease_is_taken_over_without_proof(
        self, held: RecordDelivery | None, comes: RecordDelivery | None, stores: Stores
    ) -> None:
        lease = await stores.acquire(new_thread_id(), delivery=held)
        with pytest.raises(LeaseBusy):
            await stores.acquire(lease.thread_id, delivery=comes)
        assert await stores.store.renew(lease, used_seq=lease.first_seq)

    async def test_a_lease_that_goes_on_without_its_record_is_not_taken_over_by_it(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id(), delivery=FIRST)
        assert lease.delivery == FIRST
        lease = await stores.store.renew(lease, used_seq=lease.first_seq)
        assert lease.delivery == FIRST

        lease = await stores.store.renew(lease, used_seq=lease.first_seq, without_record=True)

        assert lease.delivery is None
        with pytest.raises(LeaseBusy):
            await stores.acquire(lease.thread_id, delivery=SECOND)
        stores.clock.advance(60)
        assert (await stores.acquire(lease.thread_id, delivery=SECOND)).delivery == SECOND

    async def test_a_record_proves_nothing_about_a_lease_after_the_one_it_was_taken_for(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id(), delivery=FIRST)
        stores.clock.advance(60)
        over_http = await stores.acquire(dead.thread_id)
        with pytest.raises(LeaseBusy):
            await stores.acquire(dead.thread_id, delivery=SECOND)
        await stores.store.release(over_http)
        assert (await stores.acquire(dead.thread_id, delivery=FIRST)).fence == over_http.fence + FENCE_STEP

    async def test_a_lease_whose_holder_gave_no_sign_of_life_is_taken_over_at_once(self, stores: Stores) -> None:
        silent = await stores.acquire(new_thread_id())
        thread = await stores.store.get_thread(stores.ada, silent.thread_id)
        assert thread.lease == LeaseMark(silent.fence, silent.until)

        lease = await stores.acquire(silent.thread_id, presumed_dead=thread.lease)

        assert (lease.fence, lease.thread.run) == (silent.fence + FENCE_STEP, Run("r1", "m1", attempt=2))
        with pytest.raises(LeaseLost):
            await stores.store.renew(silent, used_seq=silent.first_seq)

    async def test_a_lease_is_named_by_the_same_end_by_its_holder_and_by_everybody_else(self, stores: Stores) -> None:
        """Or its holder would not know that it is asked for a sign of life."""
        stores.clock.time += timedelta(microseconds=789)
        lease = await stores.acquire(new_thread_id())
        for _ in range(2):
            thread = await stores.store.get_thread(stores.ada, lease.thread_id)
            assert thread.lease == LeaseMark(lease.fence, lease.until)
            stores.clock.advance(1)
            lease = await stores.store.renew(lease, used_seq=lease.first_seq)

    async def test_a_renewed_lease_is_not_the_one_that_was_presumed_dead(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        seen = (await stores.store.get_thread(stores.ada, lease.thread_id)).lease
        stores.clock.advance(1)
        await stores.store.renew(lease, used_seq=lease.first_seq)
        with pytest.raises(LeaseBusy) as busy:
            await stores.acquire(lease.thread_id, presumed_dead=seen)
        await stores.acquire(lease.thread_id, presumed_dead=busy.value.lease)
        with pytest.raises(LeaseBusy):
            await stores.acquire(lease.thread_id, presumed_dead=busy.value.lease)

    async def test_a_takeover_that_is_repeated_counts_once(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        await stores.store.abandon(dead)
        lease = await stores.lease(dead.thread_id)
        assert await stores.store.take_over(lease) == await stores.store.take_over(lease)

    async def test_a_zombie_takes_nothing_over(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        await stores.store.abandon(dead)
        zombie = await stores.lease(dead.thread_id)
        stores.clock.advance(60)
        await stores.acquire(dead.thread_id)
        with pytest.raises(LeaseLost):
            await stores.store.take_over(zombie)

    async def test_a_release_gives_back_its_own_numbers_only(self, stores: Stores) -> None:
        dead = await stores.lease((await stores.turn(new_thread_id())).thread_id)
        stores.clock.advance(60)
        await stores.store.release(await stores.acquire(dead.thread_id, message_id="m2", run_id="r2"))

        lease = await stores.acquire(dead.thread_id, message_id="m3", run_id="r3")

        assert lease.first_seq == dead.end_seq
        assert lease.thread.last_seq < dead.first_seq

    async def test_an_answer_shows_under_which_fence_it_was_written(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        await stores.store.open_turn(dead, turn(dead))
        for message in (make_question(dead), make_answer(dead, "complete")):
            await stores.store.put_message(dead, message)
        await stores.store.abandon(dead)
        lease = await stores.acquire(dead.thread_id)
        before = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)
        await stores.store.put_message(lease, make_question(lease))

        existing = await stores.store.get_turn(stores.ada, lease.thread_id, "m1")
        messages = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)

        assert existing is not None
        assert [message.fence for message in before] == [dead.fence] * 2, "one attempt's own: it may be adopted"
        assert [message.fence for message in messages] == [lease.fence, dead.fence], "a mixture of two attempts"
        assert existing.fence == dead.fence == lease.fence - FENCE_STEP
        assert messages[-1].end == make_answer(dead).end

"""The right to write to a thread: leases, fences, turns and the pointer of every thread store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.runs.usage import Usage
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import LeaseMark, Run, RunStatus
from baton.domain.threads.turn_requests import ClientOffer, ClientTool, ContextItem
from baton.ports.threads.leases import Commit, LeaseBusy, NoSuchThread
from baton.ports.threads.messages import EntryPoint
from baton.ports.threads.stream_log import LogPiece
from tests.contracts.stores import HELLO, Stores, make_answer, make_question, new_thread_id, texts, turn

PAGE = ClientOffer(
    (ClientTool("paint", "Paints.", {"type": "object", "properties": {"size": {"maximum": 0.5}}}),),
    (ContextItem("The page", "Cart"),),
)

LEASE_SECONDS = 30


class LeaseContract:
    """A thread has one writer at a time."""

    async def test_the_first_lease_of_a_thread_begins_it(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        lease = await stores.acquire(thread_id, message_id="m1", run_id="r1")

        assert lease.scope == stores.ada
        assert lease.thread_id == thread_id
        assert (lease.thread.user_id, lease.thread.agent_id, lease.thread.active_agent_id) == (
            "ada",
            "assistant",
            "assistant",
        )
        assert (lease.thread.next_ordinal, lease.thread.last_seq, lease.thread.usage) == (0, 0, Usage())
        assert lease.thread.run == Run("r1", "m1", attempt=1)
        assert lease.thread.created_at == stores.clock.now()
        assert lease.first_seq == 1
        assert lease.end_seq - lease.first_seq >= 1_000
        assert (lease.until - stores.clock.now()).total_seconds() == LEASE_SECONDS

    async def test_a_second_lease_is_refused_while_the_first_lives(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id(), message_id="m1", run_id="r1")
        stores.clock.advance(LEASE_SECONDS)

        with pytest.raises(LeaseBusy) as refusal:
            await stores.acquire(lease.thread_id, message_id="m2", run_id="r2")

        assert refusal.value.run == Run("r1", "m1", attempt=1)
        assert refusal.value.lease == LeaseMark(lease.fence, lease.until)

    async def test_the_same_message_cannot_be_taken_up_twice_at_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        with pytest.raises(LeaseBusy):
            await stores.acquire(lease.thread_id)

    async def test_a_renewed_lease_lives_longer(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        stores.clock.advance(20)
        renewed = await stores.store.renew(lease, used_seq=lease.first_seq)
        stores.clock.advance(20)

        assert (renewed.fence, renewed.owner, renewed.end_seq) == (lease.fence, lease.owner, lease.end_seq)
        with pytest.raises(LeaseBusy):
            await stores.acquire(lease.thread_id)

    async def test_a_renewal_reserves_more_numbers_when_few_are_left(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        renewed = await stores.store.renew(lease, used_seq=lease.end_seq - 100)
        assert renewed.end_seq > lease.end_seq

        stores.clock.advance(60)
        successor = await stores.acquire(lease.thread_id)
        assert successor.first_seq == renewed.end_seq

    async def test_a_dead_lease_is_taken_over_with_its_run_and_a_higher_fence(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id(), message_id="m1", run_id="r1")
        stores.clock.advance(LEASE_SECONDS + 0.001)

        lease = await stores.acquire(dead.thread_id, message_id="m2", run_id="r2")

        assert lease.fence > dead.fence
        assert lease.thread.run == Run("r1", "m1", attempt=2)
        assert lease.first_seq == dead.end_seq

    async def test_every_takeover_is_one_more_attempt(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        attempts = []
        for _ in range(4):
            lease = await stores.acquire(thread_id)
            assert lease.thread.run is not None
            attempts.append(lease.thread.run.attempt)
            stores.clock.advance(60)
        assert attempts == [1, 2, 3, 4]

    async def test_a_run_whose_worker_is_silent_shows_as_interrupted(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        stores.clock.advance(LEASE_SECONDS)
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert thread.run is not None
        assert thread.run.status is RunStatus.RUNNING

        stores.clock.advance(0.001)
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert thread.run == Run("r1", "m1", attempt=1, status=RunStatus.INTERRUPTED)

    async def test_a_late_renewal_saves_a_lease_that_nobody_took_over(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        await stores.store.renew(lease, used_seq=lease.first_seq)
        with pytest.raises(LeaseBusy):
            await stores.acquire(lease.thread_id)

    async def test_an_abandoned_run_is_taken_over_at_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id(), message_id="m1", run_id="r1")
        await stores.store.abandon(lease)

        successor = await stores.acquire(lease.thread_id, message_id="m2", run_id="r2")

        assert successor.thread.run == Run("r1", "m1", attempt=2)
        assert successor.first_seq == lease.end_seq

    async def test_a_released_lease_leaves_no_run_and_no_gap(self, stores: Stores) -> None:
        first = await stores.turn(new_thread_id())
        refused = await stores.acquire(first.thread_id, message_id="m2", run_id="r2")
        await stores.store.release(refused)

        assert (await stores.store.get_thread(stores.ada, first.thread_id)).run is None
        lease = await stores.acquire(first.thread_id, message_id="m3", run_id="r3")
        assert lease.thread.run == Run("r3", "m3", attempt=1)
        assert lease.first_seq == refused.first_seq
        assert lease.fence > refused.fence

    async def test_a_run_of_which_nothing_was_stored_can_be_replaced(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id(), message_id="m1", run_id="r1")
        await stores.store.abandon(dead)
        result = await stores.acquire(dead.thread_id, message_id="m2", run_id="r2")

        lease = await stores.store.begin_run(result, run_id="r2", message_id="m2")

        # Clients see a second attempt: it is why the numbers do not follow the last committed one.
        assert lease.thread.run == Run("r2", "m2", attempt=2)
        assert (await stores.store.get_thread(stores.ada, lease.thread_id)).run == Run("r2", "m2", attempt=2)
        assert lease.first_seq == result.first_seq > lease.thread.last_seq + 1
        stores.clock.advance(60)
        assert (await stores.acquire(lease.thread_id)).first_seq == lease.end_seq

    async def test_a_thread_that_must_not_be_created_is_not(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        with pytest.raises(NoSuchThread):
            await stores.acquire(thread_id, may_create=False)
        await stores.store.check_writable(stores.stranger, thread_id)

    async def test_a_thread_that_exists_needs_no_leave_to_be_created(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        lease = await stores.acquire(thread_id, message_id="m2", run_id="r2", may_create=False)
        assert lease.thread.next_ordinal == 2


class CommitContract:
    """A message counts once the pointer has passed it."""

    async def test_a_commit_moves_the_pointer_and_ends_the_run(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        stores.clock.advance(5)
        await stores.commit(lease, make_question(lease), make_answer(lease), events=7, spent=Usage(100, 20))

        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert (thread.next_ordinal, thread.last_seq, thread.stored_tokens) == (2, 7, 20)
        assert thread.usage == Usage(100, 20)
        assert thread.run is None
        assert thread.created_at == lease.thread.created_at
        assert thread.last_activity_at == stores.clock.now()

    async def test_usage_and_tokens_add_up(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in (1, 2, 3):
            await stores.turn(thread_id, number)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.usage, thread.stored_tokens, thread.next_ordinal) == (Usage(30, 15), 60, 6)

    async def test_a_commit_keeps_the_windows_of_histories(self, stores: Stores) -> None:
        first = await stores.turn(new_thread_id())
        windows = (
            HistoryWindow("assistant", first_ordinal=4, masked_below=3, summary_at=4),
            HistoryWindow("maker", "6.0", first_ordinal=6),
        )
        for number, moved in ((2, windows), (3, None), (4, windows[:1])):
            lease = await stores.acquire(first.thread_id, message_id=f"m{number}", run_id=f"r{number}")
            await stores.store.put_message(lease, make_question(lease))
            ordinal = lease.thread.next_ordinal + 1
            await stores.store.commit(lease, Commit(ordinal, lease.first_seq, usage=Usage(), tokens=10, windows=moved))
            thread = await stores.store.get_thread(stores.ada, first.thread_id)
            assert thread.windows == (windows[:1] if number == 4 else windows)

    async def test_cached_tokens_add_up(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number, spent in enumerate((Usage(10, 1), Usage(10, 1, 4), Usage(10, 1, 3))):
            lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
            await stores.commit(lease, make_question(lease), spent=spent)
        assert (await stores.store.get_thread(stores.ada, thread_id)).usage == Usage(30, 3, 7)

    async def test_the_next_run_goes_on_where_the_last_ended(self, stores: Stores) -> None:
        first = await stores.turn(new_thread_id(), 1)
        lease = await stores.acquire(first.thread_id, message_id="m2", run_id="r2")
        assert lease.first_seq == lease.thread.last_seq + 1 == 6
        assert lease.fence > first.fence

    async def test_readers_ignore_what_lies_beyond_the_pointer(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id(), 1)).thread_id
        lease = await stores.acquire(thread_id, message_id="m2", run_id="r2")
        await stores.store.put_message(lease, make_question(lease, "not yet"))

        thread = await stores.store.get_thread(stores.ada, thread_id)
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert texts(page.messages) == ["q1", "a1"]
        assert texts(await stores.store.recent_messages(stores.ada, thread, token_budget=1_000)) == ["q1", "a1"]
        assert texts(await stores.store.run_messages(stores.ada, thread_id, first_ordinal=2, below=2)) == []
        assert texts(await stores.store.run_messages(stores.ada, thread_id, first_ordinal=2, below=None)) == ["not yet"]

    async def test_a_successor_writes_over_what_was_never_committed(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        await stores.store.put_message(dead, make_question(dead, "first try"))
        await stores.store.put_message(dead, make_answer(dead, "half an"))
        stores.clock.advance(60)

        lease = await stores.acquire(dead.thread_id)
        await stores.commit(lease, make_question(lease, "second try"))

        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert texts(page.messages) == ["second try"]

    async def test_a_commit_is_possible_late_if_nobody_took_over(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        stores.clock.advance(600)
        await stores.commit(lease, make_question(lease), make_answer(lease))
        assert (await stores.store.get_thread(stores.ada, lease.thread_id)).next_ordinal == 2

    async def test_a_commit_that_is_repeated_counts_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        commit = Commit(next_ordinal=1, last_seq=3, usage=Usage(10, 5), tokens=10)
        await stores.store.put_message(lease, make_question(lease))
        await stores.store.commit(lease, commit)
        await stores.store.commit(lease, commit)
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert (thread.usage, thread.stored_tokens) == (Usage(10, 5), 10)

    async def test_a_commit_that_is_repeated_after_the_next_run_began_counts_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        commit = Commit(next_ordinal=1, last_seq=3, usage=Usage(10, 5), tokens=10)
        await stores.store.put_message(lease, make_question(lease))
        await stores.store.commit(lease, commit)
        following = await stores.acquire(lease.thread_id, message_id="m2", run_id="r2")

        await stores.store.commit(lease, commit)

        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert (thread.usage, thread.run) == (Usage(10, 5), Run("r2", "m2", attempt=1))
        await stores.store.renew(following, used_seq=following.first_seq)


class FenceContract:
    """A worker that was given up for dead and is not: it can change nothing any more."""

    async def test_a_zombie_can_neither_renew_nor_begin_nor_commit(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)

        with pytest.raises(LeaseLost):
            await stores.store.renew(zombie, used_seq=zombie.first_seq)
        with pytest.raises(LeaseLost):
            await stores.store.begin_run(zombie, run_id="r9", message_id="m9")
        with pytest.raises(LeaseLost):
            await stores.commit(zombie)
        assert (await stores.store.get_thread(stores.ada, lease.thread_id)).run == lease.thread.run

    @pytest.mark.parametrize("method", ["release", "abandon"])
    async def test_a_zombie_cannot_end_its_successors_lease(self, stores: Stores, method: str) -> None:
        zombie = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)

        await getattr(stores.store, method)(zombie)

        with pytest.raises(LeaseBusy):
            await stores.acquire(zombie.thread_id)
        assert (await stores.store.get_thread(stores.ada, lease.thread_id)).run == lease.thread.run

    async def test_a_zombie_cannot_change_what_its_successor_wrote(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        await stores.store.open_turn(lease, turn(lease))
        await stores.store.put_message(lease, make_question(lease, "mine"))

        with pytest.raises(LeaseLost):
            await stores.store.put_message(zombie, make_question(zombie, "overwritten"))
        with pytest.raises(LeaseLost):
            await stores.store.put_messages(zombie, [make_question(zombie, "overwritten"), make_answer(zombie, "too")])
        with pytest.raises(LeaseLost):
            await stores.store.reopen_turn(zombie, turn(zombie))
        assert await stores.store.open_turn(zombie, turn(zombie)) == turn(lease)
        messages = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)
        assert texts(messages) == ["mine"]

    async def test_a_zombie_cannot_change_what_its_successor_committed(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        await stores.commit(lease, make_question(lease, "mine"))

        with pytest.raises(LeaseLost):
            await stores.store.put_message(zombie, make_question(zombie, "overwritten"))
        await stores.store.put_message(zombie, make_answer(zombie, "beyond the pointer"))
        with pytest.raises(LeaseLost):
            await stores.commit(zombie)

        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert texts(page.messages) == ["mine"]

    async def test_a_zombie_cannot_write_over_its_successors_log(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        await stores.store.abandon(zombie)
        lease = await stores.acquire(zombie.thread_id, message_id="m2", run_id="r2")
        lease = await stores.store.begin_run(lease, run_id="r2", message_id="m2")
        await stores.log.append(lease, LogPiece("r2", 1, zombie.first_seq, ({"type": "A"},)))

        with pytest.raises(LeaseLost):
            await stores.log.append(zombie, LogPiece("r1", 1, zombie.first_seq, ({"type": "Z"},)))
        [piece] = (await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces
        assert piece.run_id == "r2"

    async def test_a_worker_that_released_the_lease_does_not_hold_it(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.store.release(lease)
        with pytest.raises(LeaseLost):
            await stores.store.renew(lease, used_seq=lease.first_seq)
        with pytest.raises(LeaseLost):
            await stores.commit(lease)

    async def test_a_worker_that_committed_does_not_hold_the_lease(self, stores: Stores) -> None:
        lease = await stores.turn(new_thread_id())
        with pytest.raises(LeaseLost):
            await stores.store.renew(lease, used_seq=lease.first_seq)
        with pytest.raises(LeaseLost):
            await stores.store.begin_run(lease, run_id="r9", message_id="m9")
        await stores.store.release(lease)
        await stores.store.abandon(lease)
        assert (await stores.store.get_thread(stores.ada, lease.thread_id)).run is None


class TurnContract:
    """A message id is taken up once."""

    async def test_a_turn_is_recorded_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        assert await stores.store.get_turn(stores.ada, lease.thread_id, "m1") is None
        assert await stores.store.open_turn(lease, turn(lease)) is None
        assert await stores.store.get_turn(stores.ada, lease.thread_id, "m1") == turn(lease)

    async def test_what_the_client_offers_is_kept_with_the_turn(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        offering = replace(turn(lease), client=PAGE)
        assert await stores.store.open_turn(lease, offering) is None
        assert await stores.store.get_turn(stores.ada, lease.thread_id, "m1") == offering

    async def test_a_retry_of_the_same_attempt_is_the_first(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        assert await stores.store.open_turn(lease, turn(lease)) is None
        assert await stores.store.open_turn(lease, turn(lease)) is None

    async def test_a_later_attempt_sees_the_earlier_and_claims_the_message_again(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        await stores.store.open_turn(dead, turn(dead))
        stores.clock.advance(60)
        lease = await stores.acquire(dead.thread_id)

        assert await stores.store.open_turn(lease, turn(lease)) == turn(dead)
        assert await stores.store.get_turn(stores.ada, lease.thread_id, "m1") == turn(dead)
        await stores.store.reopen_turn(lease, turn(lease))
        assert await stores.store.get_turn(stores.ada, lease.thread_id, "m1") == turn(lease)

    async def test_a_message_enters_a_run_gets_a_turn_or_is_withdrawn(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        entered = replace(turn(lease, message_id="m2"), entered=EntryPoint("assistant", 3))
        assert await stores.store.open_turn(lease, entered) is None
        assert await stores.store.get_turn(stores.ada, lease.thread_id, "m2") == entered
        assert await stores.store.withdraw(stores.ada, lease.thread_id, "m2", HELLO) == entered
        assert await stores.store.withdraw(stores.ada, lease.thread_id, "m3", HELLO) is None
        withdrawn = await stores.store.open_turn(lease, turn(lease, message_id="m3"))
        assert withdrawn is not None
        assert (withdrawn.is_withdrawn, withdrawn.digest, withdrawn.entered) == (True, HELLO, None)
        assert await stores.store.withdraw(stores.ada, lease.thread_id, "m3", HELLO) == withdrawn
        assert await stores.store.get_turn(stores.stranger, lease.thread_id, "m3") is None

    async def test_every_thread_has_message_ids_of_its_own(self, stores: Stores) -> None:
        first, second = await stores.acquire(new_thread_id()), await stores.acquire(new_thread_id())
        assert await stores.store.open_turn(first, turn(first)) is None
        assert await stores.store.open_turn(second, turn(second)) is None

    @pytest.mark.parametrize("message_id", ["a#b", "TURN#1", "日本語" * 42, "😀" * 128, "..", "'\"\\"])
    async def test_any_printable_message_id_will_do(self, stores: Stores, message_id: str) -> None:
        lease = await stores.acquire(new_thread_id(), message_id=message_id)
        await stores.store.open_turn(lease, turn(lease))
        existing = await stores.store.get_turn(stores.ada, lease.thread_id, message_id)
        assert existing == turn(lease)
        assert lease.thread.run == Run("r1", message_id, attempt=1)

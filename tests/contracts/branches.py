"""The branches of every thread store: a path that readers follow, and everything else in its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.threads.branches import BranchStart, Segment
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import ConversationState, Thread
from baton.ports.threads.leases import Lease
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, texts


async def make_branch(stores: Stores, thread_id: str, number: int, parent: int, *, commits: bool = True) -> Lease:
    """A turn that continues from the message ``parent``."""
    lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
    lease = replace(lease, thread=lease.thread.continue_from(parent))
    start = BranchStart("m2", is_regenerate=False, after_id="r1-1")
    messages = replace(make_question(lease, f"q{number}"), branch=start), make_answer(lease, f"a{number}")
    if commits:
        await stores.commit(lease, *messages)
    else:
        for message in messages:
            await stores.store.put_message(lease, message)
    return lease


async def read(stores: Stores, thread: Thread) -> list[str]:
    """Page by page, by three messages."""
    results: list[str] = []
    before = None
    while True:
        page = await stores.store.read_messages(stores.ada, thread, limit=3, before=before)
        results, before = [*texts(page.messages), *results], page.next_before
        if before is None:
            return results


class BranchContract:
    """Branches begin with a commit, and messages are read along the one that is selected."""

    async def test_a_thread_is_read_along_its_branch(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in (1, 2, 3):
            await stores.turn(thread_id, number)
        await make_branch(stores, thread_id, 4, parent=1)
        await stores.turn(thread_id, 5)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        path = ["q1", "a1", "q4", "a4", "q5", "a5"]
        assert thread.segments == (Segment(6, 1),)
        assert await read(stores, thread) == path
        recent = stores.store.recent_messages
        assert texts(await recent(stores.ada, thread, token_budget=1_000)) == path
        assert texts(await recent(stores.ada, thread, token_budget=45)) == path[1:]
        assert texts(await recent(stores.ada, thread, token_budget=1_000, first_ordinal=1, before=9)) == path[1:-1]
        everything = ["q1", "a1", "q2", "a2", "q3", "a3", *path[2:]]
        assert await read(stores, thread.unbranched) == everything
        assert await read(stores, thread.continue_from(5)) == everything[:6]

    async def test_branches_far_from_each_other_are_read_as_one(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in range(1, 31):
            await stores.turn(thread_id, number)
        await make_branch(stores, thread_id, 31, parent=3)
        await make_branch(stores, thread_id, 32, parent=9)
        await make_branch(stores, thread_id, 33, parent=61)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        path = ["q1", "a1", "q2", "a2", "q31", "a31", "q33", "a33"]
        assert await read(stores, thread) == path
        assert texts(await stores.store.recent_messages(stores.ada, thread, token_budget=1_000)) == path

    async def test_a_branch_begins_with_its_commit(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in (1, 2):
            await stores.turn(thread_id, number)
        lost = await make_branch(stores, thread_id, 3, parent=1, commits=False)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert (thread.segments, await read(stores, thread)) == ((), ["q1", "a1", "q2", "a2"])
        [question, _] = await stores.store.run_messages(stores.ada, thread_id, first_ordinal=4, below=None)
        assert question.branch == BranchStart("m2", is_regenerate=False, after_id="r1-1")
        await stores.store.release(lost)

    async def test_a_branch_can_begin_the_conversation_again(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.turn(thread_id, 1)
        await make_branch(stores, thread_id, 2, parent=-1)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert await read(stores, thread) == ["q2", "a2"]
        assert texts(await stores.store.recent_messages(stores.ada, thread, token_budget=1_000)) == ["q2", "a2"]

    async def test_a_selected_branch_is_the_one_that_goes_on(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in (1, 2):
            await stores.turn(thread_id, number)
        await make_branch(stores, thread_id, 3, parent=1)
        lease = await stores.lease(thread_id)
        lease = replace(lease, thread=lease.thread.continue_from(3))
        window, state = HistoryWindow("assistant", first_ordinal=2), ConversationState("maker")
        await stores.store.select(lease, last_seq=lease.first_seq, conversation=state, windows=(window,))

        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert await read(stores, thread) == ["q1", "a1", "q2", "a2"]
        assert (thread.conversation, thread.windows, thread.last_seq) == (state, (window,), lease.first_seq)
        assert (thread.run, thread.lease, thread.next_ordinal) == (None, None, 6)
        await stores.turn(thread_id, 4)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert await read(stores, thread) == ["q1", "a1", "q2", "a2", "q4", "a4"]
        assert thread.segments == (Segment(4, 1), Segment(6, 3))

    async def test_selecting_is_for_who_holds_the_lease(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.turn(thread_id, 1)
        lost = await stores.lease(thread_id)
        stores.clock.advance(60)
        held = await stores.lease(thread_id)
        state = ConversationState("assistant")
        with pytest.raises(LeaseLost):
            await stores.store.select(lost, last_seq=lost.first_seq, conversation=state, windows=())
        await stores.store.select(held, last_seq=held.first_seq, conversation=state, windows=())
        await stores.store.select(held, last_seq=held.first_seq, conversation=state, windows=())  # its own retry

"""Handoffs: what every store does about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import InvalidRequest, LeaseLost
from baton.domain.handoffs.handoff import ContextMode, HandoffOutcome, HandoffPlace, HandoffRequest
from baton.ports.threads.leases import Lease
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id


class HandoffContract:
    """Records of handoffs."""

    async def test_a_handoff_comes_back_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one = replace(
            handoff(stores, lease),
            context_mode=ContextMode.FORKED,
            recent_messages=("m1", "m2 ü😀"),
            preserve_state=False,
            return_expected=False,
            show_tool_calls=True,
            workflow_id="w1",
            remote_task_id="task-1",
            child_thread_id=new_thread_id(),
        )
        await stores.handoffs.put(lease, one)
        assert await stores.handoffs.get(stores.ada, lease.thread_id, one.place) == one

    async def test_a_large_summary_is_kept_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        large = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(250_000))
        one = replace(handoff(stores, lease), context_summary=large)
        await stores.handoffs.put(lease, one)
        assert await stores.handoffs.get(stores.ada, lease.thread_id, one.place) == one

    async def test_a_handoff_that_ended_in_a_later_run_is_still_the_same_one(self, stores: Stores) -> None:
        first = await stores.acquire(new_thread_id())
        began = handoff(stores, first)
        await stores.handoffs.put(first, began)
        await stores.commit(first, make_question(first), make_answer(first))
        stores.clock.advance(5)
        later = await stores.acquire(first.thread_id, message_id="m2", run_id="r2")
        end = began.end(HandoffOutcome.RETURNED, stores.clock.now() + timedelta(microseconds=7))
        await stores.handoffs.put(later, end)
        [stored], more = await stores.handoffs.of_thread(stores.ada, first.thread_id, limit=5, cursor=None)
        assert more is None
        assert stored == replace(end, ended_at=stores.clock.now())
        assert await stores.handoffs.get(stores.ada, first.thread_id, began.place) == stored

    async def test_handoffs_of_one_run_are_distinguished_by_their_number(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        refused = handoff(stores, lease).end(HandoffOutcome.REFUSED, stores.clock.now())
        lasting = replace(handoff(stores, lease), number=1, context_summary="Another.")
        for one in (refused, lasting):
            await stores.handoffs.put(lease, one)
        for one in (refused, lasting):
            assert await stores.handoffs.get(stores.ada, lease.thread_id, one.place) == one
        nowhere = HandoffPlace(refused.ordinal, 2, 0)
        assert await stores.handoffs.get(stores.ada, lease.thread_id, nowhere) is None

    async def test_another_attempt_replaces_it_and_a_zombie_does_not(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        first = handoff(stores, zombie)
        await stores.handoffs.put(zombie, first)
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        again = replace(first, context_summary="Said otherwise.")
        await stores.handoffs.put(lease, again)
        with pytest.raises(LeaseLost):
            await stores.handoffs.put(zombie, first)
        assert await stores.handoffs.of_thread(stores.ada, lease.thread_id, limit=5, cursor=None) == ([again], None)

    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
    async def test_pages_go_back_in_time(self, stores: Stores, limit: int) -> None:
        thread_id, instance = new_thread_id(), list[HandoffRequest]()
        for number in range(1, 4):
            stores.clock.advance(1)
            lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
            for index in range(2 if number == 2 else 1):
                one = replace(handoff(stores, lease), number=index).end(HandoffOutcome.EXITED, stores.clock.now())
                await stores.handoffs.put(lease, one)
                instance.append(one)
            await stores.commit(lease, make_question(lease), make_answer(lease))
        page_items, cursor = list[HandoffRequest](), None
        while True:
            page, cursor = await stores.handoffs.of_thread(stores.ada, thread_id, limit=limit, cursor=cursor)
            page_items += page
            if cursor is None:
                break
        assert page_items == instance[::-1]

    async def test_a_thread_without_handoffs_has_an_empty_page(self, stores: Stores) -> None:
        assert await stores.handoffs.of_thread(stores.ada, new_thread_id(), limit=5, cursor=None) == ([], None)
        assert await stores.handoffs.get(stores.ada, new_thread_id(), HandoffPlace(0, 0, 0)) is None

    @pytest.mark.parametrize("cursor", ["garbage", "e30"])
    async def test_a_made_up_cursor_is_refused(self, stores: Stores, cursor: str) -> None:
        with pytest.raises(InvalidRequest):
            await stores.handoffs.of_thread(stores.ada, new_thread_id(), limit=5, cursor=cursor)

    async def test_every_tenant_has_handoffs_of_its_own(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.handoffs.put(lease, handoff(stores, lease))
        assert await stores.handoffs.of_thread(stores.stranger, lease.thread_id, limit=5, cursor=None) == ([], None)
        assert await stores.handoffs.get(stores.stranger, lease.thread_id, HandoffPlace(0, 0, 0)) is None


def handoff(stores: Stores, lease: Lease) -> HandoffRequest:
    """A handoff that the lease's run decides on now."""
    return HandoffRequest(
        thread_id=lease.thread_id,
        tenant_id=lease.scope.tenant_id,
        user_id=lease.scope.user_id,
        ordinal=lease.thread.next_ordinal,
        source_agent_id="assistant",
        target_agent_id="skill-creation",
        context_mode=ContextMode.SUMMARY,
        context_summary="Ada wants a skill.",
        recent_messages=(),
        handoff_reason="skill_creation_workflow",
        started_at=stores.clock.now(),
    )

"""Handoffs: what every store does about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import InvalidRequest, LeaseLost
from baton.domain.handoff import ContextMode, HandoffOutcome, HandoffPlace, HandoffRequest
from baton.ports.thread_store import Lease
from tests.contracts.house import House, answered, new_thread_id, said


class HandoffContract:
    """Records of handoffs."""

    async def test_a_handoff_comes_back_whole(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        one = replace(
            handoff(house, lease),
            context_mode=ContextMode.FORKED,
            recent_messages=("m1", "m2 ü😀"),
            preserve_state=False,
            return_expected=False,
            show_tool_calls=True,
            workflow_id="w1",
            remote_task_id="task-1",
            child_thread_id=new_thread_id(),
        )
        await house.handoffs.put(lease, one)
        assert await house.handoffs.get(house.ada, lease.thread_id, one.place) == one

    async def test_a_large_summary_is_kept_whole(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        large = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(250_000))
        one = replace(handoff(house, lease), context_summary=large)
        await house.handoffs.put(lease, one)
        assert await house.handoffs.get(house.ada, lease.thread_id, one.place) == one

    async def test_a_handoff_that_ended_in_a_later_run_is_still_the_same_one(self, house: House) -> None:
        first = await house.acquire(new_thread_id())
        began = handoff(house, first)
        await house.handoffs.put(first, began)
        await house.commit(first, said(first), answered(first))
        house.clock.advance(5)
        later = await house.acquire(first.thread_id, message_id="m2", run_id="r2")
        ended = began.ended(HandoffOutcome.RETURNED, house.clock.now() + timedelta(microseconds=7))
        await house.handoffs.put(later, ended)
        [kept], more = await house.handoffs.of_thread(house.ada, first.thread_id, limit=5, cursor=None)
        assert more is None
        assert kept == replace(ended, ended_at=house.clock.now())
        assert await house.handoffs.get(house.ada, first.thread_id, began.place) == kept

    async def test_handoffs_of_one_run_are_told_apart_by_their_number(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        refused = handoff(house, lease).ended(HandoffOutcome.REFUSED, house.clock.now())
        lasting = replace(handoff(house, lease), number=1, context_summary="Another.")
        for one in (refused, lasting):
            await house.handoffs.put(lease, one)
        for one in (refused, lasting):
            assert await house.handoffs.get(house.ada, lease.thread_id, one.place) == one
        nowhere = HandoffPlace(refused.ordinal, 2, 0)
        assert await house.handoffs.get(house.ada, lease.thread_id, nowhere) is None

    async def test_another_attempt_replaces_it_and_a_zombie_does_not(self, house: House) -> None:
        zombie = await house.acquire(new_thread_id())
        first = handoff(house, zombie)
        await house.handoffs.put(zombie, first)
        house.clock.advance(60)
        lease = await house.acquire(zombie.thread_id)
        again = replace(first, context_summary="Said otherwise.")
        await house.handoffs.put(lease, again)
        with pytest.raises(LeaseLost):
            await house.handoffs.put(zombie, first)
        assert await house.handoffs.of_thread(house.ada, lease.thread_id, limit=5, cursor=None) == ([again], None)

    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
    async def test_pages_go_back_in_time(self, house: House, limit: int) -> None:
        thread_id, made = new_thread_id(), list[HandoffRequest]()
        for number in range(1, 4):
            house.clock.advance(1)
            lease = await house.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
            for index in range(2 if number == 2 else 1):
                one = replace(handoff(house, lease), number=index).ended(HandoffOutcome.EXITED, house.clock.now())
                await house.handoffs.put(lease, one)
                made.append(one)
            await house.commit(lease, said(lease), answered(lease))
        found, cursor = list[HandoffRequest](), None
        while True:
            page, cursor = await house.handoffs.of_thread(house.ada, thread_id, limit=limit, cursor=cursor)
            found += page
            if cursor is None:
                break
        assert found == made[::-1]

    async def test_a_thread_without_handoffs_has_an_empty_page(self, house: House) -> None:
        assert await house.handoffs.of_thread(house.ada, new_thread_id(), limit=5, cursor=None) == ([], None)
        assert await house.handoffs.get(house.ada, new_thread_id(), HandoffPlace(0, 0, 0)) is None

    @pytest.mark.parametrize("cursor", ["garbage", "e30"])
    async def test_a_made_up_cursor_is_refused(self, house: House, cursor: str) -> None:
        with pytest.raises(InvalidRequest):
            await house.handoffs.of_thread(house.ada, new_thread_id(), limit=5, cursor=cursor)

    async def test_every_tenant_has_handoffs_of_its_own(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        await house.handoffs.put(lease, handoff(house, lease))
        assert await house.handoffs.of_thread(house.stranger, lease.thread_id, limit=5, cursor=None) == ([], None)
        assert await house.handoffs.get(house.stranger, lease.thread_id, HandoffPlace(0, 0, 0)) is None


def handoff(house: House, lease: Lease) -> HandoffRequest:
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
        started_at=house.clock.now(),
    )

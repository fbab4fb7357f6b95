"""Records of captures: what every store does about them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date

from baton.domain.memory.capture import Capture, CaptureRef, CaptureStatus, CaptureStep
from tests.contracts.procedures import DRAFT
from tests.contracts.stores import Stores, new_thread_id

DAY = date(2026, 3, 14)


def capture(stores: Stores, thread_id: str) -> Capture:
    """A capture whose first step was carried out."""
    ref = CaptureRef(thread_id, "assistant", 0, 6)
    return Capture(ref, done=CaptureStep.DETECT, name="Alert a team", updated_at=stores.clock.now())


class CaptureContract:
    """The progress of captures, and their limits."""

    async def test_a_record_comes_back_whole(self, stores: Stores) -> None:
        started = capture(stores, new_thread_id())
        assert await stores.capture_records.get(stores.ada, started.ref) is None
        assert await stores.capture_records.save(stores.ada, started) == started
        drafted = replace(started, done=CaptureStep.DRAFT, draft=DRAFT)
        assert await stores.capture_records.save(stores.ada, drafted) == drafted
        assert await stores.capture_records.get(stores.ada, started.ref) == drafted
        assert await stores.capture_records.get(stores.stranger, started.ref) is None
        assert await stores.capture_records.get(stores.ada, replace(started.ref, end_ordinal=7)) is None

    async def test_the_first_result_of_a_step_counts(self, stores: Stores) -> None:
        started = capture(stores, new_thread_id())
        stored = await asyncio.gather(
            *(stores.capture_records.save(stores.ada, replace(started, name=f"Name {number}")) for number in range(3))
        )
        assert len({item.name for item in stored}) == 1
        assert await stores.capture_records.get(stores.ada, started.ref) == stored[0]

    async def test_a_late_result_of_an_earlier_step_changes_nothing(self, stores: Stores) -> None:
        started = capture(stores, new_thread_id())
        drafted = replace(started, done=CaptureStep.DRAFT, draft=DRAFT)
        await stores.capture_records.save(stores.ada, drafted)
        assert await stores.capture_records.save(stores.ada, replace(started, name="Late")) == drafted

    async def test_a_settled_record_stays_as_it_is(self, stores: Stores) -> None:
        started = capture(stores, new_thread_id())
        end = replace(started, status=CaptureStatus.NO_TASK, reason="none")
        await stores.capture_records.save(stores.ada, end)
        for late in (replace(started, done=CaptureStep.STORE), replace(started, status=CaptureStatus.FAILED)):
            assert await stores.capture_records.save(stores.ada, late) == end

    async def test_a_failed_record_is_begun_again(self, stores: Stores) -> None:
        started = capture(stores, new_thread_id())
        await stores.capture_records.save(stores.ada, replace(started, done=CaptureStep.COMPARE))
        failed = replace(started, status=CaptureStatus.FAILED)
        assert await stores.capture_records.save(stores.ada, failed) == failed
        assert await stores.capture_records.save(stores.ada, started) == started

    async def test_a_day_has_an_allowance_for_each_agent(self, stores: Stores) -> None:
        async def take(agent_id: str = "assistant", day: date = DAY, *, limit: int = 2) -> bool:
            return await stores.capture_records.take_allowance(stores.ada, agent_id, day, limit)

        assert sorted([await item for item in (take(), take(), take())]) == [False, True, True]
        assert await take("librarian")
        assert await take(day=date(2026, 3, 15))
        assert await stores.capture_records.take_allowance(stores.stranger, "assistant", DAY, 2)
        assert await take(limit=3)
        assert not await take("research", limit=0)

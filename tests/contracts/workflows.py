"""Guided workflows: what every store does about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.workflow import Workflow, WorkflowStatus
from baton.domain.workflow_definition import Data
from baton.ports.thread_store import Lease
from baton.ports.workflows import WorkflowElsewhere
from tests.contracts.house import House, new_thread_id


class WorkflowContract:
    """Records of workflows."""

    async def test_a_workflow_comes_back_whole(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        data: Data = {"ASK": {"name": "Zürich 😀", "days": [1, 2.5, None, True, {}], "": ""}, "BUILD": {}}
        one = replace(workflow(house, lease), data=data)
        await house.workflows.put(lease, one)
        assert await house.workflows.find(house.ada, "w1") == one
        assert await house.workflows.unfinished(house.ada) == [(one, False)]

    async def test_much_data_is_kept_whole(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(21_000))
        one = replace(workflow(house, lease), data={"ASK": {"name": text}})
        await house.workflows.put(lease, one)
        assert await house.workflows.find(house.ada, "w1") == one

    async def test_times_are_kept_to_the_millisecond(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        one = workflow(house, lease)
        await house.workflows.put(lease, replace(one, updated_at=one.updated_at + timedelta(microseconds=7)))
        assert await house.workflows.find(house.ada, "w1") == one

    async def test_a_workflow_is_replaced_as_it_goes_on(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        await house.workflows.put(lease, workflow(house, lease))
        further = replace(workflow(house, lease), state="BUILD", status=WorkflowStatus.SAVED)
        for _ in range(2):
            await house.workflows.put(lease, further)
        assert await house.workflows.find(house.ada, "w1") == further
        assert await house.workflows.unfinished(house.ada) == [(further, False)]

    async def test_a_zombie_replaces_nothing_not_even_after_the_end(self, house: House) -> None:
        zombie = await house.acquire(new_thread_id())
        await house.workflows.put(zombie, workflow(house, zombie))
        house.clock.advance(60)
        lease = await house.acquire(zombie.thread_id)
        done = replace(workflow(house, lease), state="DONE", status=WorkflowStatus.COMPLETED)
        await house.workflows.put(lease, done)
        with pytest.raises(LeaseLost):
            await house.workflows.put(zombie, workflow(house, zombie))
        assert await house.workflows.unfinished(house.ada) == []
        assert await house.workflows.find(house.ada, "w1") == done

    async def test_a_workflow_that_is_continued_elsewhere_is_let_go_of_here(self, house: House) -> None:
        first, second = [await house.acquire(new_thread_id()) for _ in range(2)]
        left = replace(workflow(house, first), status=WorkflowStatus.SAVED)
        await house.workflows.put(first, left)
        moved = replace(left, thread_id=second.thread_id, status=WorkflowStatus.ACTIVE)
        with pytest.raises(WorkflowElsewhere):
            await house.workflows.put(second, moved)
        for _ in range(2):
            await house.workflows.put(second, moved, moved_from=left)
        with pytest.raises(WorkflowElsewhere) as elsewhere:
            await house.workflows.put(first, replace(left, state="BUILD"))
        assert elsewhere.value.thread_id == second.thread_id
        assert await house.workflows.find(house.ada, "w1") == moved
        assert await house.workflows.unfinished(house.ada) == [(moved, False)]

    async def test_a_workflow_comes_back_to_the_thread_it_was_in_before(self, house: House) -> None:
        first, second = [await house.acquire(new_thread_id()) for _ in range(2)]
        left = workflow(house, first)
        moved = replace(left, thread_id=second.thread_id)
        await house.workflows.put(first, left)
        await house.workflows.put(second, moved, moved_from=left)
        await house.workflows.put(first, left, moved_from=moved)
        with pytest.raises(WorkflowElsewhere):
            await house.workflows.put(second, moved)
        assert await house.workflows.find(house.ada, "w1") == left

    async def test_only_one_of_two_threads_takes_a_workflow_over(self, house: House) -> None:
        first, second, third = [await house.acquire(new_thread_id()) for _ in range(3)]
        left = workflow(house, first)
        await house.workflows.put(first, left)
        moved = replace(left, thread_id=second.thread_id)
        await house.workflows.put(second, moved, moved_from=left)
        with pytest.raises(WorkflowElsewhere) as elsewhere:
            await house.workflows.put(third, replace(left, thread_id=third.thread_id), moved_from=left)
        assert elsewhere.value.thread_id == second.thread_id
        assert await house.workflows.find(house.ada, "w1") == moved

    async def test_a_workflow_that_changed_since_it_was_found_is_not_taken_over(self, house: House) -> None:
        first, second = [await house.acquire(new_thread_id()) for _ in range(2)]
        found = workflow(house, first)
        await house.workflows.put(first, found)
        house.clock.advance(1)
        done = replace(found, status=WorkflowStatus.COMPLETED, updated_at=house.clock.now())
        await house.workflows.put(first, done)
        with pytest.raises(WorkflowElsewhere):
            await house.workflows.put(second, replace(found, thread_id=second.thread_id), moved_from=found)
        assert await house.workflows.find(house.ada, "w1") == done

    async def test_an_offer_is_remembered_until_the_workflow_is_written_again(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        one = workflow(house, lease)
        await house.workflows.put(lease, one)
        for _ in range(2):
            await house.workflows.mark_offered(house.ada, "w1")
            assert await house.workflows.unfinished(house.ada) == [(one, True)]
        assert await house.workflows.find(house.ada, "w1") == one
        await house.workflows.put(lease, replace(one, state="BUILD"))
        assert await house.workflows.unfinished(house.ada) == [(replace(one, state="BUILD"), False)]

    async def test_an_offer_of_one_workflow_is_none_of_another(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        one, other = workflow(house, lease), replace(workflow(house, lease), id="w2")
        for each in (one, other):
            await house.workflows.put(lease, each)
        await house.workflows.mark_offered(house.ada, "w1")
        assert await house.workflows.unfinished(house.ada) == [(other, False), (one, True)]

    async def test_offering_one_that_is_unknown_does_nothing(self, house: House) -> None:
        await house.workflows.mark_offered(house.ada, "w1")
        assert await house.workflows.find(house.ada, "w1") is None
        assert await house.workflows.unfinished(house.ada) == []
        lease = await house.acquire(new_thread_id())
        await house.workflows.put(lease, workflow(house, lease))
        [(_, is_offered)] = await house.workflows.unfinished(house.ada)
        assert not is_offered

    async def test_nobody_marks_what_another_user_was_offered(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        await house.workflows.put(lease, workflow(house, lease))
        for other in (house.bob, house.stranger, house.auditor):
            await house.workflows.mark_offered(other, "w1")
            assert await house.workflows.unfinished(other) == []
        [(_, is_offered)] = await house.workflows.unfinished(house.ada)
        assert not is_offered

    async def test_one_of_another_thread_cannot_be_written(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        with pytest.raises(ValueError, match="its own thread"):
            await house.workflows.put(lease, replace(workflow(house, lease), thread_id=new_thread_id()))

    async def test_the_unfinished_ones_are_listed_with_the_one_changed_last_first(self, house: House) -> None:
        made: list[Workflow] = []
        for number, status in enumerate(WorkflowStatus):
            lease = await house.acquire(new_thread_id())
            one = replace(workflow(house, lease), id=f"w{number}", status=status)
            await house.workflows.put(lease, one)
            made.append(one)
            house.clock.advance(1)
        assert [each.workflow for each in await house.workflows.unfinished(house.ada)] == [made[1], made[0]]

    async def test_an_expired_one_is_listed_no_more(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        one = workflow(house, lease)
        await house.workflows.put(lease, one)
        house.clock.advance((one.expires_at - house.clock.now()).total_seconds())
        assert await house.workflows.unfinished(house.ada) == []

    async def test_every_user_and_tenant_has_workflows_of_its_own(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        await house.workflows.put(lease, workflow(house, lease))
        for other in (house.bob, house.stranger):
            assert await house.workflows.find(other, "w1") is None
            assert await house.workflows.unfinished(other) == []


def workflow(house: House, lease: Lease) -> Workflow:
    """A workflow that is active in the lease's thread."""
    return Workflow(
        id="w1",
        agent_id="skill-creation",
        name="your Slack Alert skill",
        state="ASK",
        data={"ASK": {"name": "Slack Alert"}},
        thread_id=lease.thread_id,
        version="v1",
        updated_at=house.clock.now(),
        expires_at=house.clock.now() + timedelta(days=30),
    )

"""Guided workflows: what every store does about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import Forbidden, LeaseLost
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.handoffs.workflow_definition import Data
from baton.ports.threads.handoffs import CompletedQuery, CompletedWorkflow, WorkflowElsewhere
from baton.ports.threads.leases import Lease
from tests.contracts.stores import Stores, new_thread_id


class WorkflowContract:
    """Records of workflows."""

    async def test_a_workflow_comes_back_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        data: Data = {"ASK": {"name": "Zürich 😀", "days": [1, 2.5, None, True, {}], "": ""}, "BUILD": {}}
        one = replace(workflow(stores, lease), data=data)
        await stores.workflows.put(lease, one)
        assert await stores.workflows.find(stores.ada, "w1") == one
        assert await stores.workflows.list_unfinished(stores.ada) == [(one, False)]

    async def test_much_data_is_kept_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(21_000))
        one = replace(workflow(stores, lease), data={"ASK": {"name": text}})
        await stores.workflows.put(lease, one)
        assert await stores.workflows.find(stores.ada, "w1") == one

    async def test_times_are_kept_to_the_millisecond(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one = workflow(stores, lease)
        await stores.workflows.put(lease, replace(one, updated_at=one.updated_at + timedelta(microseconds=7)))
        assert await stores.workflows.find(stores.ada, "w1") == one

    async def test_a_workflow_is_replaced_as_it_goes_on(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.workflows.put(lease, workflow(stores, lease))
        further = replace(workflow(stores, lease), state="BUILD", status=WorkflowStatus.SAVED)
        for _ in range(2):
            await stores.workflows.put(lease, further)
        assert await stores.workflows.find(stores.ada, "w1") == further
        assert await stores.workflows.list_unfinished(stores.ada) == [(further, False)]

    async def test_a_zombie_replaces_nothing_not_even_after_the_end(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        await stores.workflows.put(zombie, workflow(stores, zombie))
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        done = replace(workflow(stores, lease), state="DONE", status=WorkflowStatus.COMPLETED)
        await stores.workflows.put(lease, done)
        with pytest.raises(LeaseLost):
            await stores.workflows.put(zombie, workflow(stores, zombie))
        assert await stores.workflows.list_unfinished(stores.ada) == []
        assert await stores.workflows.find(stores.ada, "w1") == done

    async def test_a_workflow_that_is_continued_elsewhere_is_let_go_of_here(self, stores: Stores) -> None:
        first, second = [await stores.acquire(new_thread_id()) for _ in range(2)]
        saved = replace(workflow(stores, first), status=WorkflowStatus.SAVED)
        await stores.workflows.put(first, saved)
        moved = replace(saved, thread_id=second.thread_id, status=WorkflowStatus.ACTIVE)
        with pytest.raises(WorkflowElsewhere):
            await stores.workflows.put(second, moved)
        for _ in range(2):
            await stores.workflows.put(second, moved, moved_from=saved)
        with pytest.raises(WorkflowElsewhere) as elsewhere:
            await stores.workflows.put(first, replace(saved, state="BUILD"))
        assert elsewhere.value.thread_id == second.thread_id
        assert await stores.workflows.find(stores.ada, "w1") == moved
        assert await stores.workflows.list_unfinished(stores.ada) == [(moved, False)]

    async def test_a_workflow_comes_back_to_the_thread_it_was_in_before(self, stores: Stores) -> None:
        first, second = [await stores.acquire(new_thread_id()) for _ in range(2)]
        saved = workflow(stores, first)
        moved = replace(saved, thread_id=second.thread_id)
        await stores.workflows.put(first, saved)
        await stores.workflows.put(second, moved, moved_from=saved)
        await stores.workflows.put(first, saved, moved_from=moved)
        with pytest.raises(WorkflowElsewhere):
            await stores.workflows.put(second, moved)
        assert await stores.workflows.find(stores.ada, "w1") == saved

    async def test_only_one_of_two_threads_takes_a_workflow_over(self, stores: Stores) -> None:
        first, second, third = [await stores.acquire(new_thread_id()) for _ in range(3)]
        saved = workflow(stores, first)
        await stores.workflows.put(first, saved)
        moved = replace(saved, thread_id=second.thread_id)
        await stores.workflows.put(second, moved, moved_from=saved)
        with pytest.raises(WorkflowElsewhere) as elsewhere:
            await stores.workflows.put(third, replace(saved, thread_id=third.thread_id), moved_from=saved)
        assert elsewhere.value.thread_id == second.thread_id
        assert await stores.workflows.find(stores.ada, "w1") == moved

    async def test_a_workflow_that_changed_since_it_was_found_is_not_taken_over(self, stores: Stores) -> None:
        first, second = [await stores.acquire(new_thread_id()) for _ in range(2)]
        result = workflow(stores, first)
        await stores.workflows.put(first, result)
        stores.clock.advance(1)
        done = replace(result, status=WorkflowStatus.COMPLETED, updated_at=stores.clock.now())
        await stores.workflows.put(first, done)
        with pytest.raises(WorkflowElsewhere):
            await stores.workflows.put(second, replace(result, thread_id=second.thread_id), moved_from=result)
        assert await stores.workflows.find(stores.ada, "w1") == done

    async def test_an_offer_is_remembered_until_the_workflow_is_written_again(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one = workflow(stores, lease)
        await stores.workflows.put(lease, one)
        for _ in range(2):
            await stores.workflows.mark_offered(stores.ada, "w1")
            assert await stores.workflows.list_unfinished(stores.ada) == [(one, True)]
        assert await stores.workflows.find(stores.ada, "w1") == one
        await stores.workflows.put(lease, replace(one, state="BUILD"))
        assert await stores.workflows.list_unfinished(stores.ada) == [(replace(one, state="BUILD"), False)]

    async def test_an_offer_of_one_workflow_is_none_of_another(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one, other = workflow(stores, lease), replace(workflow(stores, lease), id="w2")
        for item in (one, other):
            await stores.workflows.put(lease, item)
        await stores.workflows.mark_offered(stores.ada, "w1")
        assert await stores.workflows.list_unfinished(stores.ada) == [(other, False), (one, True)]

    async def test_offering_one_that_is_unknown_does_nothing(self, stores: Stores) -> None:
        await stores.workflows.mark_offered(stores.ada, "w1")
        assert await stores.workflows.find(stores.ada, "w1") is None
        assert await stores.workflows.list_unfinished(stores.ada) == []
        lease = await stores.acquire(new_thread_id())
        await stores.workflows.put(lease, workflow(stores, lease))
        [(_, is_offered)] = await stores.workflows.list_unfinished(stores.ada)
        assert not is_offered

    async def test_nobody_marks_what_another_user_was_offered(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.workflows.put(lease, workflow(stores, lease))
        for other in (stores.bob, stores.stranger, stores.auditor):
            await stores.workflows.mark_offered(other, "w1")
            assert await stores.workflows.list_unfinished(other) == []
        [(_, is_offered)] = await stores.workflows.list_unfinished(stores.ada)
        assert not is_offered

    async def test_one_of_another_thread_cannot_be_written(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        with pytest.raises(ValueError, match="holder of the thread's lease"):
            await stores.workflows.put(lease, replace(workflow(stores, lease), thread_id=new_thread_id()))

    async def test_the_unfinished_ones_are_listed_with_the_one_changed_last_first(self, stores: Stores) -> None:
        workflows: list[Workflow] = []
        for number, status in enumerate(WorkflowStatus):
            lease = await stores.acquire(new_thread_id())
            one = replace(workflow(stores, lease), id=f"w{number}", status=status)
            await stores.workflows.put(lease, one)
            workflows.append(one)
            stores.clock.advance(1)
        assert [item.workflow for item in await stores.workflows.list_unfinished(stores.ada)] == [
            workflows[1],
            workflows[0],
        ]

    async def test_an_expired_one_is_listed_no_more(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one = workflow(stores, lease)
        await stores.workflows.put(lease, one)
        stores.clock.advance((one.expires_at - stores.clock.now()).total_seconds())
        assert await stores.workflows.list_unfinished(stores.ada) == []

    async def test_completed_ones_are_listed_with_their_data_the_newest_first(self, stores: Stores) -> None:
        done = [await complete(stores, f"w{number}", agent_id=f"agent-{number % 2}") for number in range(5)]
        own = CompletedQuery(stores.ada.user_id)
        listed: list[CompletedWorkflow] = []
        cursor: str | None = None
        while True:
            page, cursor = await stores.workflows.list_completed(stores.ada, own, limit=2, cursor=cursor)
            listed += page
            if cursor is None:
                break
        assert listed == [CompletedWorkflow(one, stores.ada.user_id) for one in reversed(done)]
        times = replace(own, since=done[1].updated_at, until=done[3].updated_at)
        for query, expected in (
            (replace(own, agent_id="agent-0"), [done[4], done[2], done[0]]),
            (replace(own, state="GONE"), []),
            (times, [done[3], done[2], done[1]]),
        ):
            page, _ = await stores.workflows.list_completed(stores.ada, query, limit=10, cursor=None)
            assert [record.workflow for record in page] == expected

    async def test_completed_ones_of_others_are_for_readers_of_the_tenant(self, stores: Stores) -> None:
        done = await complete(stores, "w1")
        everybody, of_ada = CompletedQuery(), CompletedQuery(stores.ada.user_id)
        for query in (everybody, of_ada):
            page, _ = await stores.workflows.list_completed(stores.auditor, query, limit=10, cursor=None)
            assert [(record.workflow, record.user_id) for record in page] == [(done, stores.ada.user_id)]
            with pytest.raises(Forbidden):
                await stores.workflows.list_completed(stores.bob, query, limit=10, cursor=None)
        for other in (stores.bob, stores.stranger):
            own = CompletedQuery(other.user_id)
            assert await stores.workflows.list_completed(other, own, limit=10, cursor=None) == ([], None)

    async def test_a_completion_is_recorded_once_and_not_by_a_zombie(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        await stores.workflows.put(zombie, workflow(stores, zombie))
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        done = replace(workflow(stores, lease), state="DONE", status=WorkflowStatus.COMPLETED, result="Number 1.")
        for _ in range(2):
            await stores.workflows.put(lease, done)
        with pytest.raises(LeaseLost):
            await stores.workflows.put(zombie, replace(done, thread_id=zombie.thread_id, result="Number 2."))
        page, _ = await stores.workflows.list_completed(
            stores.ada, CompletedQuery(stores.ada.user_id), limit=5, cursor=None
        )
        assert [record.workflow for record in page] == [done]

    async def test_one_that_went_on_elsewhere_is_not_completed_here(self, stores: Stores) -> None:
        first, second = [await stores.acquire(new_thread_id()) for _ in range(2)]
        saved = workflow(stores, first)
        await stores.workflows.put(first, saved)
        await stores.workflows.put(second, replace(saved, thread_id=second.thread_id), moved_from=saved)
        with pytest.raises(WorkflowElsewhere) as elsewhere:
            await stores.workflows.put(first, replace(saved, state="DONE", status=WorkflowStatus.COMPLETED))
        assert elsewhere.value.thread_id == second.thread_id
        own = CompletedQuery(stores.ada.user_id)
        assert await stores.workflows.list_completed(stores.ada, own, limit=5, cursor=None) == ([], None)

    async def test_every_user_and_tenant_has_workflows_of_its_own(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.workflows.put(lease, workflow(stores, lease))
        for other in (stores.bob, stores.stranger):
            assert await stores.workflows.find(other, "w1") is None
            assert await stores.workflows.list_unfinished(other) == []


async def complete(stores: Stores, workflow_id: str, *, agent_id: str = "skill-creation") -> Workflow:
    """Complete a workflow of ada's, a second after the previous one."""
    lease = await stores.acquire(new_thread_id())
    stores.clock.advance(1)
    done = replace(
        workflow(stores, lease),
        id=workflow_id,
        agent_id=agent_id,
        state="DONE",
        status=WorkflowStatus.COMPLETED,
        updated_at=stores.clock.now(),
        result="Number 1.",
    )
    await stores.workflows.put(lease, done)
    return done


def workflow(stores: Stores, lease: Lease) -> Workflow:
    """A workflow that is active in the lease's thread."""
    return Workflow(
        id="w1",
        agent_id="skill-creation",
        name="your Slack Alert skill",
        state="ASK",
        data={"ASK": {"name": "Slack Alert"}},
        thread_id=lease.thread_id,
        version="v1",
        updated_at=stores.clock.now(),
        expires_at=stores.clock.now() + timedelta(days=30),
    )

"""Who has the floor of a thread, and what a run does to it: what every thread store remembers (H2, W1, W2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.floor import Floor, FloorChange
from baton.domain.handoff import ContextMode, HandoffOutcome, HandoffPlace
from baton.domain.thread import ThreadStatus
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow, WorkflowStatus
from baton.ports.thread_store import Commit, Lease
from tests.contracts.endings import session
from tests.contracts.handoffs import handoff
from tests.contracts.house import House, answered, new_thread_id, said
from tests.contracts.workflows import workflow


class FloorContract:
    """The floor of a thread."""

    async def test_a_new_thread_is_its_main_agents(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        assert lease.thread.floor == Floor("assistant")
        assert await kept(house, lease) == Floor("assistant")

    async def test_a_commit_gives_the_floor_to_another_agent(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        floor = handed_over(house, lease)
        await commit(house, lease, floor)
        thread = await house.store.get_thread(house.ada, lease.thread_id)
        assert (thread.floor, thread.active_agent_id, thread.agent_id) == (floor, "skill-creation", "assistant")
        assert thread.is_handed_over
        [listed], _ = await house.store.list_threads(house.ada, limit=5, cursor=None)
        assert listed == thread

    async def test_whoever_takes_the_lease_finds_the_floor(self, house: House) -> None:
        floor = await handed_over_thread(house)
        assert floor.workflow is not None
        lease = await house.acquire(floor.workflow.thread_id, message_id="m2", run_id="r2")
        assert lease.thread.floor == floor

    async def test_a_commit_that_says_nothing_of_the_floor_leaves_it(self, house: House) -> None:
        floor = await handed_over_thread(house)
        assert floor.workflow is not None
        lease = await house.acquire(floor.workflow.thread_id, message_id="m2", run_id="r2")
        await commit(house, lease, None)
        assert await kept(house, lease) == floor

    async def test_a_later_commit_replaces_the_floor_whole(self, house: House) -> None:
        before = await handed_over_thread(house)
        assert before.workflow is not None
        lease = await house.acquire(before.workflow.thread_id, message_id="m2", run_id="r2")
        after = Floor("helper", HandoffPlace(2, 1, 1773480000000), taught_at=house.clock.now())
        await commit(house, lease, after)
        assert await kept(house, lease) == after

    async def test_a_plain_floor_leaves_nothing_of_the_one_before(self, house: House) -> None:
        before = await handed_over_thread(house)
        assert before.workflow is not None
        lease = await house.acquire(before.workflow.thread_id, message_id="m2", run_id="r2")
        await commit(house, lease, Floor("assistant"))
        assert await kept(house, lease) == Floor("assistant")
        later = await house.acquire(lease.thread_id, message_id="m3", run_id="r3")
        assert later.thread.floor == Floor("assistant")

    async def test_a_commit_that_is_repeated_changes_no_floor_again(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        floor = handed_over(house, lease)
        for _ in range(2):
            await commit(house, lease, floor)
        assert await kept(house, lease) == floor

    async def test_a_zombie_gives_the_floor_to_nobody(self, house: House) -> None:
        zombie = await house.acquire(new_thread_id())
        house.clock.advance(60)
        lease = await house.acquire(zombie.thread_id)
        with pytest.raises(LeaseLost):
            await commit(house, zombie, handed_over(house, zombie))
        assert await kept(house, lease) == Floor("assistant")

    async def test_closing_gives_the_floor_back_and_keeps_what_can_be_continued(self, house: House) -> None:
        before = await handed_over_thread(house)
        assert before.workflow is not None
        left = replace(before.workflow, status=WorkflowStatus.SAVED)
        lease = await house.lease(before.workflow.thread_id)
        for _ in range(2):
            await house.store.close(
                lease, last_seq=lease.first_seq, ended=session(house, lease), resumable=(left, *before.resumable)
            )
        thread = await house.store.get_thread(house.ada, lease.thread_id)
        assert thread.floor == Floor("assistant", resumable=(left, *before.resumable))
        assert (thread.status, thread.is_handed_over) == (ThreadStatus.CLOSED, False)

    async def test_closing_with_nothing_to_continue_leaves_a_plain_floor(self, house: House) -> None:
        before = await handed_over_thread(house)
        assert before.workflow is not None
        lease = await house.lease(before.workflow.thread_id)
        await house.store.close(lease, last_seq=lease.first_seq, ended=None)
        assert await kept(house, lease) == Floor("assistant")

    async def test_a_commit_can_give_the_floor_back_with_the_session_it_ends(self, house: House) -> None:
        before = await handed_over_thread(house)
        assert before.workflow is not None
        lease = await house.acquire(before.workflow.thread_id, message_id="m2", run_id="r2")
        after = Floor("assistant", resumable=before.resumable)
        ended = session(house, lease, end=lease.thread.next_ordinal + 2)
        for message in (said(lease), answered(lease)):
            await house.store.put_message(lease, message)
        await house.store.commit(
            lease,
            Commit(lease.thread.next_ordinal + 2, lease.first_seq, Usage(), tokens=20, ended=ended, floor=after),
        )
        thread = await house.store.get_thread(house.ada, lease.thread_id)
        assert (thread.floor, thread.status) == (after, ThreadStatus.CLOSED)

    async def test_abandoning_or_releasing_a_lease_leaves_the_floor(self, house: House) -> None:
        floor = await handed_over_thread(house)
        assert floor.workflow is not None
        for way in (house.store.abandon, house.store.release):
            lease = await house.lease(floor.workflow.thread_id)
            await way(lease)
            assert await kept(house, lease) == floor


class ChangeContract:
    """What a run does to the floor, kept with its last message until somebody commits it."""

    async def test_it_comes_back_whole_before_and_after_the_commit(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        floor = handed_over(house, lease)
        ended = replace(
            handoff(house, lease),
            number=1,
            context_mode=ContextMode.FORKED,
            recent_messages=("m1", "ü😀"),
            preserve_state=False,
            return_expected=False,
            show_tool_calls=True,
            workflow_id="w1",
            remote_task_id="task-1",
            child_thread_id=new_thread_id(),
        ).ended(HandoffOutcome.FAILED, house.clock.now())
        change = FloorChange(
            floor,
            handoffs=(handoff(house, lease), ended),
            workflows=(workflow(house, lease), replace(workflow(house, lease), id="w2", data={})),
            moved_from=replace(workflow(house, lease), thread_id=new_thread_id(), data={}),
            offered_id="w3",
        )
        assert await changes(house, lease, change) == [change, change]

    async def test_a_run_that_changes_nothing_has_none(self, house: House) -> None:
        assert await changes(house, await house.acquire(new_thread_id()), None) == [None, None]

    async def test_the_least_change_is_one(self, house: House) -> None:
        change = FloorChange(Floor("assistant"))
        assert await changes(house, await house.acquire(new_thread_id()), change) == [change, change]

    async def test_a_large_one_is_kept_whole(self, house: House) -> None:
        lease = await house.acquire(new_thread_id())
        text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(150_000))
        change = FloorChange(
            Floor("assistant"),
            handoffs=(replace(handoff(house, lease), context_summary=text),),
            workflows=(replace(workflow(house, lease), data={"ASK": {"name": text[:20_000]}}),),
        )
        assert await changes(house, lease, change) == [change, change]


async def changes(house: House, lease: Lease, change: FloorChange | None) -> list[FloorChange | None]:
    """What readers find of a run's change: whoever takes it over first, everybody afterwards."""
    answer = answered(lease)
    assert answer.end is not None
    last = replace(answer, end=replace(answer.end, change=change))
    for message in (said(lease), last):
        await house.store.put_message(lease, message)
    found = []
    for _ in range(2):
        [_, message] = await house.store.run_messages(house.ada, lease.thread_id, first_ordinal=0, below=None)
        assert message.end is not None
        found.append(message.end.change)
        await commit(house, lease, change.floor if change is not None else None)
    return found


async def commit(house: House, lease: Lease, floor: Floor | None) -> None:
    """Commit a run of two messages."""
    at = lease.thread.next_ordinal
    await house.store.commit(lease, Commit(at + 2, lease.first_seq + 4, Usage(10, 5), tokens=20, floor=floor))


async def kept(house: House, lease: Lease) -> Floor:
    """The floor as readers find it."""
    return (await house.store.get_thread(house.ada, lease.thread_id)).floor


async def handed_over_thread(house: House) -> Floor:
    """The floor of a thread that was handed over."""
    lease = await house.acquire(new_thread_id())
    floor = handed_over(house, lease)
    await commit(house, lease, floor)
    return floor


def handed_over(house: House, lease: Lease) -> Floor:
    """A floor with everything that a thread remembers of one."""
    one = workflow(house, lease).without_data()
    other: Workflow = replace(
        one,
        id="w2",
        name="Zürich 😀",
        thread_id=new_thread_id(),
        status=WorkflowStatus.SAVED,
        updated_at=house.clock.now() - timedelta(days=1),
    )
    place = HandoffPlace(lease.thread.next_ordinal, 0, 1773480000000)
    return Floor("skill-creation", place, one, (other, replace(other, id="w3")), house.clock.now())

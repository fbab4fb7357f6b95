"""The active agent of a thread, and a run's changes of it, in every thread store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.errors import LeaseLost
from baton.domain.handoffs.handoff import ContextMode, HandoffOutcome, HandoffPlace
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.runs.usage import Usage
from baton.domain.threads.thread import ConversationChange, ConversationState, ThreadStatus
from baton.ports.threads.leases import Commit, Lease
from tests.contracts.endings import session
from tests.contracts.handoffs import handoff
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id
from tests.contracts.workflows import workflow


class ConversationContract:
    """The conversation state of a thread."""

    async def test_a_new_thread_is_its_main_agents(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        assert lease.thread.conversation == ConversationState("assistant")
        assert await read_state(stores, lease) == ConversationState("assistant")

    async def test_a_commit_makes_another_agent_active(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        conversation = make_handed_over_state(stores, lease)
        await commit(stores, lease, conversation)
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert (thread.conversation, thread.active_agent_id, thread.agent_id) == (
            conversation,
            "skill-creation",
            "assistant",
        )
        assert thread.is_handed_over
        [listed], _ = await stores.store.list_threads(stores.ada, limit=5, cursor=None)
        assert listed == thread

    async def test_the_next_holder_of_the_lease_finds_the_conversation_state(self, stores: Stores) -> None:
        conversation = await hand_thread_over(stores)
        assert conversation.workflow is not None
        lease = await stores.acquire(conversation.workflow.thread_id, message_id="m2", run_id="r2")
        assert lease.thread.conversation == conversation

    async def test_a_commit_that_says_nothing_of_the_conversation_state_leaves_it(self, stores: Stores) -> None:
        conversation = await hand_thread_over(stores)
        assert conversation.workflow is not None
        lease = await stores.acquire(conversation.workflow.thread_id, message_id="m2", run_id="r2")
        await commit(stores, lease, None)
        assert await read_state(stores, lease) == conversation

    async def test_a_later_commit_replaces_the_conversation_state_whole(self, stores: Stores) -> None:
        before = await hand_thread_over(stores)
        assert before.workflow is not None
        lease = await stores.acquire(before.workflow.thread_id, message_id="m2", run_id="r2")
        after = ConversationState("helper", HandoffPlace(2, 1, 1773480000000), taught_at=stores.clock.now())
        await commit(stores, lease, after)
        assert await read_state(stores, lease) == after

    async def test_a_plain_floor_leaves_nothing_of_the_one_before(self, stores: Stores) -> None:
        before = await hand_thread_over(stores)
        assert before.workflow is not None
        lease = await stores.acquire(before.workflow.thread_id, message_id="m2", run_id="r2")
        await commit(stores, lease, ConversationState("assistant"))
        assert await read_state(stores, lease) == ConversationState("assistant")
        later = await stores.acquire(lease.thread_id, message_id="m3", run_id="r3")
        assert later.thread.conversation == ConversationState("assistant")

    async def test_a_commit_that_is_repeated_changes_no_floor_again(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        conversation = make_handed_over_state(stores, lease)
        for _ in range(2):
            await commit(stores, lease, conversation)
        assert await read_state(stores, lease) == conversation

    async def test_a_zombie_hands_over_to_nobody(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        with pytest.raises(LeaseLost):
            await commit(stores, zombie, make_handed_over_state(stores, zombie))
        assert await read_state(stores, lease) == ConversationState("assistant")

    async def test_closing_returns_to_the_main_agent_and_keeps_what_can_be_continued(self, stores: Stores) -> None:
        before = await hand_thread_over(stores)
        assert before.workflow is not None
        saved = replace(before.workflow, status=WorkflowStatus.SAVED)
        lease = await stores.lease(before.workflow.thread_id)
        for _ in range(2):
            await stores.store.close(
                lease, last_seq=lease.first_seq, ended=session(stores, lease), resumable=(saved, *before.resumable)
            )
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert thread.conversation == ConversationState("assistant", resumable=(saved, *before.resumable))
        assert (thread.status, thread.is_handed_over) == (ThreadStatus.CLOSED, False)

    async def test_closing_with_nothing_to_continue_leaves_a_plain_floor(self, stores: Stores) -> None:
        before = await hand_thread_over(stores)
        assert before.workflow is not None
        lease = await stores.lease(before.workflow.thread_id)
        await stores.store.close(lease, last_seq=lease.first_seq, ended=None)
        assert await read_state(stores, lease) == ConversationState("assistant")

    async def test_the_state_of_tools_is_kept_whole_and_outlasts_the_end_of_a_session(self, stores: Stores) -> None:
        data = {"cart": ["tea", {"grams": 0.5, "is_loose": True}], "coupon": None}
        lease = await stores.acquire(new_thread_id())
        await commit(stores, lease, ConversationState("helper", data=data))
        assert await read_state(stores, lease) == ConversationState("helper", data=data)
        later = await stores.lease(lease.thread_id)
        await stores.store.close(later, last_seq=later.first_seq, ended=session(stores, later))
        assert await read_state(stores, lease) == ConversationState("assistant", data=data)

    async def test_an_empty_state_of_tools_is_not_one_that_never_was(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await commit(stores, lease, ConversationState("assistant", data={}))
        assert (await read_state(stores, lease)).data == {}

    async def test_a_commit_can_return_to_the_main_agent_with_the_session_it_ends(self, stores: Stores) -> None:
        before = await hand_thread_over(stores)
        assert before.workflow is not None
        lease = await stores.acquire(before.workflow.thread_id, message_id="m2", run_id="r2")
        after = ConversationState("assistant", resumable=before.resumable)
        session_ref = session(stores, lease, end=lease.thread.next_ordinal + 2)
        for message in (make_question(lease), make_answer(lease)):
            await stores.store.put_message(lease, message)
        await stores.store.commit(
            lease,
            Commit(
                lease.thread.next_ordinal + 2,
                lease.first_seq,
                Usage(),
                tokens=20,
                ended=session_ref,
                conversation=after,
            ),
        )
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        assert (thread.conversation, thread.status) == (after, ThreadStatus.CLOSED)

    async def test_abandoning_or_releasing_a_lease_leaves_the_conversation_state(self, stores: Stores) -> None:
        conversation = await hand_thread_over(stores)
        assert conversation.workflow is not None
        for way in (stores.store.abandon, stores.store.release):
            lease = await stores.lease(conversation.workflow.thread_id)
            await way(lease)
            assert await read_state(stores, lease) == conversation


class ChangeContract:
    """A run's change of the conversation state, kept with its last message until somebody commits it."""

    async def test_it_comes_back_whole_before_and_after_the_commit(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        conversation = make_handed_over_state(stores, lease)
        task = replace(
            handoff(stores, lease),
            number=1,
            context_mode=ContextMode.FORKED,
            recent_messages=("m1", "ü😀"),
            preserve_state=False,
            return_expected=False,
            show_tool_calls=True,
            workflow_id="w1",
            remote_task_id="task-1",
            child_thread_id=new_thread_id(),
        ).end(HandoffOutcome.FAILED, stores.clock.now())
        change = ConversationChange(
            conversation,
            handoffs=(handoff(stores, lease), task),
            workflows=(workflow(stores, lease), replace(workflow(stores, lease), id="w2", data={})),
            moved_from=replace(workflow(stores, lease), thread_id=new_thread_id(), data={}),
            offered_id="w3",
        )
        assert await read_change_twice(stores, lease, change) == [change, change]

    async def test_a_run_that_changes_nothing_has_none(self, stores: Stores) -> None:
        assert await read_change_twice(stores, await stores.acquire(new_thread_id()), None) == [None, None]

    async def test_the_least_change_is_one(self, stores: Stores) -> None:
        change = ConversationChange(ConversationState("assistant"))
        assert await read_change_twice(stores, await stores.acquire(new_thread_id()), change) == [change, change]

    async def test_a_large_one_is_kept_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        text = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(150_000))
        change = ConversationChange(
            ConversationState("assistant"),
            handoffs=(replace(handoff(stores, lease), context_summary=text),),
            workflows=(replace(workflow(stores, lease), data={"ASK": {"name": text[:20_000]}}),),
        )
        assert await read_change_twice(stores, lease, change) == [change, change]


async def read_change_twice(
    stores: Stores, lease: Lease, change: ConversationChange | None
) -> list[ConversationChange | None]:
    """Return a run's change as the worker that takes the run over reads it, and then as any reader does."""
    answer = make_answer(lease)
    assert answer.end is not None
    last = replace(answer, end=replace(answer.end, change=change))
    for message in (make_question(lease), last):
        await stores.store.put_message(lease, message)
    results = []
    for _ in range(2):
        [_, message] = await stores.store.run_messages(stores.ada, lease.thread_id, first_ordinal=0, below=None)
        assert message.end is not None
        results.append(message.end.change)
        await commit(stores, lease, change.conversation if change is not None else None)
    return results


async def commit(stores: Stores, lease: Lease, conversation: ConversationState | None) -> None:
    """Commit a run of two messages."""
    at = lease.thread.next_ordinal
    await stores.store.commit(
        lease, Commit(at + 2, lease.first_seq + 4, Usage(10, 5), tokens=20, conversation=conversation)
    )


async def read_state(stores: Stores, lease: Lease) -> ConversationState:
    """The conversation state as readers find it."""
    return (await stores.store.get_thread(stores.ada, lease.thread_id)).conversation


async def hand_thread_over(stores: Stores) -> ConversationState:
    """The conversation state of a thread that was handed over."""
    lease = await stores.acquire(new_thread_id())
    conversation = make_handed_over_state(stores, lease)
    await commit(stores, lease, conversation)
    return conversation


def make_handed_over_state(stores: Stores, lease: Lease) -> ConversationState:
    """A conversation state with everything that a thread remembers of one."""
    one = workflow(stores, lease).without_data()
    other: Workflow = replace(
        one,
        id="w2",
        name="Zürich 😀",
        thread_id=new_thread_id(),
        status=WorkflowStatus.SAVED,
        updated_at=stores.clock.now() - timedelta(days=1),
    )
    location = HandoffPlace(lease.thread.next_ordinal, 0, 1773480000000)
    return ConversationState("skill-creation", location, one, (other, replace(other, id="w3")), stores.clock.now())

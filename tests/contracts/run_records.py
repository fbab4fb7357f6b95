"""Tool calls and sub-tasks: what every store does about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.errors import InvalidRequest, LeaseLost
from baton.domain.runs.conversation_data import DataChange
from baton.domain.runs.run_step import RunStep, StepKind
from baton.domain.runs.task import RemoteTask, Task, TaskMessage, TaskStatus
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id

LARGE = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(250_000))
"""More than an item holds, however it is packed."""
LONG = "word " * 120_000
"""Of which a page holds two."""


class ToolCallContract:
    """Records of tool calls."""

    async def test_a_call_comes_back_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        arguments: dict[str, Any] = {"city": "Zürich 😀", "days": [1, 2.5, None, True, {}], "": ""}
        change = DataChange({"cart": ["tea", {"grams": 0.5}]}, ("coupon",))
        files = ({"kind": "file", "id": "f1", "title": "a.csv", "score": None, "isKept": True},)
        instance = replace(call(stores, lease, "c1"), input=arguments, task_id="task-1", data=change, files=files)
        refused = replace(
            call(stores, lease, "c2"), input="no {json", output=None, succeeded=False, error_message="Not allowed."
        )
        for one in (instance, refused):
            await stores.records.put_call(lease, one)
        assert await of_run(stores, lease) == [instance, refused]

    async def test_times_are_kept_to_the_millisecond(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one = call(stores, lease, "c1")
        exact = replace(
            one, called_at=one.called_at + timedelta(microseconds=7), duration=timedelta(seconds=1, microseconds=7)
        )
        await stores.records.put_call(lease, exact)
        assert await of_run(stores, lease) == [replace(one, duration=timedelta(seconds=1))]

    async def test_large_inputs_and_outputs_are_kept_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        small, large = call(stores, lease, "c1"), replace(call(stores, lease, "c2"), output=LARGE, input={"x": LARGE})
        for one in (large, small):
            await stores.records.put_call(lease, one)
        assert await of_run(stores, lease) == [small, large]
        assert await stores.records.list_calls(stores.ada, lease.thread_id, limit=5, cursor=None) == (
            [large, small],
            None,
        )

    async def test_calls_of_a_run_come_in_the_order_they_were_made(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        records = [call(stores, lease, call_id, after=n) for n, call_id in enumerate(("c9", "c1", "c5"))]
        for one in records[::-1]:
            await stores.records.put_call(lease, one)
        assert await of_run(stores, lease) == records

    async def test_another_attempt_replaces_what_it_calls_again(self, stores: Stores) -> None:
        dead = await stores.acquire(new_thread_id())
        for call_id in ("c1", "c2"):
            await stores.records.put_call(dead, call(stores, dead, call_id))
        stores.clock.advance(60)
        lease = await stores.acquire(dead.thread_id)
        again = replace(call(stores, lease, "c1"), output="Another.")
        await stores.records.put_call(lease, again)
        assert await of_run(stores, lease) == [call(stores, dead, "c2", after=-60), again]
        assert await all_calls(stores, lease.thread_id) == ["c1", "c2"]

    async def test_a_zombie_replaces_nothing(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        await stores.records.put_call(zombie, call(stores, zombie, "c1"))
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        again = call(stores, lease, "c1")
        await stores.records.put_call(lease, again)
        with pytest.raises(LeaseLost):
            await stores.records.put_call(zombie, replace(again, output="Too late."))
        assert await of_run(stores, lease) == [again]

    async def test_every_run_has_calls_of_its_own(self, stores: Stores) -> None:
        first = await run(stores, new_thread_id(), 1, "a", "b")
        second = await run(stores, first.thread_id, 2, "c")
        third = await run(stores, first.thread_id, 3)
        assert [one.id for one in await of_run(stores, first)] == ["a", "b"]
        assert [one.id for one in await of_run(stores, second)] == ["c"]
        assert await of_run(stores, third) == []

    async def test_the_run_that_took_another_ones_place_has_none_of_its_calls(self, stores: Stores) -> None:
        refused = await stores.acquire(new_thread_id())
        await stores.records.put_call(refused, call(stores, refused, "a"))
        await stores.store.release(refused)
        lease = await run(stores, refused.thread_id, 2, "b")
        assert lease.thread.next_ordinal == refused.thread.next_ordinal
        assert [one.id for one in await of_run(stores, lease)] == ["b"]

    async def test_the_calls_of_a_session_are_those_of_its_ordinals(self, stores: Stores) -> None:
        first = await run(stores, new_thread_id(), 1, "a", "b")
        for number, call_id in enumerate("cde", start=2):
            await run(stores, first.thread_id, number, call_id)

        async def list_ids_between(first_ordinal: int, end_ordinal: int) -> list[str]:
            calls = await stores.records.calls_between(
                stores.ada, first.thread_id, first_ordinal=first_ordinal, end_ordinal=end_ordinal
            )
            return [one.id for one in calls]

        assert await list_ids_between(0, 8) == ["a", "b", "c", "d", "e"]
        assert await list_ids_between(2, 6) == ["c", "d"]
        assert await list_ids_between(0, 2) == ["a", "b"]
        assert await list_ids_between(6, 10**6) == ["e"]
        assert await list_ids_between(4, 4) == []

    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 100])
    async def test_pages_go_back_in_time(self, stores: Stores, limit: int) -> None:
        thread_id = new_thread_id()
        for number, ids in enumerate(("za", "", "ymb", "x"), start=1):  # within a run, not in the order of ids
            await run(stores, thread_id, number, *ids)
        assert await all_calls(stores, thread_id, limit=limit) == ["x", "b", "m", "y", "a", "z"]

    async def test_a_page_of_long_calls_ends_early(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        for after, call_id in enumerate("abc"):
            await stores.records.put_call(lease, replace(call(stores, lease, call_id, after=after), output=LONG))
        newest, cursor = await stores.records.list_calls(stores.ada, lease.thread_id, limit=100, cursor=None)
        others, end = await stores.records.list_calls(stores.ada, lease.thread_id, limit=100, cursor=cursor)
        assert [[one.id for one in page] for page in (newest, others)] == [["c", "b"], ["a"]]
        assert end is None

    async def test_of_a_session_with_long_calls_the_last_are_returned(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        for after, call_id in enumerate("abc"):
            await stores.records.put_call(lease, replace(call(stores, lease, call_id, after=after), output=LONG))
        result = await stores.records.calls_between(stores.ada, lease.thread_id, first_ordinal=0, end_ordinal=2)
        assert [one.id for one in result] == ["b", "c"]

    async def test_calls_of_one_moment_are_each_shown_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        ids = [f"c{n:02d}" for n in range(12)]
        for call_id in ids:
            await stores.records.put_call(lease, call(stores, lease, call_id))
        assert sorted(await all_calls(stores, lease.thread_id, limit=5)) == ids

    async def test_a_thread_without_calls_has_an_empty_page(self, stores: Stores) -> None:
        assert await stores.records.list_calls(stores.ada, new_thread_id(), limit=5, cursor=None) == ([], None)

    @pytest.mark.parametrize("cursor", ["garbage", "e30", "eyJhZnRlciI6IngifQ"])
    async def test_a_made_up_cursor_is_refused(self, stores: Stores, cursor: str) -> None:
        with pytest.raises(InvalidRequest):
            await stores.records.list_calls(stores.ada, new_thread_id(), limit=5, cursor=cursor)
        with pytest.raises(InvalidRequest):
            await stores.records.list_tasks(stores.ada, new_thread_id(), limit=5, cursor=cursor)

    async def test_every_tenant_has_calls_of_its_own(self, stores: Stores) -> None:
        lease = await run(stores, new_thread_id(), 1, "a")
        stranger = stores.stranger
        assert await stores.records.list_calls(stranger, lease.thread_id, limit=5, cursor=None) == ([], None)
        assert await stores.records.calls_of_run(stranger, lease.thread_id, "r1", first_ordinal=0) == []


class RemoteTaskContract:
    """Records of which task of a remote agent works on a message."""

    async def test_a_remote_task_is_found_by_its_run(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        first, second = (RemoteTask(f"m{n}", "web", f"remote-{n}", {"artifact a": 7, "message b": 0}) for n in range(2))
        for one in (first, second):
            await stores.records.put_remote_task(lease, one)
        begun_again = replace(first, remote_task_id="remote-9", known={})
        await stores.records.put_remote_task(lease, begun_again)
        result = await stores.records.read_remote_tasks(
            stores.ada, lease.thread_id, first_ordinal=lease.thread.next_ordinal
        )
        assert list(result) == [begun_again, second]
        for scope, ordinal in ((stores.ada, 7), (Scope("other", "ada"), lease.thread.next_ordinal)):
            assert list(await stores.records.read_remote_tasks(scope, lease.thread_id, first_ordinal=ordinal)) == []

    async def test_a_worker_that_has_lost_its_lease_writes_no_remote_task(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        later = replace(lease, fence=lease.fence + 1)
        await stores.records.put_remote_task(later, RemoteTask("m1", "web", "remote-2"))
        with pytest.raises(LeaseLost):
            await stores.records.put_remote_task(lease, RemoteTask("m1", "web", "remote-1"))


class StepContract:
    """Records of steps of agents with ``run``."""

    async def test_the_steps_of_an_exchange_come_back_whole_in_a_later_run_too(self, stores: Stores) -> None:
        first = await run(stores, new_thread_id(), 1)
        data = DataChange({"cart": ["tea"]}, ("coupon",))
        short = replace(step(stores, "s1"), value="Zürich 😀", data=data, sources=({"kind": "agent", "id": "faq"},))
        large = replace(step(stores, "s2"), value=LARGE, usage=Usage(12, 3), model="small")
        failed = replace(step(stores, "s3"), error="No.", is_refused=True, tool_name="pay", arguments='{"euros": 1}')
        lease = await stores.acquire(first.thread_id, message_id="m2", run_id="r2")
        for one in (short, large, failed):
            await stores.records.put_step(lease, one, first_ordinal=0)
        assert await steps(stores, lease, stores.ada) == [short, large, failed]
        assert await steps(stores, lease, stores.stranger) == []
        assert list(await stores.records.list_steps(stores.ada, lease.thread_id, "m1", first_ordinal=1)) == []

    async def test_an_exchange_has_none_of_the_steps_of_one_that_came_to_nothing(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.records.put_step(lease, replace(step(stores, "s1"), message_id="m0"), first_ordinal=0)
        assert await steps(stores, lease, stores.ada) == []

    async def test_a_worker_that_has_lost_its_lease_replaces_no_step(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        later = replace(lease, fence=lease.fence + 1)
        await stores.records.put_step(later, step(stores, "s1"), first_ordinal=0)
        with pytest.raises(LeaseLost):
            await stores.records.put_step(lease, replace(step(stores, "s1"), value="Late."), first_ordinal=0)
        assert await steps(stores, lease, stores.ada) == [step(stores, "s1")]


class TaskContract:
    """Records of sub-tasks."""

    async def test_a_task_comes_back_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        working, done = task(stores, lease, "t1"), complete_task(stores, task(stores, lease, "t2"))
        done = replace(done, remote_task_id="remote-1")
        for one in (working, done):
            await stores.records.put_task(lease, one)
        for one in (working, done):
            assert await stores.records.task(stores.ada, lease.thread_id, one.id) == one

    async def test_a_task_is_replaced_as_it_goes_on(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.records.put_task(lease, task(stores, lease, "t1"))
        stores.clock.advance(5)
        done = complete_task(stores, task(stores, lease, "t1", after=-5))
        await stores.records.put_task(lease, done)
        assert await stores.records.task(stores.ada, lease.thread_id, "t1") == done
        assert await all_tasks(stores, lease.thread_id) == [replace(done, messages=())]

    async def test_large_messages_and_results_are_kept_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        half = LARGE[: len(LARGE) // 4]
        talkative = complete_task(stores, task(stores, lease, "t1"), content=LARGE)
        thorough = replace(complete_task(stores, task(stores, lease, "t2")), result=LARGE)
        both = replace(complete_task(stores, task(stores, lease, "t3"), content=half), result=half)
        tasks = [talkative, thorough, both]
        for one in tasks:
            await stores.records.put_task(lease, one)
        for one in tasks:
            assert await stores.records.task(stores.ada, lease.thread_id, one.id) == one
        assert await all_tasks(stores, lease.thread_id) == [replace(one, messages=()) for one in tasks[::-1]]

    async def test_another_attempt_replaces_the_task_and_a_zombie_does_not(self, stores: Stores) -> None:
        zombie = await stores.acquire(new_thread_id())
        await stores.records.put_task(zombie, task(stores, zombie, "t1"))
        stores.clock.advance(60)
        lease = await stores.acquire(zombie.thread_id)
        again = task(stores, lease, "t1")
        await stores.records.put_task(lease, again)
        with pytest.raises(LeaseLost):
            await stores.records.put_task(zombie, complete_task(stores, task(stores, zombie, "t1")))
        assert await stores.records.task(stores.ada, lease.thread_id, "t1") == again
        assert await all_tasks(stores, lease.thread_id) == [again]

    async def test_tasks_are_listed_newest_first_in_pages_whatever_their_ids(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number, ids in enumerate(("ta", "zmb", "x"), start=1):
            lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
            for after, task_id in enumerate(ids):
                await stores.records.put_task(lease, task(stores, lease, task_id, after=after))
            await stores.commit(lease, make_question(lease), make_answer(lease))
        for limit in (1, 2, 4, 6):
            listed = await all_tasks(stores, thread_id, limit=limit)
            assert [one.id for one in listed] == ["x", "b", "m", "z", "a", "t"]
        result = await stores.records.task(stores.ada, thread_id, "m")
        assert result is not None
        assert result.run_id == "r2"

    async def test_a_page_of_long_tasks_ends_early(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        for after, task_id in enumerate("abc"):
            done = replace(complete_task(stores, task(stores, lease, task_id, after=after)), result=LONG)
            await stores.records.put_task(lease, done)
        newest, cursor = await stores.records.list_tasks(stores.ada, lease.thread_id, limit=100, cursor=None)
        others, end = await stores.records.list_tasks(stores.ada, lease.thread_id, limit=100, cursor=cursor)
        assert [[one.id for one in page] for page in (newest, others)] == [["c", "b"], ["a"]]
        assert end is None

    async def test_an_unknown_task_is_none(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.records.put_task(lease, task(stores, lease, "t1"))
        assert await stores.records.task(stores.ada, lease.thread_id, "t") is None
        assert await stores.records.task(stores.ada, new_thread_id(), "t1") is None
        assert await stores.records.task(stores.stranger, lease.thread_id, "t1") is None

    async def test_calls_and_tasks_are_distinguished(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        one, other = call(stores, lease, "same"), task(stores, lease, "same")
        await stores.records.put_call(lease, one)
        await stores.records.put_task(lease, other)
        assert await of_run(stores, lease) == [one]
        assert await all_tasks(stores, lease.thread_id) == [other]


def call(stores: Stores, lease: Lease, call_id: str, *, after: float = 0) -> ToolCallRecord:
    """A call of the lease's run, made ``after`` seconds from now."""
    run = lease.thread.run
    assert run is not None
    return ToolCallRecord(
        id=call_id,
        run_id=run.run_id,
        agent_id="assistant",
        tool_name="weather",
        input={"city": "Bern"},
        output="Sunny.",
        succeeded=True,
        error_message=None,
        called_at=stores.clock.now() + timedelta(seconds=after),
        duration=timedelta(milliseconds=1234),
    )


def step(stores: Stores, step_id: str) -> RunStep:
    """A step of the exchange that began with the first message."""
    return RunStep(step_id, "m1", "r1", "1", StepKind.ASK, "digest", stores.clock.now(), "Sunny.")


async def steps(stores: Stores, lease: Lease, scope: Scope) -> list[RunStep]:
    """The steps of that exchange, by their ids."""
    results = await stores.records.list_steps(scope, lease.thread_id, "m1", first_ordinal=0)
    return sorted(results, key=lambda one: one.id)


def task(stores: Stores, lease: Lease, task_id: str, *, after: float = 0) -> Task:
    """A task of the lease's run that began ``after`` seconds from now and goes on."""
    run = lease.thread.run
    assert run is not None
    return Task(
        id=task_id,
        run_id=run.run_id,
        tool_call_id=f"call-of-{task_id}",
        agent_id="librarian",
        message="Find it.",
        started_at=stores.clock.now() + timedelta(seconds=after),
    )


def complete_task(stores: Stores, task: Task, *, content: str = "Found.") -> Task:
    """The task, completed now, with its messages."""
    now = stores.clock.now()
    return replace(
        task,
        status=TaskStatus.COMPLETED,
        result="Found.",
        ended_at=now,
        usage=Usage(12, 3),
        messages=(
            TaskMessage("user", task.message, now),
            TaskMessage("tool", "shelf 7", now, tool_name="shelves"),
            TaskMessage("assistant", content, now),
        ),
    )


async def run(stores: Stores, thread_id: str, number: int, *call_ids: str) -> Lease:
    """A committed run of two messages that made calls, a second apart."""
    lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
    for after, call_id in enumerate(call_ids):
        await stores.records.put_call(lease, call(stores, lease, call_id, after=after))
    await stores.commit(lease, make_question(lease), make_answer(lease))
    return lease


async def of_run(stores: Stores, lease: Lease) -> list[ToolCallRecord]:
    """The calls of the lease's run."""
    run = lease.thread.run
    assert run is not None
    return list(
        await stores.records.calls_of_run(
            stores.ada, lease.thread_id, run.run_id, first_ordinal=lease.thread.next_ordinal
        )
    )


async def all_calls(stores: Stores, thread_id: str, *, limit: int = 100) -> list[str]:
    """The ids of the thread's calls, page by page."""
    results: list[str] = []
    cursor = None
    while True:
        page, cursor = await stores.records.list_calls(stores.ada, thread_id, limit=limit, cursor=cursor)
        assert len(page) == limit or cursor is None
        results += [one.id for one in page]
        if cursor is None:
            return results


async def all_tasks(stores: Stores, thread_id: str, *, limit: int = 100) -> list[Task]:
    """The thread's tasks, page by page."""
    tasks: list[Task] = []
    cursor = None
    while True:
        page, cursor = await stores.records.list_tasks(stores.ada, thread_id, limit=limit, cursor=cursor)
        assert len(page) == limit or cursor is None
        tasks += page
        if cursor is None:
            return tasks

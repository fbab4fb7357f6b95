"""The contract of every store of A2A marks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.threads.a2a_task import MarkStatus, TaskMark
from tests.contracts.stores import Stores, new_thread_id


def mark_of(stores: Stores, status: MarkStatus, root: str = "m-1", **fields: str) -> TaskMark:
    return TaskMark(root=root, user_id="ada", status=status, at=stores.clock.now(), **fields)


class A2ATasksContract:
    """Marks are kept by thread and task."""

    @pytest.mark.parametrize("root", ["m-1", "A2A#1", "日本語", "a#b"])
    async def test_a_mark_is_read_as_it_was_written(self, stores: Stores, root: str) -> None:
        thread_id = new_thread_id()
        mark = mark_of(stores, MarkStatus.QUEUED, root, message_id="m-2", reason="Because.")
        assert await stores.a2a_tasks.mark(stores.ada, thread_id, mark) == mark
        assert await stores.a2a_tasks.get(stores.ada, thread_id, root) == mark

    async def test_a_later_mark_replaces_an_earlier_one(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for status in (MarkStatus.QUEUED, MarkStatus.REFUSED, MarkStatus.ANSWERED, MarkStatus.CANCELED):
            mark = mark_of(stores, status)
            assert await stores.a2a_tasks.mark(stores.ada, thread_id, mark) == mark
        stored = await stores.a2a_tasks.mark(stores.ada, thread_id, mark_of(stores, MarkStatus.QUEUED))
        assert stored == mark == await stores.a2a_tasks.get(stores.ada, thread_id, "m-1")

    async def test_the_mark_of_another_user_stays(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        mark = mark_of(stores, MarkStatus.QUEUED)
        await stores.a2a_tasks.mark(stores.ada, thread_id, mark)
        theirs = replace(mark, user_id="bob", status=MarkStatus.CANCELED)
        assert await stores.a2a_tasks.mark(stores.bob, thread_id, theirs) == mark

    async def test_other_tasks_threads_and_tenants_have_no_such_mark(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.a2a_tasks.mark(stores.ada, thread_id, mark_of(stores, MarkStatus.QUEUED))
        assert await stores.a2a_tasks.get(stores.ada, thread_id, "m-2") is None
        assert await stores.a2a_tasks.get(stores.ada, new_thread_id(), "m-1") is None
        assert await stores.a2a_tasks.get(stores.stranger, thread_id, "m-1") is None

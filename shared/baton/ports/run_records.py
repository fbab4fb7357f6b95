"""What agents did in a thread besides talking: tool calls and sub-tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.task import Task
from baton.domain.tool_call import ToolCallRecord
from baton.ports.thread_store import Lease

PAGE_SIZE = 1024 * 1024
"""Characters from which on a page of records is full, however many were asked for."""


class RunRecords(Protocol):
    """Records of runs, kept as long as their thread.

    A record belongs to the place of its run in the thread: the ordinal of the run's first message, which is the
    lease's ``thread.next_ordinal`` and the same for every attempt at the run. Writing a record again under its id, by
    this attempt or another, replaces it. Records count from the moment they are written, not from the commit: those
    of a run in progress are shown, and a call that a dead attempt made stays, for it was made.

    Methods that take a lease raise ``LeaseLost`` where a higher fence has written that record; those that take a scope
    expect that the thread's ownership was checked before. ``StoreUnavailable`` when the table does not answer.
    """

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        """Keep a call; a large input or output goes to S3, whole."""
        ...

    async def calls_of_run(
        self, scope: Scope, thread_id: str, run_id: str, *, first_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        """All calls of the run whose first message is at ``first_ordinal``, in the order they were made."""
        ...

    async def calls_between(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        """All calls of the runs that begin at or after ``first_ordinal`` and before ``end_ordinal``, in order.

        With the ordinals of an ended session: the calls that belong to its episode.
        """
        ...

    async def calls(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[ToolCallRecord], str | None]:
        """A page of the thread's calls, the newest first, and the next cursor; fewer where they are long.

        Raises ``InvalidRequest``.
        """
        ...

    async def put_task(self, lease: Lease, task: Task) -> None:
        """Keep a sub-task as it is now; large messages go to S3. Its id must be unique within the thread."""
        ...

    async def tasks(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Task], str | None]:
        """A page of the thread's sub-tasks, the newest first, without their messages, and the next cursor; fewer where
        they are long.

        Raises ``InvalidRequest``.
        """
        ...

    async def task(self, scope: Scope, thread_id: str, task_id: str) -> Task | None:
        """One sub-task with its messages."""
        ...

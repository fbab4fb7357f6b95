"""What agents did in a thread besides talking: tool calls (T6) and sub-tasks (O3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.task import Task
from baton.domain.tool_call import ToolCallRecord
from baton.ports.thread_store import Lease


class RunRecords(Protocol):
    """Records of runs, kept as long as their thread.

    Writing a record again under its id replaces it. Methods that take a lease raise ``LeaseLost`` where a higher fence
    has written; those that take a scope expect that the thread's ownership was checked before. ``StoreUnavailable``
    when the table does not answer.
    """

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        """Keep a call; a large input or output goes to S3, whole."""
        ...

    async def calls_of_run(self, scope: Scope, thread_id: str, run_id: str) -> Sequence[ToolCallRecord]:
        """All calls of a run, in the order they were made."""
        ...

    async def calls(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[ToolCallRecord], str | None]:
        """A page of the thread's calls, the newest first, and the next cursor. Raises ``InvalidRequest``."""
        ...

    async def put_task(self, lease: Lease, task: Task) -> None:
        """Keep a sub-task as it is now; large messages go to S3."""
        ...

    async def tasks(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Task], str | None]:
        """A page of the thread's sub-tasks, the newest first, without their messages. Raises ``InvalidRequest``."""
        ...

    async def task(self, scope: Scope, thread_id: str, task_id: str) -> Task | None:
        """One sub-task with its messages."""
        ...

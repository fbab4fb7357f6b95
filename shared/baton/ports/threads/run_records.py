"""Ports for records of runs: tool calls, sub-tasks, prompts, and the calls over MCP that began them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask, Task
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease

PAGE_SIZE = 1024 * 1024
"""Characters after which a page of records ends, whatever its limit."""

MAX_BETWEEN = 200
"""Calls of several runs that are returned at once."""


class RunRecords(Protocol):
    """Records of runs, kept as long as their thread.

    Records are keyed by the ordinal of their run's first message, which is the lease's ``thread.next_ordinal`` in every
    attempt at the run. Writing a record again under its id replaces it, in any attempt. Records are visible once
    written, before the commit: readers see the records of a run in progress, and calls of a dead attempt.

    Methods with a lease raise ``LeaseLost`` if a worker with a higher fence has written the record. Callers of methods
    with a scope must have checked the thread's ownership. All raise ``StoreUnavailable`` if the table does not answer.
    """

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        """Store a call. Large inputs and outputs go to S3, complete."""

    async def calls_of_run(
        self, scope: Scope, thread_id: str, run_id: str, *, first_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        """Return all calls of the run whose first message is at ``first_ordinal``, in the order they were made."""

    async def put_task(self, lease: Lease, task: Task) -> None:
        """Store a sub-task. Large messages go to S3. Its id must be unique within the thread."""

    async def list_tasks(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Task], str | None]:
        """Return a page of sub-tasks without messages, newest first, and the next cursor.

        Pages of long records are shorter. Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    async def put_remote_task(self, lease: Lease, task: RemoteTask) -> None:
        """Store the task of a remote agent that works on a message of the run."""

    async def read_remote_tasks(self, scope: Scope, thread_id: str, *, first_ordinal: int) -> Sequence[RemoteTask]:
        """Return the tasks of remote agents that work on messages of the run whose first is at ``first_ordinal``."""

    async def put_step(self, lease: Lease, step: RunStep, *, first_ordinal: int) -> None:
        """Store a step of an agent with ``run``, in the exchange whose first message is at ``first_ordinal``.

        An exchange may take several runs. Large results go to S3.
        """

    async def list_steps(
        self, scope: Scope, thread_id: str, message_id: str, *, first_ordinal: int
    ) -> Sequence[RunStep]:
        """Return all steps of the exchange that began with a message at ``first_ordinal``."""


class RunHistory(RunRecords, Protocol):
    """The records of runs with readers of a whole thread."""

    async def calls_between(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Sequence[ToolCallRecord]:
        """Return the calls of the runs that begin at or after ``first_ordinal`` and before ``end_ordinal``, in order.

        With the ordinals of an ended session, these are the calls of its episode. If there are more than
        ``MAX_BETWEEN``, or long ones, only the last calls are returned.
        """

    async def list_calls(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[ToolCallRecord], str | None]:
        """Return a page of calls, newest first, and the next cursor. Pages of long records are shorter.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    async def task(self, scope: Scope, thread_id: str, task_id: str) -> Task | None:
        """Return one sub-task with its messages; None if there is none."""


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """The record of a run's prompts, as it is stored (``memory.inspection.compact_record``)."""

    body: dict[str, Any]
    """JSON values."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The agents' system prompts to which the body refers, by the SHA-256 of their text in UTF-8."""


class ContextRecords(Protocol):
    """One record a run, kept as long as its thread. System prompts are stored once for a tenant.

    Callers must have checked that the scope may read or write the thread. All methods raise ``StoreUnavailable``.
    """

    async def put(self, scope: Scope, thread_id: str, run_id: str, record: ContextRecord) -> None:
        """Store a run's record in place of an earlier one."""

    async def get(self, scope: Scope, thread_id: str, run_id: str) -> ContextRecord | None:
        """Return a run's record; None if there is none."""


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call in progress, by the ids that its client gave."""

    session_id: str
    """The session that ``initialize`` named. Request ids are unique only within it."""
    request_id: str
    """The id of the JSON-RPC request, as JSON: ``1`` and ``"1"`` are two."""
    thread_id: str
    run_id: str


class McpCalls(Protocol):
    """Calls of each user, kept for an hour. Both methods raise ``StoreUnavailable``."""

    async def note_begun(self, scope: Scope, call: McpCall) -> None:
        """Note ``call``. A later call with the same session and request id replaces it."""

    async def find(self, scope: Scope, session_id: str, request_id: str) -> McpCall | None:
        """Return the call of the scope's user; None if none was noted."""

"""Ports for the storage of handoffs and guided workflows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from baton.domain.handoffs.handoff import HandoffPlace, HandoffRequest
from baton.domain.handoffs.workflow import Workflow
from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease


class HandoffStore(Protocol):
    """The handoffs of threads, kept as long as their thread. Callers must have checked the thread's ownership.

    A handoff is also an audit record with the action ``handoff`` and the outcome ``started`` or ``refused``. Like every
    record of a run, it is visible once written, before the commit.
    """

    async def put(self, lease: Lease, request: HandoffRequest) -> None:
        """Store the request, replacing an earlier version with the same ``place``.

        Raises ``LeaseLost`` if a worker with a higher fence has written it.
        """

    async def get(self, scope: Scope, thread_id: str, place: HandoffPlace) -> HandoffRequest | None:
        """Return the handoff with the key ``place`` in the thread; None if there is none."""

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[HandoffRequest], str | None]:
        """Return a page of the thread's handoffs, the newest first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """


class WorkflowElsewhere(Exception):
    """The workflow was continued in another thread, ``thread_id``. This thread must drop it."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"the workflow goes on in thread {thread_id}")


class UnfinishedWorkflow(NamedTuple):
    """A workflow that can be continued."""

    workflow: Workflow
    is_offered: bool
    """True if its user was offered to continue it since its last change."""


class CompletedWorkflow(NamedTuple):
    """A workflow that has reached its end, with its data and result."""

    workflow: Workflow
    user_id: str


@dataclass(frozen=True, slots=True)
class CompletedQuery:
    """A selection of completed workflows."""

    user_id: str | None = None
    """The user whose workflows are selected; None: all users of the tenant."""
    agent_id: str | None = None
    state: str | None = None
    """The final state, of which a workflow may have several."""
    since: datetime | None = None
    until: datetime | None = None

    def matches(self, completed: CompletedWorkflow) -> bool:
        """Return whether the agent and the state of a workflow match the query."""
        workflow = completed.workflow
        return self.agent_id in (None, workflow.agent_id) and self.state in (None, workflow.state)


class WorkflowStore(Protocol):
    """Workflows, in the lists of their users. Each belongs to one thread at a time; writes for others are refused.

    A completed workflow is also kept as long as its thread, and listed for the user and the tenant.
    """

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        """Store the workflow. Its ``thread_id`` is the lease's.

        ``moved_from`` is the workflow as it was read in its former thread, if it is continued in this thread. A
        repetition changes nothing. Raises ``LeaseLost`` if a worker with a higher fence of this thread has written it,
        and ``WorkflowElsewhere`` if it belongs to a third thread or has changed in the former thread since.
        """

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        """Return the caller's own workflow in any thread, even if it is finished; None if there is none."""

    async def list_unfinished(self, scope: Scope) -> Sequence[UnfinishedWorkflow]:
        """Return the caller's workflows that are active or can be continued, latest change first."""

    async def list_completed(
        self, scope: Scope, query: CompletedQuery, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[CompletedWorkflow], str | None]:
        """Return a page of the tenant's completed workflows, the newest first, and the next cursor.

        A page may have fewer than ``limit`` workflows, or none, and still a next cursor. Raises ``InvalidRequest`` for
        an invalid cursor, and ``Forbidden`` for workflows of others without ``thread:read_all``.
        """

    async def mark_offered(self, scope: Scope, workflow_id: str) -> None:
        """Record that the user was offered to continue it, until its next write. A missing workflow is not an error."""

"""Where guided workflows are kept (W1, W2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.workflow import Workflow
from baton.ports.thread_store import Lease


class WorkflowElsewhere(Exception):
    """The workflow was continued in another thread, ``thread_id``: this one must let go of it."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"the workflow goes on in thread {thread_id}")


class WorkflowStore(Protocol):
    """Workflows, each in the thread it goes on in and in the list of its user's.

    A workflow belongs to one thread at a time. The user's list says which: it is what ``find`` reads, and whoever
    writes for another thread is refused. A thread's own copy stays as the thread left it.
    """

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: str | None = None) -> None:
        """Keep the workflow as it is now; its ``thread_id`` is the lease's.

        ``moved_from`` is the thread it was in until now, for one that is continued in another. Doing it again changes
        nothing. Raises ``LeaseLost`` where a higher fence of this thread has written it and ``WorkflowElsewhere`` where
        it belongs to a thread that is neither.
        """
        ...

    async def get(self, scope: Scope, thread_id: str, workflow_id: str) -> Workflow | None:
        """The workflow as the thread has it. The thread's ownership must have been checked before."""
        ...

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        """The caller's own workflow, wherever it is; finished ones are forgotten some time after their end."""
        ...

    async def unfinished(self, scope: Scope) -> Sequence[Workflow]:
        """The caller's workflows that go on or can be taken up again, the one changed last first."""
        ...

"""Where guided workflows are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from baton.domain.identity import Scope
from baton.domain.workflow import Workflow
from baton.ports.thread_store import Lease


class WorkflowElsewhere(Exception):
    """The workflow was continued in another thread, ``thread_id``: this one must let go of it."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(f"the workflow goes on in thread {thread_id}")


class UnfinishedWorkflow(NamedTuple):
    """A workflow that can be continued."""

    workflow: Workflow
    is_offered: bool
    """Whether its user was offered to continue it since it was last changed."""


class WorkflowStore(Protocol):
    """Workflows, in the lists of their users.

    A workflow belongs to one thread at a time; whoever writes it for another is refused.
    """

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        """Keep the workflow as it is now; its ``thread_id`` is the lease's.

        ``moved_from`` is the workflow as it was found in the thread where it was until now, for one that is continued
        in another. Doing it again changes nothing. Raises ``LeaseLost`` where a higher fence of this thread has written
        it, and ``WorkflowElsewhere`` where it belongs to a thread that is neither, or has changed in that one since.
        """
        ...

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        """The caller's own workflow, wherever it is; finished ones are forgotten some time after their end."""
        ...

    async def unfinished(self, scope: Scope) -> Sequence[UnfinishedWorkflow]:
        """The caller's workflows that go on or can be taken up again, the one changed last first."""
        ...

    async def mark_offered(self, scope: Scope, workflow_id: str) -> None:
        """Remember that its user was offered to continue it; until it is written again. Nothing if it is gone."""
        ...

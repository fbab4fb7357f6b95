"""Guided workflows in memory, under the same rules as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.errors import LeaseLost
from baton.domain.handoffs.workflow import Workflow
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.handoffs import UnfinishedWorkflow, WorkflowElsewhere
from baton.ports.threads.leases import Lease


class FakeWorkflows:
    """``ports.threads.handoffs.WorkflowStore``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offered: set[tuple[str, str, str]] = set()
        self._of_users: dict[tuple[str, str, str], tuple[int, Workflow]] = {}

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        if workflow.thread_id != lease.thread_id:
            raise ValueError("only the holder of the thread's lease may write its workflows")
        scope = lease.scope
        key = (scope.tenant_id, scope.user_id, workflow.id)
        if key in self._of_users:
            fence, known = self._of_users[key]
            if known.thread_id == lease.thread_id and fence > lease.fence:
                raise LeaseLost
            found = moved_from is not None and (moved_from.thread_id, to_millis(moved_from.updated_at))
            if known.thread_id != lease.thread_id and found != (known.thread_id, to_millis(known.updated_at)):
                raise WorkflowElsewhere(known.thread_id)
        kept = replace(
            workflow,
            updated_at=from_millis(to_millis(workflow.updated_at)),
            expires_at=from_millis(to_millis(workflow.expires_at)),
        )
        self._of_users[key] = (lease.fence, kept)
        self._offered.discard(key)

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        known = self._of_users.get((scope.tenant_id, scope.user_id, workflow_id))
        return known[1] if known else None

    async def unfinished(self, scope: Scope) -> Sequence[UnfinishedWorkflow]:
        now = self._clock.now()
        found = [
            UnfinishedWorkflow(workflow, key in self._offered)
            for key, (_, workflow) in self._of_users.items()
            if key[:2] == (scope.tenant_id, scope.user_id) and workflow.is_unfinished(now)
        ]
        return sorted(found, key=lambda each: (each.workflow.updated_at, each.workflow.id), reverse=True)

    async def mark_offered(self, scope: Scope, workflow_id: str) -> None:
        key = (scope.tenant_id, scope.user_id, workflow_id)
        if key in self._of_users:
            self._offered.add(key)

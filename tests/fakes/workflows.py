"""Guided workflows in memory, under the same rules as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.errors import LeaseLost
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.domain.workflow import Workflow
from baton.ports.clock import Clock
from baton.ports.thread_store import Lease
from baton.ports.workflows import WorkflowElsewhere


class FakeWorkflows:
    """``ports.workflows.WorkflowStore``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of_threads: dict[tuple[str, str, str], Workflow] = {}
        self._of_users: dict[tuple[str, str, str], tuple[int, Workflow]] = {}

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: str | None = None) -> None:
        if workflow.thread_id != lease.thread_id:
            raise ValueError("a workflow is written by the holder of its own thread")
        scope = lease.scope
        key = (scope.tenant_id, scope.user_id, workflow.id)
        if key in self._of_users:
            fence, known = self._of_users[key]
            if known.thread_id == lease.thread_id and fence > lease.fence:
                raise LeaseLost
            if known.thread_id not in (lease.thread_id, moved_from):
                raise WorkflowElsewhere(known.thread_id)
        kept = replace(
            workflow,
            updated_at=from_millis(to_millis(workflow.updated_at)),
            expires_at=from_millis(to_millis(workflow.expires_at)),
        )
        self._of_users[key] = (lease.fence, kept)
        self._of_threads[scope.tenant_id, lease.thread_id, workflow.id] = kept

    async def get(self, scope: Scope, thread_id: str, workflow_id: str) -> Workflow | None:
        return self._of_threads.get((scope.tenant_id, thread_id, workflow_id))

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        known = self._of_users.get((scope.tenant_id, scope.user_id, workflow_id))
        return known[1] if known else None

    async def unfinished(self, scope: Scope) -> Sequence[Workflow]:
        now = self._clock.now()
        found = [
            workflow
            for (tenant_id, user_id, _), (_, workflow) in self._of_users.items()
            if (tenant_id, user_id) == (scope.tenant_id, scope.user_id) and workflow.is_unfinished(now)
        ]
        return sorted(found, key=lambda workflow: (workflow.updated_at, workflow.id), reverse=True)

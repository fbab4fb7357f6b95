"""Guided workflows in memory, under the same rules as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import LeaseLost
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.handoffs import CompletedQuery, CompletedWorkflow, UnfinishedWorkflow, WorkflowElsewhere
from baton.ports.threads.leases import Lease


class FakeWorkflows:
    """``ports.threads.handoffs.WorkflowStore``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offered: set[tuple[str, str, str]] = set()
        self._of_users: dict[tuple[str, str, str], tuple[int, Workflow]] = {}
        self._completed: dict[tuple[str, str, str], Workflow] = {}

    async def put(self, lease: Lease, workflow: Workflow, *, moved_from: Workflow | None = None) -> None:
        if workflow.thread_id != lease.thread_id:
            raise ValueError("only the holder of the thread's lease may write its workflows")
        scope = lease.scope
        key = (scope.tenant_id, scope.user_id, workflow.id)
        if key in self._of_users:
            fence, earlier = self._of_users[key]
            if earlier.thread_id == lease.thread_id and fence > lease.fence:
                raise LeaseLost
            result = moved_from is not None and (moved_from.thread_id, to_millis(moved_from.updated_at))
            if earlier.thread_id != lease.thread_id and result != (earlier.thread_id, to_millis(earlier.updated_at)):
                raise WorkflowElsewhere(earlier.thread_id)
        stored_workflow = replace(
            workflow,
            updated_at=from_millis(to_millis(workflow.updated_at)),
            expires_at=from_millis(to_millis(workflow.expires_at)),
        )
        self._of_users[key] = (lease.fence, stored_workflow)
        self._offered.discard(key)
        if workflow.status is WorkflowStatus.COMPLETED:
            self._completed[key] = stored_workflow

    async def list_completed(
        self, scope: Scope, query: CompletedQuery, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[CompletedWorkflow], str | None]:
        if query.user_id != scope.user_id:
            scope.require(Permission.THREAD_READ_ALL)
        completed = [
            CompletedWorkflow(workflow, user_id)
            for (tenant_id, user_id, _), workflow in self._completed.items()
            if tenant_id == scope.tenant_id and query.user_id in (None, user_id)
        ]
        completed = [
            record
            for record in sorted(completed, key=lambda record: _make_position(record.workflow), reverse=True)
            if query.matches(record)
            and (query.since is None or record.workflow.updated_at >= query.since)
            and (query.until is None or record.workflow.updated_at <= query.until)
            and (cursor is None or _make_position(record.workflow) < decode_text(cursor))
        ]
        more = encode_text(_make_position(completed[limit - 1].workflow)) if len(completed) > limit else None
        return completed[:limit], more

    async def find(self, scope: Scope, workflow_id: str) -> Workflow | None:
        row = self._of_users.get((scope.tenant_id, scope.user_id, workflow_id))
        return row[1] if row else None

    async def list_unfinished(self, scope: Scope) -> Sequence[UnfinishedWorkflow]:
        now = self._clock.now()
        workflows = [
            UnfinishedWorkflow(workflow, key in self._offered)
            for key, (_, workflow) in self._of_users.items()
            if key[:2] == (scope.tenant_id, scope.user_id) and workflow.is_unfinished(now)
        ]
        return sorted(
            workflows, key=lambda unfinished: (unfinished.workflow.updated_at, unfinished.workflow.id), reverse=True
        )

    async def mark_offered(self, scope: Scope, workflow_id: str) -> None:
        key = (scope.tenant_id, scope.user_id, workflow_id)
        if key in self._of_users:
            self._offered.add(key)


def _make_position(workflow: Workflow) -> str:
    return f"{to_millis(workflow.updated_at):015d}#{workflow.id}"

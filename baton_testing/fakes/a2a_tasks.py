"""Marks of A2A tasks in memory."""

from __future__ import annotations

from baton.domain.a2a_task import MarkStatus, TaskMark
from baton.domain.identity import Scope


class FakeA2ATasks:
    """``ports.a2a_tasks.A2ATasks``."""

    def __init__(self) -> None:
        self.marks: dict[tuple[str, str, str], TaskMark] = {}

    async def get(self, scope: Scope, thread_id: str, root: str) -> TaskMark | None:
        return self.marks.get((scope.tenant_id, thread_id, root))

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        key = (scope.tenant_id, thread_id, mark.root)
        kept = self.marks.get(key)
        if kept is not None and (kept.status is MarkStatus.CANCELED or kept.user_id != mark.user_id):
            return kept
        self.marks[key] = mark
        return mark

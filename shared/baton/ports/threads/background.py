"""Tasks in the background of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.tenants.identity import Scope


class BackgroundTasks(Protocol):
    """The tasks of each conversation. Every method raises ``StoreUnavailable``."""

    async def add(self, scope: Scope, thread_id: str, task: BackgroundTask) -> BackgroundTask:
        """Store a new task, and return it; or the one that is stored under its id."""

    async def get(self, scope: Scope, thread_id: str, task_id: str) -> BackgroundTask | None:
        """Return a task. The caller has checked who may read the conversation."""

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[BackgroundTask]:
        """Return the tasks of a conversation, the newest first: those that are open, and ``MAX_LISTED`` others."""

    async def find(self, tenant_id: str, thread_id: str, task_id: str) -> tuple[Scope, BackgroundTask] | None:
        """Return a task with its owner, for the holder of its token."""

    async def remove(self, scope: Scope, thread_id: str, task_id: str) -> None:
        """Remove a task. A missing one is not an error."""

    async def replace(self, scope: Scope, thread_id: str, task: BackgroundTask) -> bool:
        """Replace the revision before the task's own. Return False if another one is there."""

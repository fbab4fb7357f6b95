"""The port to stored tasks in the background of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.tenants.identity import Scope


class BackgroundTasks(Protocol):
    """The tasks of each conversation. Every method raises ``StoreUnavailable``."""

    async def add(self, scope: Scope, thread_id: str, task: BackgroundTask) -> BackgroundTask:
        """Store a new task and return it; return the stored task if its id is taken."""

    async def get(self, scope: Scope, thread_id: str, task_id: str) -> BackgroundTask | None:
        """Return a task; None if there is none. Callers must have checked that they may read the conversation."""

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[BackgroundTask]:
        """Return all stored tasks of a conversation, the newest first."""

    async def find(self, tenant_id: str, thread_id: str, task_id: str) -> tuple[Scope, BackgroundTask] | None:
        """Return a task with its owner's scope, for the holder of its token; None if there is none."""

    async def remove(self, scope: Scope, thread_id: str, task_id: str) -> None:
        """Remove a task. A missing task is not an error."""

    async def replace(self, scope: Scope, thread_id: str, task: BackgroundTask) -> bool:
        """Store the task if the stored revision is the one before its own. Return whether it is stored."""

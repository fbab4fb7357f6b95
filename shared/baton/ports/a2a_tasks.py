"""What is kept of A2A tasks beside their turns."""

from __future__ import annotations

from typing import Protocol

from baton.domain.a2a_task import TaskMark
from baton.domain.identity import Scope


class A2ATasks(Protocol):
    """Marks of tasks, in the partitions of their threads. Both methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope, thread_id: str, root: str) -> TaskMark | None:
        """Return the mark of the task that the message ``root`` began; None if it has none.

        The caller checks that the task's user may be read: the mark of a thread that does not exist yet has one.
        """
        ...

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        """Keep ``mark`` instead of the one before, unless the task was cancelled or is another user's.

        Returns the mark that is kept.
        """
        ...

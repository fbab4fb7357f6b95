"""Where clients want to hear of their A2A tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.push_config import PushConfig


class PushConfigs(Protocol):
    """Configurations of push notifications, in the partitions of their tasks' threads. Secrets are kept sealed.

    Every method raises ``StoreUnavailable``. The caller has checked that the task is the scope's user's.
    """

    async def put(self, scope: Scope, thread_id: str, config: PushConfig) -> None:
        """Keep ``config`` in place of the task's one with the same id.

        In a thread with as many as it may have, it takes the place of the oldest of another task. Raises
        ``InvalidRequest`` if the task has as many as it may have.
        """
        ...

    async def get(self, scope: Scope, thread_id: str, root: str, config_id: str) -> PushConfig | None:
        """Return a configuration with its receiver's secrets, for senders of notifications.

        None if there is none with this id, if it is another user's, or if its secrets cannot be opened any more.
        """
        ...

    async def of_task(self, scope: Scope, thread_id: str, root: str) -> Sequence[PushConfig]:
        """Return the configurations of a task in the order of their ids, without the secrets of their receivers."""
        ...

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[PushConfig]:
        """Return the configurations of all tasks of a thread in no order, without the secrets of their receivers."""
        ...

    async def delete(self, scope: Scope, thread_id: str, root: str, config_id: str) -> None:
        """Remove a configuration. A missing one is no error."""
        ...

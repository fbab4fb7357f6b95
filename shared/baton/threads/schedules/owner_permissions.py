"""The permissions of runs that begin by themselves, as far as their owner still has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.threads.background import BackgroundTasks
from baton.ports.threads.schedules import Schedules
from baton.ports.threads.threads import ThreadStore

MAX_THREADS = 10
"""The number of most recently active conversations in which the owner's last message is searched."""
PAGE = 20
"""The number of newest messages of a conversation in which the user's last message is searched."""
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LastGrant:
    """The permissions with which a user's message came, and its time."""

    at: datetime
    permissions: frozenset[str]


@dataclass(frozen=True, slots=True)
class OwnerPermissions:
    """The permissions of owners. Only tokens have a user's permissions, and a run that begins by itself has no token.

    So the token of the owner's last message counts, if the message is newer than the request that caused the run.
    """

    store: ThreadStore
    schedules: Schedules
    tasks: BackgroundTasks

    async def narrow(self, scope: Scope, thread_id: str, cause: RunSource) -> Scope:
        """Return the scope of a run without the permissions that its owner has lost. Raises ``StoreUnavailable``."""
        if not scope.permissions:
            return scope
        last = await self._find_last(scope, await self._find_grant_time(scope, thread_id, cause))
        return scope if last is None else replace(scope, permissions=scope.permissions & last.permissions)

    async def _find_grant_time(self, scope: Scope, thread_id: str, cause: RunSource) -> datetime:
        """Return the time of the request whose permissions the run has; ``NEVER`` if it is not known."""
        if cause.kind is CauseKind.SCHEDULE:
            schedule = await self.schedules.get(scope, cause.id)
            return schedule.created_at if schedule is not None else NEVER
        if cause.kind is CauseKind.TASK:
            task = await self.tasks.get(scope, thread_id, cause.id)
            return task.started_at if task is not None else NEVER
        return NEVER

    async def _find_last(self, scope: Scope, since: datetime) -> LastGrant | None:
        """Return the permissions of the user's last message after ``since``, in their most recent conversations.

        Return None if there is none.
        """
        last: LastGrant | None = None
        threads, _ = await self.store.list_threads(scope, limit=MAX_THREADS, cursor=None)
        for thread in threads:
            if thread.last_activity_at <= (last.at if last is not None else since):
                break  # threads are listed by their last activity, the newest first
            grant = await self._read_last_grant(scope, thread)
            if grant is not None and grant.at > (last.at if last is not None else since):
                last = grant
        return last

    async def _read_last_grant(self, scope: Scope, thread: Thread) -> LastGrant | None:
        """Return the permissions of the user's last message among the newest ``PAGE``; None if there is none."""
        page = await self.store.read_messages(scope, thread, limit=PAGE, before=None)
        for message in reversed(page.messages):
            if not message.is_own or message.is_steered:  # the record of a steered message has the run's permissions
                continue
            turn = await self.store.get_turn(scope, thread.id, message.id)
            if turn is not None:  # copies and imports have none
                return LastGrant(message.timestamp, frozenset(turn.permissions))
        return None

"""Schedules of users, and all items that begin runs by themselves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.schedule import Schedule
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import QueuedMessage


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule whose next slot is due, with its owner."""

    owner: Scope
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class DueTask:
    """A task in the background that is due for a look, with its owner and its conversation."""

    owner: Scope
    thread_id: str
    task: BackgroundTask


@dataclass(frozen=True, slots=True)
class LaterRun:
    """A message that begins its run at a time: it could not begin before."""

    at: datetime
    message: QueuedMessage


class Schedules(Protocol):
    """The schedules of each user. Every method raises ``StoreUnavailable``."""

    async def add(self, scope: Scope, schedule: Schedule, *, is_first: bool = True) -> Schedule:
        """Store a new schedule, and return it; or the one that the user has under its id already.

        ``is_first``: this may be the user's first schedule, so that the user must be added to the tenant's list.
        """

    async def get(self, scope: Scope, schedule_id: str) -> Schedule | None:
        """Return a schedule of the user."""

    async def of_user(self, scope: Scope) -> Sequence[Schedule]:
        """Return all schedules of the user in the order in which they were made."""

    def users(self, scope: Scope, *, first: str = "") -> AsyncGenerator[str, None]:
        """Yield the ids of the tenant's users who have, or had, schedules: by ``user_place``, from ``first`` on."""

    async def replace(self, scope: Scope, schedule: Schedule) -> bool:
        """Replace the revision before the schedule's own. Return False if another one is there."""

    async def remove(self, scope: Scope, schedule_id: str) -> bool:
        """Remove a schedule. Return whether it was there."""

    def entry(self, scope: Scope, schedule: Schedule) -> DueEntry | None:
        """Return the entry of a schedule's next slot; None if it has none."""


class DueItems(Protocol):
    """Schedules and messages that are due at a time, of all tenants. Every method raises ``StoreUnavailable``."""

    def before(self, moment: datetime) -> AsyncIterator[Sequence[DueEntry]]:
        """Yield pages of what is due before a time. The list may be some seconds behind."""

    async def load(self, entry: DueEntry) -> DueSchedule | DueTask | LaterRun | None:
        """Return the item that is due at the entry's time; None if it has begun, moved or gone since."""

    def of_thread(self, scope: Scope, thread_id: str) -> AsyncGenerator[LaterRun, None]:
        """Yield the messages of a conversation that wait for a time. The caller closes the iterator."""

    async def put_off(self, later: LaterRun) -> DueEntry:
        """Keep a message for a later time. One that waits already waits for the new time."""

    async def settle(self, later: LaterRun) -> None:
        """Remove a message that the queue has, if it still waits for the same time."""


class DelayQueue(Protocol):
    """A queue that delivers entries when they are due, at least once and in no order."""

    async def send(self, entry: DueEntry, *, seconds: int) -> None:
        """Deliver an entry after some seconds, at most 900. Raises ``StoreUnavailable``."""

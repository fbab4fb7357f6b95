"""Ports for schedules of users, and for all items that begin runs by themselves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
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
    """A background task that is due for a check, with its owner and its conversation."""

    owner: Scope
    thread_id: str
    task: BackgroundTask


@dataclass(frozen=True, slots=True)
class LaterRun:
    """A message whose run was put off to a later time, because it could not begin."""

    at: datetime
    message: QueuedMessage


class Schedules(Protocol):
    """The schedules of each user. Every method raises ``StoreUnavailable``."""

    async def add(self, scope: Scope, schedule: Schedule, *, is_first: bool = True) -> Schedule:
        """Store a new schedule and return it; return the user's existing schedule if its id is taken.

        ``is_first``: it may be the user's first schedule, for which the user must be added to the tenant's list.
        """

    async def get(self, scope: Scope, schedule_id: str) -> Schedule | None:
        """Return a schedule of the user; None if there is none."""

    async def of_user(self, scope: Scope) -> Sequence[Schedule]:
        """Return all schedules of the user in the order in which they were made."""

    def users(self, scope: Scope, *, first: str = "") -> AsyncGenerator[str, None]:
        """Yield the ids of users who have or had schedules, by ``derive_user_place``, from ``first`` on."""

    async def replace(self, scope: Scope, schedule: Schedule) -> bool:
        """Store the schedule if the stored revision is the one before its own. Return whether it is stored."""

    async def remove(self, scope: Scope, schedule_id: str) -> bool:
        """Remove a schedule. Return whether it existed."""

    def make_entry(self, scope: Scope, schedule: Schedule) -> DueEntry | None:
        """Return the entry of a schedule's next slot; None if it has no next slot."""


class DueItems(Protocol):
    """Schedules, background tasks and messages that are due at a time, of all tenants.

    Every method raises ``StoreUnavailable``.
    """

    def before(self, moment: datetime) -> AsyncGenerator[Sequence[DueEntry], None]:
        """Yield pages of the items that are due at ``moment`` or earlier. The list may be some seconds behind."""

    async def load(self, entry: DueEntry) -> DueSchedule | DueTask | LaterRun | None:
        """Return the item that is due at the entry's time; None if it was begun, moved or removed since."""

    def of_thread(self, scope: Scope, thread_id: str) -> AsyncGenerator[LaterRun, None]:
        """Yield the messages of a conversation that were put off. The caller must close the iterator."""

    async def put_off(self, later: LaterRun) -> DueEntry:
        """Store a message until a later time. If it is stored already, its time changes."""

    async def settle(self, later: LaterRun) -> None:
        """Remove a message that was sent to the queue, if it still waits for the same time."""


class DelayQueue(Protocol):
    """A queue that delivers entries when they are due, at least once and in no order."""

    async def send(self, entry: DueEntry, *, seconds: int) -> None:
        """Deliver an entry after ``seconds``, at most 900. Raises ``StoreUnavailable``."""

"""Lists of schedules: a user's, and those of a tenant's users."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from baton.domain.cursors import decode, encode
from baton.domain.errors import InvalidRequest
from baton.domain.schedules.schedule import OwnedSchedule, Schedule, ScheduleStatus, derive_user_place
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.times import to_millis
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.schedules import Schedules

MAX_USERS = 100
"""Users whose schedules are read for one page of a tenant."""
_Rank: TypeAlias = tuple[int, str]
_MAX_RANK = 2 * 10**15
"""The largest first number of a rank."""
_WITHOUT_SLOT = 10**15
"""The number added to the ranks of schedules without a next slot, which come after all times."""


@dataclass(frozen=True, slots=True)
class _Position:
    """The position after which a page begins."""

    rank: _Rank
    user: str = ""
    """The user's position in the tenant's list; empty in a list of one user."""

    def encode(self) -> str:
        return encode({"at": self.rank[0], "id": self.rank[1], "user": self.user})

    @classmethod
    def decode(cls, cursor: str, *, names_user: bool) -> Self:
        match decode(cursor):
            case {"at": int(at), "id": str(digest), "user": str(user)} if (
                not isinstance(at, bool) and 0 <= at <= _MAX_RANK and user.isascii() and bool(user) == names_user
            ):
                return cls((at, digest), user)
        raise InvalidRequest("cursor was not handed out by this list.")


@dataclass(frozen=True, slots=True)
class ScheduleLists:
    """Lists of schedules, in pages: first by their next slots, then those without one by their creation."""

    schedules: Schedules
    audit: AuditLog

    async def of_user(
        self, scope: Scope, *, status: ScheduleStatus | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[OwnedSchedule], str | None]:
        """Return a page of the caller's schedules, and the next cursor or None. Raises ``InvalidRequest``."""
        position = _Position.decode(cursor, names_user=False) if cursor is not None else _Position((-1, ""))
        schedules = await self._list_after(scope, position.rank, status)
        page = schedules[:limit]
        next_cursor = _Position(make_rank(page[-1].schedule)).encode() if len(schedules) > limit else None
        return page, next_cursor

    async def of_tenant(
        self, scope: Scope, *, status: ScheduleStatus | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[OwnedSchedule], str | None]:
        """Return a page of the schedules of the tenant's users, user by user, and the cursor of the next page or None.

        A page may have fewer items than ``limit`` and still be followed by others. Raises ``Forbidden`` and
        ``InvalidRequest``.
        """
        scope.require(Permission.SCHEDULE_MANAGE, "schedule.list")
        position = _Position.decode(cursor, names_user=True) if cursor is not None else None
        await self.audit.record(scope, "schedule.list", thread_id=None, outcome="allowed", detail={})
        page: list[OwnedSchedule] = []
        read_users = 0
        async with aclosing(self.schedules.users(scope, first=position.user if position else "")) as users:
            async for user_id in users:
                if read_users == MAX_USERS:
                    return page, _Position((0, ""), derive_user_place(user_id)).encode()
                read_users += 1
                user = derive_user_place(user_id)
                after = position.rank if position is not None and position.user == user else (-1, "")
                page += await self._list_after(replace(scope, user_id=user_id), after, status)
                if len(page) > limit:
                    last = page[limit - 1]
                    return page[:limit], _Position(make_rank(last.schedule), derive_user_place(last.user_id)).encode()
        return page, None

    async def _list_after(self, owner: Scope, after: _Rank, status: ScheduleStatus | None) -> list[OwnedSchedule]:
        schedules = sorted(await self.schedules.of_user(owner), key=make_rank)
        return [
            OwnedSchedule(owner.user_id, schedule)
            for schedule in schedules
            if status in (None, schedule.status) and make_rank(schedule) > after
        ]


def make_rank(schedule: Schedule) -> _Rank:
    """Return the sort key of a schedule in lists. It has a digest of the id, because ids are too long for cursors."""
    digest = hashlib.sha256(schedule.id.encode()).hexdigest()[:16]
    if schedule.next_at is not None:
        return to_millis(schedule.next_at), digest
    return _WITHOUT_SLOT + to_millis(schedule.created_at), digest

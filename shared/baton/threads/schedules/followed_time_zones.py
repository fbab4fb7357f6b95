"""Time zones of users, with schedules that move to a user's new zone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.schedules.schedule import Schedule, ScheduleStatus
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock, LastTimeZone, TimeZones
from baton.ports.threads.schedules import Schedules
from baton.threads.schedules.due_starts import DueStarts

ATTEMPTS = 4
"""Attempts at moving a schedule that others change at the same time. At its slot the zones are compared again."""


@dataclass(frozen=True, slots=True)
class FollowedTimeZones:
    """``TimeZones`` that move a user's schedules to a new zone at once, so that none of their slots is late there.

    Agents limit the number of a user's schedules, so that a move is short. Finished schedules are not moved.
    """

    zones: TimeZones
    schedules: Schedules
    starts: DueStarts
    clock: Clock

    async def last(self, scope: Scope) -> LastTimeZone | None:
        """See ``TimeZones.last``."""
        return await self.zones.last(scope)

    async def put(self, scope: Scope, name: str) -> None:
        """See ``TimeZones.put``."""
        await self.zones.put(scope, name)
        for schedule in await self.schedules.of_user(scope):
            await self._move(scope, schedule, name)

    async def _move(self, scope: Scope, schedule: Schedule, zone: str) -> None:
        """Move a schedule to the zone if it follows the user and is not finished."""
        current: Schedule | None = schedule
        for _ in range(ATTEMPTS):
            if current is None or not _must_move(current, zone):
                return
            moved_schedule = replace(current.move(zone, self.clock.now()), revision=current.revision + 1)
            if await self.schedules.replace(scope, moved_schedule):
                await self.starts.announce_next(scope, moved_schedule)
                return
            current = await self.schedules.get(scope, schedule.id)


def _must_move(schedule: Schedule, zone: str) -> bool:
    return schedule.follows_user and schedule.zone != zone and schedule.status is not ScheduleStatus.FINISHED

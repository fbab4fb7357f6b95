"""Schedules and reminders: runs that begin at a time."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Literal

from baton_client.addresses import given, path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import Schedule

SCHEDULES = "/v1/schedules"
SCHEDULE = SCHEDULES + "/{schedule_id}"


class AsyncSchedules(AsyncResource):
    """``client.schedules``. Schedules of others, named by ``user_id``, need ``schedule:manage``."""

    async def create(
        self,
        text: str,
        *,
        at: datetime | str | None = None,
        rule: str | None = None,
        time_zone: str | None = None,
        ends_at: datetime | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        id: str | None = None,  # noqa: A002 - its name in the API
    ) -> Schedule:
        """Schedule ``text`` for an agent, at a time or by a ``rule`` of RFC 5545. A repeated ``id`` adds no other.

        A time without an offset is in ``time_zone``; the value ``user`` means the zone in which the user currently is.
        """
        body = given(
            id=id or str(uuid.uuid4()),
            text=text,
            at=_format_time(at),
            rule=rule,
            timeZone=self._choose_zone(time_zone),
            endsAt=_format_time(ends_at),
            agentId=agent_id,
            threadId=thread_id,
        )
        return await self._post(SCHEDULES, Schedule, body)

    def list(
        self,
        *,
        status: Literal["active", "paused", "finished"] | None = None,
        scope: Literal["user", "tenant"] | None = None,
        limit: int | None = None,
    ) -> AsyncPager[Schedule]:
        """List schedules, the next to run first; with ``scope="tenant"`` those of all users, user by user."""
        return self._list(SCHEDULES, Schedule, status=status, scope=scope, limit=limit)

    async def get(self, schedule_id: str, *, user_id: str | None = None) -> Schedule:
        """Return a schedule."""
        return await self._get(path(SCHEDULE, schedule_id=schedule_id), Schedule, userId=user_id)

    async def change(
        self,
        schedule_id: str,
        *,
        text: str | None = None,
        at: datetime | str | None = None,
        rule: str | None = None,
        paused: bool | None = None,
        user_id: str | None = None,
    ) -> Schedule:
        """Change a schedule, or pause and resume it. Another user's schedule can only be paused and resumed."""
        body = given(text=text, at=_format_time(at), rule=rule, paused=paused)
        address = path(SCHEDULE, schedule_id=schedule_id)
        schedule: Schedule = await self._send("PATCH", address, Schedule, json=body, params={"userId": user_id})
        return schedule

    async def delete(self, schedule_id: str, *, user_id: str | None = None) -> None:
        """Cancel a schedule. A run that has begun continues."""
        await self._delete(path(SCHEDULE, schedule_id=schedule_id), None, userId=user_id)


def _format_time(moment: datetime | str | None) -> str | None:
    return moment.isoformat() if isinstance(moment, datetime) else moment

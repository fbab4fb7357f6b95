"""The time zone of a run's user: told by the request, else known from the session, else from the user's last one."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.identity import Scope
from baton.domain.thread import Thread
from baton.ports.time_zones import TimeZones


@dataclass(slots=True)
class RunTimeZone:
    """The time zone whose days count in a run.

    The user's last zone is read at the beginning of a session only. After that the thread knows it, so that a turn
    costs no further request to the store.
    """

    zones: TimeZones
    scope: Scope
    thread: Thread
    told: str | None
    """The zone that the request tells; None if it tells none."""
    _last: str | None = None
    """The zone that the user was in last; None if it was not read, or none is known."""

    @property
    def name(self) -> str | None:
        """Return the zone, once ``find`` has ended where it must be waited for; None if none is known."""
        if self.told is not None:
            return self.told
        return self._last if self.thread.is_new_session else self.thread.time_zone

    @property
    def must_be_found(self) -> bool:
        """Return whether only ``find`` can tell the zone."""
        return self.told is None and self.thread.is_new_session

    async def find(self) -> None:
        """Read the user's last zone if a session begins. Raises ``StoreUnavailable``."""
        if self.thread.is_new_session:
            last = await self.zones.last(self.scope)
            self._last = last.name if last is not None else None

    async def keep(self) -> None:
        """Store the zone that the request tells as the user's last one, if it is another. Raises ``StoreUnavailable``.

        ``find`` must have ended.
        """
        known = self._last if self.thread.is_new_session else self.thread.time_zone
        if self.told is not None and self.told != known:
            await self.zones.put(self.scope, self.told)

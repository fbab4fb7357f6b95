"""The time zone whose days count in a run."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.clock import TimeZones


@dataclass(slots=True)
class RunTimeZone:
    """The time zone whose days count in a run.

    The user's last zone is read at the beginning of a session only. After that the thread knows it, so that a turn
    costs no further request to the store.
    """

    zones: TimeZones
    scope: Scope
    thread: Thread
    requested: str | None
    """The zone in the request; None if it has none."""
    _last: str | None = None
    """The user's last zone; None if it was not read, or none is known."""

    @property
    def name(self) -> str | None:
        """The zone; None if none is known. If ``must_be_found``, it is valid only after ``find``."""
        if self.requested is not None:
            return self.requested
        return self._last if self.thread.is_new_session else self.thread.time_zone

    @property
    def must_be_found(self) -> bool:
        """True if ``name`` is valid only after ``find``."""
        return self.requested is None and self.thread.is_new_session

    async def find(self) -> None:
        """Read the user's last zone if a session begins. Raises ``StoreUnavailable``."""
        if self.thread.is_new_session:
            last = await self.zones.last(self.scope)
            self._last = last.name if last is not None else None

    async def keep(self) -> None:
        """Store the request's zone as the user's last one, if it differs from the session's.

        Call this after ``find``. Raises ``StoreUnavailable``.
        """
        session_zone = self._last if self.thread.is_new_session else self.thread.time_zone
        if self.requested is not None and self.requested != session_zone:
            await self.zones.put(self.scope, self.requested)

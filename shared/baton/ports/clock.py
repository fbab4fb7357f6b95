"""Time and random ids, behind a port so that tests can control them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Time and new ids."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    def new_id(self) -> str:
        """Return a fresh random UUID (version 4)."""
        ...


class SystemClock:
    """The machine's clock and random generator."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def new_id(self) -> str:
        return str(uuid.uuid4())

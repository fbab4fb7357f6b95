"""Time and chance, so that rules can be tested without either."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Time and new ids."""

    def now(self) -> datetime:
        """The current time, aware, in UTC."""
        ...

    def new_id(self) -> str:
        """A fresh random UUID (version 4)."""
        ...


class SystemClock:
    """The machine's own clock and randomness."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def new_id(self) -> str:
        return str(uuid.uuid4())

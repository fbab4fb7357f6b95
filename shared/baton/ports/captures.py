"""Captures of procedures: their records, and the pipeline that carries them out."""

from __future__ import annotations

from datetime import date
from typing import Protocol

from baton.domain.capture import Capture, CaptureRef
from baton.domain.identity import Scope


class CaptureStore(Protocol):
    """The records of captures, kept with their thread. The thread's ownership must have been checked before.

    Methods raise ``StoreUnavailable``.
    """

    async def get(self, scope: Scope, ref: CaptureRef) -> Capture | None:
        """Return the record; None if no step has been carried out."""
        ...

    async def save(self, scope: Scope, capture: Capture) -> Capture:
        """Store the result of a step, and return what is stored.

        The first result of a step counts: a record that is further, or settled, stays as it is and is returned. A
        failed one is replaced.
        """
        ...

    async def take_allowance(self, scope: Scope, agent_id: str, day: date, limit: int) -> bool:
        """Count one capture of the agent on this day; return False, without counting, if there were ``limit``."""
        ...


class Captures(Protocol):
    """Starts the pipeline that captures procedures (Step Functions)."""

    async def start(self, scope: Scope, ref: CaptureRef, *, attempt: int) -> None:
        """Start the pipeline. Repeating an ``attempt`` is no error. Raises ``StoreUnavailable``."""
        ...

"""The progress of work that a worker carries out. Each note costs a write, and an event to connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from baton.domain.schedules.background_task import shorten_progress
from baton.failures.reports import in_background

PAUSE_SECONDS = 2.0
"""The shortest pause between two notes, as between the labels of a call that users wait for."""


class ProgressNotes:
    """The notes of one attempt. If reports come faster than every two seconds, only the latest is noted."""

    def __init__(self, note: Callable[[str], Awaitable[None]]) -> None:
        """``note`` stores a line of progress."""
        self._note = note
        self._last = ""
        self._waiting: str | None = None
        self._noting: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    def report(self, label: str) -> None:
        """Take a line of progress, and have it stored soon. A repeated line, or one after the end, is ignored."""
        line = shorten_progress(str(label))
        if not line or line == self._last or self._end.is_set():  # tasks that the work has begun may outlast it
            return
        self._last = self._waiting = line
        if self._noting is None or self._noting.done():
            self._noting = in_background(self._note_reports(), "progress of a task in the background")

    async def end(self) -> None:
        """End the notes. A report that still waits is dropped, because the result follows."""
        self._end.set()
        if self._noting is not None:
            await asyncio.wait([self._noting])

    async def _note_reports(self) -> None:
        while self._waiting is not None and not self._end.is_set():
            line, self._waiting = self._waiting, None
            await self._note(line)
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE_SECONDS):
                    await self._end.wait()


def discard_progress(_label: str) -> None:
    """Drop a report that nobody looks at."""

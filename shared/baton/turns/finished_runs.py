"""Finished runs, as turns return them."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A committed run: the thread after the commit, and the run's messages."""

    thread: Thread
    messages: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A committed run, and whether the caller has received its events."""

    finished: FinishedRun
    was_sent: bool

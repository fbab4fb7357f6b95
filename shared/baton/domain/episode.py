"""Episodes: one session of a thread, from its first message since the last end to its own end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from baton.domain.thread import Thread
from baton.domain.usage import Usage


class EndReason(StrEnum):
    """Why the session ended."""

    USER_CLOSED = "UserClosed"
    TIMEOUT = "Timeout"
    AGENT_CLOSED = "AgentClosed"


class EpisodeStatus(StrEnum):
    """The state of the closing pipeline."""

    PENDING = "pending"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EpisodeRef:
    """An ended session and its range of messages. The episode is built from it."""

    thread_id: str
    number: int
    """The number of the session in its thread, from 1."""
    first_ordinal: int
    end_ordinal: int
    """One beyond the last message."""
    reason: EndReason
    ended_at: datetime

    @property
    def id(self) -> str:
        """Derived from thread and number, so that closing twice makes one episode."""
        return episode_id(self.thread_id, self.number)


def ended_session(thread: Thread, end_ordinal: int, reason: EndReason, at: datetime) -> EpisodeRef | None:
    """Return the session that ends before ``end_ordinal``; None if it has no messages or the thread is a fork."""
    if end_ordinal <= thread.episode_first_ordinal or thread.parent_thread_id is not None:
        return None
    return EpisodeRef(thread.id, thread.episode, thread.episode_first_ordinal, end_ordinal, reason, at)


@dataclass(frozen=True, slots=True)
class Episode:
    """The complete record of a session. Its messages and tool calls stay in the thread and are not copied.

    The ordinals of ``ref`` identify them. A tool call belongs to the first ordinal of its run.
    """

    ref: EpisodeRef
    user_id: str
    agent_ids: tuple[str, ...]
    status: EpisodeStatus
    started_at: datetime
    """The time of its first message."""
    message_count: int
    usage: Usage


def episode_id(thread_id: str, number: int) -> str:
    """Return the id of a thread's ``number``-th episode."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"episode\0{number}"))

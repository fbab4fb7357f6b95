"""Episodes: one session of a thread, from its first message since the last end to its own end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from baton.domain.thread import Thread
from baton.domain.usage import Usage


class EndReason(StrEnum):
    """Who or what ended the session."""

    USER_CLOSED = "UserClosed"
    TIMEOUT = "Timeout"
    AGENT_CLOSED = "AgentClosed"


class EpisodeStatus(StrEnum):
    """How far the closing pipeline has come."""

    PENDING = "pending"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EpisodeRef:
    """A session that has ended: which messages of the thread it holds. Enough to build the episode from."""

    thread_id: str
    number: int
    """Of the thread's sessions, from 1."""
    first_ordinal: int
    end_ordinal: int
    """One beyond the last message."""
    reason: EndReason
    ended_at: datetime

    @property
    def id(self) -> str:
        """Derived, so that closing twice makes one episode."""
        return episode_id(self.thread_id, self.number)


def ended_session(thread: Thread, end_ordinal: int, reason: EndReason, at: datetime) -> EpisodeRef | None:
    """The session of ``thread`` that ends before ``end_ordinal``; None if nothing was said in it, or it is a fork."""
    if end_ordinal <= thread.episode_first_ordinal or thread.parent_thread_id is not None:
        return None
    return EpisodeRef(thread.id, thread.episode, thread.episode_first_ordinal, end_ordinal, reason, at)


@dataclass(frozen=True, slots=True)
class Episode:
    """The complete record of a session. Its messages and tool calls stay in the thread and are not copied.

    Which they are, the ordinals of ``ref`` say: a tool call belongs to the first ordinal of its run.
    """

    ref: EpisodeRef
    user_id: str
    agent_ids: tuple[str, ...]
    status: EpisodeStatus
    started_at: datetime
    """When its first message was said."""
    message_count: int
    usage: Usage


def episode_id(thread_id: str, number: int) -> str:
    """The id of a thread's ``number``-th episode."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"episode\0{number}"))

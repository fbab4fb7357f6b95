"""Episodes: one session of a thread, from its first message since the last end to its own end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from baton.domain.desks.desk_session import Person
from baton.domain.runs.usage import Usage
from baton.domain.schedules.run_source import RunSource
from baton.domain.threads.message import EVENT, Role
from baton.domain.threads.thread import EndReason, Thread
from baton.domain.times import day_in


class EpisodeStatus(StrEnum):
    """The state of the closing pipeline."""

    PENDING = "pending"
    COMPLETE = "complete"
    """It has run to its end. Parts may be missing that need a model or the search engine."""
    FAILED = "failed"


class EpisodePart(StrEnum):
    """A part that the pipeline adds to an episode. A part that is not wanted counts as added."""

    SUMMARY = "summary"
    """The summary and the facts, as the model wrote them."""
    FACTS = "facts"
    """The facts, compared with those of earlier episodes."""
    INDEX = "index"
    """Its documents in the search index."""


MAX_ATTEMPTS = 10
"""Runs of the pipeline for an episode with missing parts. With growing pauses they take more than a day."""
MAX_SUMMARY = 2_000
"""Characters."""
MAX_FACTS = 60
"""Facts of an episode."""
MAX_FACT = 300
"""Characters of a fact."""


@dataclass(frozen=True, slots=True)
class EpisodeRef:
    """An ended session and its range of messages. The episode is built from it."""

    thread_id: str
    number: int
    """The number of the session in its thread, from 1."""
    first_ordinal: int
    end_ordinal: int
    """One beyond the last message. Messages of other branches are not part of the session, wherever they are stored."""
    reason: EndReason
    ended_at: datetime
    thread_created_at: datetime | None = None
    """The time that distinguishes it from a session of a forgotten thread with this id; None in older records."""
    closed_by: Person | None = None
    """The person of a desk who has closed it; None for every other reason."""
    desk_id: str | None = None
    """The desk at which it ended; None if it ended at none."""

    @property
    def id(self) -> str:
        """Derived from thread and number, so that closing twice makes one episode."""
        return episode_id(self.thread_id, self.number)

    def select_branch(self, thread: Thread) -> Thread:
        """Return the thread with the branch that was selected when the session ended."""
        return thread.continued_from(self.end_ordinal - 1)


def ended_session(
    thread: Thread, end_ordinal: int, reason: EndReason, at: datetime, *, closed_by: Person | None = None
) -> EpisodeRef | None:
    """Return the session that ends before ``end_ordinal``; None if it has no messages or the thread is a fork."""
    if end_ordinal <= thread.episode_first_ordinal or thread.parent_thread_id is not None:
        return None
    return EpisodeRef(
        thread.id,
        thread.episode,
        thread.episode_first_ordinal,
        end_ordinal,
        reason,
        at,
        thread.created_at,
        closed_by,
        desk_id=thread.active_agent_id if thread.conversation.desk is not None else None,
    )


@dataclass(frozen=True, slots=True)
class EpisodeMessage:
    """A message of an episode, as it is shown, embedded and injected later."""

    id: str
    ordinal: int
    role: Role
    content: str
    """The text as it was said."""
    timestamp: datetime
    agent_id: str | None = None
    author: Person | None = None
    """The person of a desk who wrote it."""
    begun_by: RunSource | None = None
    """The source of the run, if no message of the user has begun it and this is its first message."""
    redacted_content: str | None = None
    """The text without personal data; None if it contains none."""
    time_zone: str | None = None
    """The user's time zone then; None if it is not known."""
    is_filtered: bool = False
    """True if it was said in a run that a model's content filter stopped. In a prompt, it would stop that too."""

    @property
    def shown_role(self) -> str:
        """See ``StoredMessage.shown_role``."""
        return EVENT if self.begun_by is not None else self.role.value

    @property
    def day(self) -> date:
        """The user's day when it was said; the day in UTC if their time zone is not known."""
        return day_in(self.time_zone, self.timestamp)

    @property
    def contains_pii(self) -> bool:
        """Whether personal data was found in it."""
        return self.redacted_content is not None

    @property
    def text(self) -> str:
        """The text that is indexed and injected."""
        return self.content if self.redacted_content is None else self.redacted_content


@dataclass(frozen=True, slots=True)
class Fact:
    """A key fact of an episode, in redacted words."""

    id: str
    """Derived from its episode and its text."""
    text: str
    on: date
    """The day that it was said or is about."""
    message_ids: tuple[str, ...] = ()
    """The messages that it was taken from."""
    superseded_at: datetime | None = None
    """The time at which a later fact contradicted it; None while it is valid."""
    superseded_by: str | None = None
    """The id of that fact."""


def fact_id(episode: str, text: str) -> str:
    """Return the id of a fact, from its episode's id and its words."""
    return f"fact_{uuid.uuid5(uuid.UUID(episode), f'fact{chr(0)}{text}').hex}"


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
    summary: str | None = None
    """At most 2,000 characters; None if there is none (yet)."""
    facts: tuple[Fact, ...] = ()
    parts: frozenset[EpisodePart] = frozenset()
    """The parts that the pipeline has added."""
    attempts: int = 0
    """Complete runs of the pipeline."""
    time_zone: str | None = None
    """The user's time zone when it began; None if it is not known."""

    @property
    def began_on(self) -> date:
        """The user's day when it began; the day in UTC if their time zone is not known."""
        return day_in(self.time_zone, self.started_at)

    @property
    def missing(self) -> tuple[EpisodePart, ...]:
        """The parts that a later run of the pipeline may add."""
        return tuple(part for part in EpisodePart if part not in self.parts)

    @property
    def is_settled(self) -> bool:
        """Whether the pipeline need not run again: nothing is missing, or it has been tried often enough."""
        return self.status is EpisodeStatus.COMPLETE and (not self.missing or self.attempts >= MAX_ATTEMPTS)


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A session as it was recorded at its end, and its episode."""

    ref: EpisodeRef
    episode: Episode | None
    """None until it is stored."""


def episode_id(thread_id: str, number: int) -> str:
    """Return the id of a thread's ``number``-th episode."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"episode\0{number}"))

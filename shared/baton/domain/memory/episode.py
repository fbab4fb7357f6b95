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
from baton.domain.times import find_day


class EpisodeStatus(StrEnum):
    """The state of the closing pipeline."""

    PENDING = "pending"
    COMPLETE = "complete"
    """The pipeline has ended. Parts that need a model or the search engine may be missing."""
    FAILED = "failed"


class EpisodePart(StrEnum):
    """A part that the pipeline adds to an episode. A part that is switched off counts as added."""

    SUMMARY = "summary"
    """The summary and the facts, as the model wrote them."""
    FACTS = "facts"
    """The facts, compared with those of earlier episodes."""
    INDEX = "index"
    """Its documents in the search index."""


MAX_ATTEMPTS = 10
"""Runs of the pipeline for an episode with missing parts. With growing pauses they take more than a day."""
MAX_SUMMARY = 2_000
"""Characters of an episode's summary."""
MAX_FACTS = 60
"""Facts of an episode."""
MAX_FACT = 300
"""Characters of a fact."""


@dataclass(frozen=True, slots=True)
class EpisodeRef:
    """An ended session and its range of messages, from which the episode is built."""

    thread_id: str
    number: int
    """The number of the session in its thread, from 1."""
    first_ordinal: int
    end_ordinal: int
    """One beyond the last message. Messages of other branches are not part of the session, wherever they are stored."""
    reason: EndReason
    ended_at: datetime
    thread_created_at: datetime | None = None
    """The time that distinguishes the thread from a forgotten one with the same id; None in older records."""
    closed_by: Person | None = None
    """The person of a desk who has closed the session; None for every other reason."""
    desk_id: str | None = None
    """The desk at which the session ended; None if it was at no desk."""

    @property
    def id(self) -> str:
        """The episode's id, derived from thread and number, so that closing twice makes one episode."""
        return derive_episode_id(self.thread_id, self.number)

    def select_branch(self, thread: Thread) -> Thread:
        """Return the thread with the branch that was selected when the session ended."""
        return thread.continue_from(self.end_ordinal - 1)


def make_episode_ref(
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
    """A message of an episode, as it is shown, embedded and put into prompts later."""

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
    """The cause of the run, if this is the first message of a run that no message of the user has begun."""
    redacted_content: str | None = None
    """The text without personal data; None if it contains none."""
    time_zone: str | None = None
    """The user's time zone at the time of the message; None if it is not known."""
    is_filtered: bool = False
    """True if it was said in a run that a model's content filter stopped. It would stop later prompts too."""

    @property
    def shown_role(self) -> str:
        """The role that readers see: see ``StoredMessage.shown_role``."""
        return EVENT if self.begun_by is not None else self.role.value

    @property
    def day(self) -> date:
        """The day of the message for the user; the day in UTC if their time zone is not known."""
        return find_day(self.time_zone, self.timestamp)

    @property
    def contains_pii(self) -> bool:
        """Whether personal data was found in it."""
        return self.redacted_content is not None

    @property
    def text(self) -> str:
        """The text that is indexed and put into prompts, without personal data."""
        return self.content if self.redacted_content is None else self.redacted_content


@dataclass(frozen=True, slots=True)
class Fact:
    """A key fact of an episode, in redacted words."""

    id: str
    """The id, derived from episode and text: see ``derive_fact_id``."""
    text: str
    on: date
    """The day on which it was said, or that it is about."""
    message_ids: tuple[str, ...] = ()
    """The messages from which it was taken."""
    superseded_at: datetime | None = None
    """The time at which a later fact contradicted it; None while it is valid."""
    superseded_by: str | None = None
    """The id of the later fact."""


def derive_fact_id(episode: str, text: str) -> str:
    """Return the id of a fact, from its episode's id and its words."""
    return f"fact_{uuid.uuid5(uuid.UUID(episode), f'fact{chr(0)}{text}').hex}"


@dataclass(frozen=True, slots=True)
class Episode:
    """The complete record of a session. Its messages and tool calls are not copied from the thread.

    The ordinals of ``ref`` identify the messages. A tool call belongs to the first ordinal of its run.
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
    """At most ``MAX_SUMMARY`` characters; None if there is no summary (yet)."""
    facts: tuple[Fact, ...] = ()
    parts: frozenset[EpisodePart] = frozenset()
    """The parts that the pipeline has added."""
    attempts: int = 0
    """The number of complete runs of the pipeline."""
    time_zone: str | None = None
    """The user's time zone when the session began; None if it is not known."""

    @property
    def began_on(self) -> date:
        """The day on which the session began for the user; the day in UTC if their time zone is not known."""
        return find_day(self.time_zone, self.started_at)

    @property
    def missing(self) -> tuple[EpisodePart, ...]:
        """The parts that a later run of the pipeline may add."""
        return tuple(part for part in EpisodePart if part not in self.parts)

    @property
    def is_settled(self) -> bool:
        """Whether the pipeline need not run again: nothing is missing, or it has run ``MAX_ATTEMPTS`` times."""
        return self.status is EpisodeStatus.COMPLETE and (not self.missing or self.attempts >= MAX_ATTEMPTS)


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A session that has ended, and its episode."""

    ref: EpisodeRef
    episode: Episode | None
    """The episode; None until it is stored."""


def derive_episode_id(thread_id: str, number: int) -> str:
    """Return the id of a thread's ``number``-th episode."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"episode\0{number}"))

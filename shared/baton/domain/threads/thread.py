"""A thread: one conversation, shared by every agent that takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from baton.domain.desks.desk_session import DeskSession
from baton.domain.handoffs.handoff import HandoffPlace, HandoffRequest
from baton.domain.handoffs.workflow import Workflow
from baton.domain.runs.interrupt import Interrupt, PendingInterrupts
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.threads.branches import MessagePath, Segments, continue_from, find_path
from baton.domain.threads.history_window import HistoryWindow


class EndReason(StrEnum):
    """The reason why a session ended."""

    USER_CLOSED = "UserClosed"
    PERSON_CLOSED = "PersonClosed"
    """The person of a desk who had taken the conversation has closed it."""
    TIMEOUT = "Timeout"
    AGENT_CLOSED = "AgentClosed"


@dataclass(frozen=True, slots=True)
class ConversationState:
    """The state that a thread stores between runs."""

    agent_id: str
    """The agent that answers the next message."""
    handoff: HandoffPlace | None = None
    """The handoff that made the agent active; None for the main agent."""
    workflow: Workflow | None = None
    """The current workflow, without its collected data."""
    resumable: tuple[Workflow, ...] = ()
    """The user's unfinished workflows that can be continued here, latest change first, without their data."""
    taught_at: datetime | None = None
    """The time at which the last skill was made in this thread. Caches of procedures must be newer."""
    data: Mapping[str, Any] | None = None
    """The data that tools keep in the conversation; None if none was ever stored."""
    desk: DeskSession | None = None
    """The state at the desk that is active; None if no desk is."""


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """All changes of the conversation state by a run. Every attempt to commit the run applies them first."""

    conversation: ConversationState
    handoffs: tuple[HandoffRequest, ...] = ()
    """Handoffs that the run has begun, ended or refused."""
    workflows: tuple[Workflow, ...] = ()
    """Workflows that the run has changed, with their data."""
    moved_from: Workflow | None = None
    """The workflow that is continued here, as it was read in its former thread; without its data."""
    offered_id: str | None = None
    """The workflow that the user was offered to continue."""


DEFAULT_LEASE_SECONDS = 30
ZOMBIE_SECONDS = 16 * 60
"""Seconds after which no write of a lost worker can arrive. No worker, upload URL or request lives over 15 minutes."""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """The times of a lease, in seconds. They depend on each other: ``of`` scales them together."""

    lease: float = DEFAULT_LEASE_SECONDS
    """The time from a renewal to the lease's end."""
    renew: float = 10.0
    """The time from one renewal to the next."""
    refresh: float = 2.0
    """Seconds between a worker's checks for watchers, requests to stop, and requests for a sign of life."""
    quiet: float = 1.5
    """Seconds after a run's last sign of life after which its worker is asked for another."""
    answered: float = 10.0
    """The same after the worker has answered. It then renews its lease this often without being asked."""
    answer: float = 6.0
    """Seconds after the question at which a worker that has not answered is presumed dead."""
    hidden: float = 9.0
    """The largest number of seconds for which a queue record stays hidden after its worker has died."""
    hidden_again: float = 45.0
    """The same from a run's second attempt on, so that a worker that pauses for seconds keeps its record."""
    extend: float = 3.0
    """The time from one extension of a record's hiding to the next, and the longest that an extension may take."""
    extend_again: float = 1.0
    """The time from an extension that failed to the next one."""
    margin: float = 2.0
    """The time before the lease's end in which nothing is posted, because a successor's post could overtake it."""
    losing: float = 2.5
    """A record that stays hidden for fewer seconds has missed two or more extensions, and will soon be lost."""

    @classmethod
    def of(cls, lease_seconds: float) -> Self:
        """Return the times for a lease of this many seconds.

        ``refresh`` never grows, so that a longer lease does not delay cancellations or new watchers.
        """
        share, usual = lease_seconds / DEFAULT_LEASE_SECONDS, cls()
        scaled = {field.name: getattr(usual, field.name) * share for field in fields(cls)}
        return cls(**scaled | {"refresh": min(usual.refresh, scaled["refresh"])})

    def choose_hidden_seconds(self, attempt: int) -> float:
        """Return the seconds for which to hide a record during its ``attempt``-th attempt, counted from 1."""
        return self.hidden if attempt == 1 else self.hidden_again


USUAL_TIMES = LeaseTimes()
"""The times of a deployment."""


class ThreadStatus(StrEnum):
    """The status of a thread. A message to a closed thread reopens it."""

    ACTIVE = "active"
    CLOSED = "closed"


class RunStatus(StrEnum):
    """The status of a thread's run in progress."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """Its worker stopped renewing the lease. The next worker takes over the run."""


@dataclass(frozen=True, slots=True)
class LeaseMark:
    """A lease as other workers see it. It changes when its holder renews it."""

    fence: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """The run in progress of a thread."""

    run_id: str
    message_id: str
    attempt: int
    """1 for the first worker, one more for each takeover."""
    status: RunStatus = RunStatus.RUNNING


@dataclass(frozen=True, slots=True)
class SessionVersions:
    """The versions of the tenant's agents that have taken part in a session, which keeps using them."""

    session: int
    numbers: Mapping[str, int]
    """The numbers of the versions, by the agent's id."""


@dataclass(frozen=True, slots=True)
class Watchers:
    """The connections that watch a thread, as the worker of its last run knew them."""

    changes: int
    """``Thread.live_changes`` at the time. While it is unchanged, the connections are up to date."""
    connections: Mapping[str, datetime]
    """Connection ids, each with the time at which its token expires."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as last committed, and its run in progress, if any."""

    id: str
    user_id: str
    agent_id: str
    """The main agent."""
    conversation: ConversationState
    status: ThreadStatus
    episode: int
    """The number of the current session, or of the next one if the thread is closed."""
    usage: Usage
    run: Run | None
    next_ordinal: int
    """The pointer: messages at and beyond it are not (yet) part of the conversation."""
    last_seq: int
    """The last sequence number of the last committed run."""
    reserved_seq: int
    """The last sequence number that may have been sent. It exceeds ``last_seq`` only while a run is in progress."""
    stored_tokens: int
    """Tokens of all messages below the pointer."""
    created_at: datetime
    last_activity_at: datetime
    parent_thread_id: str | None = None
    episode_first_ordinal: int = 0
    """The ordinal of the first message of the current session, or of the next one."""
    pending: PendingInterrupts | None = None
    """The interrupts of the last run. A message cancels them."""
    windows: tuple[HistoryWindow, ...] = ()
    """The beginnings of the main and the active agent's histories, unless they are at the first message."""
    segments: Segments = ()
    """The segments of its branches; empty for a thread without branches."""
    has_tasks: bool = False
    """Whether A2A tasks have begun in it."""
    notifies: bool = False
    """Whether clients want to be notified of its A2A tasks."""
    title: str | None = None
    """The title; None until the user has set one, or Baton has made one after an answer."""
    preview: str | None = None
    """The beginning of its first message, without personal data; None until Baton has made it with the title."""
    has_feedback: bool = False
    """Whether the user has rated an answer."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model. The sum is less than ``usage`` if some models are not known."""
    last_error: str | None = None
    """The error code of the last run that ended with an error; None if none did."""
    time_zone: str | None = None
    """The user's time zone in its last run; None if it is not known."""
    versions: SessionVersions | None = None
    """The versions of agents in the last session in which agents with versions took part; None if there was none."""
    unread: int = 0
    """The number of answers that the user has not read."""
    awaits_user: bool = False
    """Whether a run that began by itself has said something, and the user has not written since."""
    messages_fence: int | None = field(default=None, compare=False)
    """The fence under which the newest messages were written; None if it is not known."""
    messages_may_change: bool = field(default=False, compare=False)
    """Whether stored messages may change: the last run's question was replaced, or it requested a summary in a fork."""
    summary_at: int | None = field(default=None, compare=False)
    """The ordinal of the message with which the summary that the last run requested is, or will be, stored."""
    live_changes: int = field(default=0, compare=False)
    """A count that grows when a connection is attached or a run is asked to stop."""
    watchers: Watchers | None = field(default=None, compare=False)
    """The connections as of the last commit; None if they were not known, or too many."""
    lease: LeaseMark | None = field(default=None, compare=False)
    """The current or expired lease; None if the last one was released."""

    first_readable: int | None = field(default=None, compare=False)
    """The ordinal of the first message that the reader may see, if it is a person of a desk; None for other readers."""

    @property
    def known_watchers(self) -> Mapping[str, datetime] | None:
        """The attached connections with the times at which their tokens expire; None if they are not known."""
        if self.watchers is None or self.watchers.changes != self.live_changes:
            return None
        return self.watchers.connections

    @property
    def pinned(self) -> Mapping[str, int]:
        """The versions of the tenant's agents that the current session keeps, by the agent's id."""
        return self.versions.numbers if self.versions is not None and self.versions.session == self.episode else {}

    def with_pinned(self, numbers: Mapping[str, int]) -> SessionVersions | None:
        """Return the session's versions after a run with the versions ``numbers``; None if nothing changes."""
        pinned = {**self.pinned, **numbers}
        return SessionVersions(self.episode, pinned) if pinned != self.pinned else None

    @property
    def path(self) -> MessagePath:
        """The messages of the selected branch that the reader may see."""
        path = find_path(self.segments, self.next_ordinal)
        return path.cut(self.next_ordinal, self.first_readable) if self.first_readable else path

    def continue_from(self, ordinal: int) -> Thread:
        """Return the thread with a branch selected so that the next message continues from the message ``ordinal``."""
        return replace(self, segments=continue_from(self.segments, self.next_ordinal, ordinal))

    @property
    def is_branching(self) -> bool:
        """Whether the next message does not continue from the message stored before it."""
        return bool(self.segments) and self.segments[-1].start == self.next_ordinal

    @property
    def unbranched(self) -> Thread:
        """The thread as if every message continued from the one stored before it: all branches in succession."""
        return replace(self, segments=()) if self.segments else self

    @property
    def open_interrupts(self) -> tuple[Interrupt, ...]:
        """The interrupts for whose answers the thread waits."""
        return self.pending.open if self.pending is not None else ()

    @property
    def active_agent_id(self) -> str:
        """The agent that answers the next message."""
        return self.conversation.agent_id

    @property
    def is_interrupted(self) -> bool:
        """Whether its run's worker has died and no other worker has taken over the run."""
        return self.run is not None and self.run.status is RunStatus.INTERRUPTED

    def is_in_run(self, run_id: str | None) -> bool:
        """Return whether this run is in progress."""
        return self.run is not None and self.run.run_id == run_id

    @property
    def is_handed_over(self) -> bool:
        """Whether a specialist is active."""
        return self.conversation.handoff is not None

    @property
    def is_new_session(self) -> bool:
        """Whether the current session has no messages yet."""
        return self.next_ordinal == self.episode_first_ordinal

    @property
    def latest_episode(self) -> int:
        """The number of the current session, or of the last one if the thread is closed."""
        return self.episode if self.status is ThreadStatus.ACTIVE else max(1, self.episode - 1)

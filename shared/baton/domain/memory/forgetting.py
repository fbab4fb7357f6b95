"""Requests to forget a user, a thread, or everything older than a tenant's retention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from baton.domain.memory.episode import derive_episode_id
from baton.domain.tenants.identity import Scope

ENFORCED_EVERY = timedelta(days=1)
"""The time between two applications of a tenant's retention."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The days for which a tenant's data are kept, by kind; None: for ever."""

    threads: int | None = None
    """Conversations, from their last activity, with everything in them."""
    episodes: int | None = None
    """Episodes, from the end of their session. The conversation's messages stay."""
    audit: int | None = None
    """Audit records, but not the handoffs of conversations that are kept."""
    uploads: int | None = None
    """Uploaded files."""
    changed_by: str = ""
    """The user who set it."""
    changed_at: datetime | None = None

    @property
    def is_limited(self) -> bool:
        """Whether data of any kind is removed at some age."""
        return any(days is not None for days in (self.threads, self.episodes, self.audit, self.uploads))


def compute_cutoff(now: datetime, days: int | None) -> datetime | None:
    """Return the time before which data are too old, for a retention of ``days``; None if they are kept for ever."""
    return None if days is None else now - timedelta(days=days)


LATE_RECORD = timedelta(minutes=15)
"""A queue record younger than this is refused by the tombstone; an older one is compared with the cut-off."""
MARK_KEPT = timedelta(days=32)
"""The time for which a cut-off is remembered: the retention of the queue (4 days) and its dead letters (14), and a
margin."""
GIVEN_UP_AFTER = timedelta(days=1)
"""The time after which a running pipeline counts as lost, so that another request starts a new one."""
MAX_ROUNDS = 5
"""Sweeps of one request. Each comes ``ZOMBIE_SECONDS`` after the previous one."""


class ForgetSubject(StrEnum):
    """The subject of a forget request."""

    USER = "user"
    THREAD = "thread"
    RETENTION = "retention"
    """All data older than the tenant's retention."""


class ForgetStatus(StrEnum):
    """The progress of a request."""

    RUNNING = "running"
    COMPLETED = "completed"
    """Every store was listed, and no data were left."""
    FAILED = "failed"
    """Data were left after the last round, or the pipeline failed. Another request starts a new pipeline."""


class NextStep(StrEnum):
    """The move of the state machine after a step."""

    SWEEP = "sweep"
    """Continue the sweep: the time of one invocation was not enough."""
    WAIT = "wait"
    """Wait until no worker that has lost its lease can still write, then sweep again."""
    VERIFY = "verify"
    """List the data that are left."""
    DONE = "done"
    INCOMPLETE = "incomplete"
    """Data are left after the last round."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request and its progress. It holds ids and counts only, and is kept like an audit record."""

    id: str
    tenant_id: str
    subject: ForgetSubject
    user_id: str
    """The user whose data are forgotten; for retention, the user who set the retention."""
    requested_by: str
    requested_at: datetime
    thread_id: str | None = None
    """The thread, if one is forgotten."""
    status: ForgetStatus = ForgetStatus.RUNNING
    round: int = 1
    """The sweep in progress, from 1."""
    cutoff_at: datetime | None = None
    """Data that began before this time are forgotten, even if this was after the request. The second sweep sets it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of removed records, by kind."""
    residue: Mapping[str, int] = field(default_factory=dict)
    """The number of records that the last verification found, by kind; empty if there were none."""
    ended_at: datetime | None = None

    def is_running(self, now: datetime) -> bool:
        """Return whether its pipeline is running, and not lost."""
        return self.status is ForgetStatus.RUNNING and now - self.requested_at < GIVEN_UP_AFTER

    @property
    def scope(self) -> Scope:
        """The scope of the data to forget."""
        return Scope(self.tenant_id, self.user_id)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one step of the pipeline."""

    next: NextStep
    counts: Mapping[str, int]
    residue: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """Changeable counts by kind, to which a sweep adds."""

    numbers: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, number: int) -> None:
        """Add ``number`` to the count of a kind. Zero makes no entry."""
        if number:
            self.numbers[kind] += number

    def add_all(self, counts: Mapping[str, int]) -> None:
        """Add ``counts``, which are by kind."""
        for kind, number in counts.items():
            self.add(kind, number)

    def merge(self, before: Mapping[str, int]) -> dict[str, int]:
        """Return the sums of these counts and those of ``before``, sorted by kind."""
        return dict(sorted((self.numbers + Counter(before)).items()))


@dataclass(frozen=True, slots=True)
class ThreadTrace:
    """The remains of a thread that is being forgotten."""

    id: str
    user_id: str | None = None
    """The thread's user; None if the thread's own item is missing and only other items are left."""
    created_at: datetime | None = None
    last_activity_at: datetime | None = None
    is_buried: bool = False
    """Whether a tombstone has replaced the thread's item."""
    buried_at: datetime | None = None
    swept: str = ""
    """The request and the round that swept it last, as one text; empty before the first."""
    run_id: str | None = None
    """The run in progress."""


@dataclass(frozen=True, slots=True)
class EpisodeTrace:
    """An episode, as retention sees it."""

    thread_id: str
    number: int
    user_id: str

    @property
    def id(self) -> str:
        """The episode's id."""
        return derive_episode_id(self.thread_id, self.number)


KEPT_DETAILS = frozenset({
    "agentId", "counts", "episodeId", "forkThreadId", "handoffId", "interruptId", "interruptIds", "messageId",
    "permission", "requestId", "runId", "skill", "sourceAgentId", "targetAgentId", "taskId", "threadId", "tool",
    "toolCallId", "userId", "version",
})  # fmt: skip
"""Details of audit records that are ids, names of definitions or numbers. Everything else may quote a conversation."""


def without_content(detail: Mapping[str, object]) -> dict[str, object]:
    """Return the part of an audit record's detail that stays when its conversation is forgotten."""
    return {name: value for name, value in detail.items() if name in KEPT_DETAILS}

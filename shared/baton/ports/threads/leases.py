"""The port to leases: the right of one worker at a time to write to a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import ConversationState, LeaseMark, Run, SessionVersions, Thread, Watchers

if TYPE_CHECKING:  # the records of the queue are models, which functions that take none need not build
    from baton.domain.threads.queued import RecordDelivery


FENCE_STEP = 2
"""The difference between a lease's own fence and the fence that it found."""
OPTIMISTIC_STEP = 1
"""The same for an optimistic lease. Every lease that is taken meanwhile has a higher fence, and none has the same."""


class LeaseBusy(Exception):
    """Another worker holds the thread's lease at least until ``lease.until``. ``run`` is the thread's run."""

    def __init__(self, run: Run | None, lease: LeaseMark) -> None:
        self.run = run
        self.lease = lease
        super().__init__(f"leased until {lease.until.isoformat()}")


class NoSuchThread(Exception):
    """The thread does not exist in this tenant, and this request may not create it.

    Clients get ``ThreadUnavailable``, as for another tenant's thread. They must not find out whether another tenant
    uses an id that they can guess.
    """


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """The purpose of a lease. The values for a new thread are used only if it does not exist yet."""

    thread_id: str
    run_id: str | None = None
    """The run to begin; None if the lease has another purpose, for which the thread must exist."""
    message_id: str | None = None
    may_create: bool = False
    agent_id: str = ""
    """The main agent of the thread, if this request creates it."""
    idle_seconds: float = 0
    """The idle timeout of that agent, in seconds."""
    parent_thread_id: str | None = None
    """The parent, if this request creates a fork. Forks are listed under their parent only."""
    delivery: RecordDelivery | None = None
    """The delivery of the queue record for which the lease is taken.

    If an earlier delivery of the same record took the current lease, this request takes over the lease at once, because
    the second delivery proves that the first worker lost the record.
    """
    begins_task: bool = False
    """True if the run belongs to an A2A task. The thread records this (``Thread.has_tasks``)."""
    notifies: bool = False
    """True if a client requests notifications of that task. The thread records this (``Thread.notifies``)."""
    versions: SessionVersions | None = None
    """The versions of agents that a new fork takes over from its parent; None: it chooses its versions itself."""
    presumed_dead: LeaseMark | None = None
    """A lease whose holder gave no sign of life when asked. It is taken over if it is still the current lease."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a thread, until ``until`` or until a worker with a higher fence takes over.

    A lease is issued only after the thread's ownership was checked, and carries the owner's scope.
    """

    scope: Scope
    thread: Thread
    """The thread as it was when the lease was taken. ``thread.run`` is the run to work on; it is an orphan if its
    worker died and no other worker finished it."""
    owner: str
    fence: int
    until: datetime
    first_seq: int
    """The first sequence number that is reserved for this lease."""
    end_seq: int
    """The first sequence number beyond the reservation."""
    delivery: RecordDelivery | None = None
    """The delivery for which it was taken, while a later delivery may take it over; None if none may."""
    is_optimistic: bool = False
    """Whether the lease is not stored, so that only its commit finds out whether the thread was free."""

    @property
    def thread_id(self) -> str:
        """The id of the thread."""
        return self.thread.id


@dataclass(frozen=True, slots=True)
class CommittedThread:
    """Attributes of the thread at the commit, which others may have changed during the run without a lease."""

    notifies: bool
    """True if clients request notifications of the thread's tasks."""
    title: str | None
    live_changes: int = 0
    """See ``Thread.live_changes``."""
    unread: int = 0
    """See ``Thread.unread``."""


@dataclass(frozen=True, slots=True)
class UnreadChange:
    """The change of a thread's unread answers by a run."""

    unread: int = 0
    """The number of answers of the run that the user has not read."""
    is_read: bool = False
    """True if the user has acted in the run, and therefore has read all earlier answers."""
    awaits_user: bool | None = None
    """See ``Thread.awaits_user``; None if it stays as it is."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The changes of a thread by a finished run."""

    next_ordinal: int
    last_seq: int
    usage: Usage
    tokens: int
    """Tokens of the messages that this run adds."""
    ended: EpisodeRef | None = None
    """The session that this run ends, if the agent has ended the conversation."""
    pending: PendingInterrupts | None = None
    """The interrupts for whose answers the thread waits from now on; None clears earlier ones."""
    conversation: ConversationState | None = None
    """The new conversation state; None if it has not changed."""
    windows: tuple[HistoryWindow, ...] | None = None
    """The new windows of agents' histories; None if they have not changed."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model of the run."""
    error_code: str | None = None
    """The code of the error with which the run ended; None if it did not fail."""
    time_zone: str | None = None
    """The user's new time zone; None if it has not changed."""
    messages_may_change: bool = False
    """True if stored messages may change: a guardrail has replaced the question, or a fork gets a summary."""
    summary_at: int | None = None
    """The ordinal of the message with which the summary that the run requests will be stored; None without one."""
    messages_fence: int | None = None
    """The fence under which the messages were written; None if it is the lease's."""
    watchers: Watchers | None = None
    """The connections to which the worker has delivered; None if it does not know all of them."""
    check_at: datetime | None = None
    """The time of the sweeper's next check of a thread at a desk; None: the time does not change."""
    reading: UnreadChange = UnreadChange()
    versions: SessionVersions | None = None
    """The versions of agents that the session keeps from now on; None if they have not changed."""

    @property
    def may_change(self) -> bool:
        """Whether stored messages of the run may change after they were first written."""
        return self.messages_may_change or self.summary_at is not None


class Leases(Protocol):
    """Leases of threads, and changes that need one.

    After a takeover, methods with a lease raise ``LeaseLost``; ``release`` and ``abandon`` do nothing then.
    """

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        """Take the thread's lease, creating the thread if allowed, and reserve sequence numbers.

        Raises ``LeaseBusy`` while another lease is valid that the request may not take over, ``NoSuchThread`` for an
        unknown thread that the request may not create, and ``ThreadUnavailable`` for a thread that is deleted, another
        user's or another parent's fork, and for an id that another tenant uses.
        """

    async def acquire_optimistically(self, scope: Scope, thread_id: str, run: Run) -> Lease | None:
        """Read the user's thread and return a lease for ``run`` without writing one.

        The lease writes turns and messages only where no worker with an equal or higher fence has written, and commits
        only if nobody has taken a lease or committed since. Every other change raises ``LeaseLost``; a release changes
        nothing.

        Return None if the user has no such thread, if it has a run or a lease, even an expired one, or if nothing was
        ever committed to it.
        """

    async def renew(self, lease: Lease, *, used_seq: int, without_record: bool = False) -> Lease:
        """Extend the lease, and the reservation of sequence numbers when ``used_seq`` comes near its end.

        ``without_record``: from now on, a later delivery of its queue record may not take over the lease.
        """

    async def release(self, lease: Lease) -> None:
        """Release the lease without changes, and clear the run for which it was taken."""

    async def abandon(self, lease: Lease) -> None:
        """End the lease now with its run unfinished, so that the next worker takes over the run at once."""

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        """Replace the run with which the lease was taken by another run. Nothing of the old run was stored."""

    async def take_over(self, lease: Lease) -> Lease:
        """Count another attempt at the run that the lease found. The lease must not have been acquired for a run."""

    async def commit(self, lease: Lease, commit: Commit) -> CommittedThread:
        """Add the run's messages to ``lease.thread.segments``, end the run and release the lease, in one write."""

    async def lower_unread(self, scope: Scope, seen: Thread, unread: int) -> Thread | None:
        """Store a smaller number of unread answers of the caller's own thread, without a lease, and return the thread.

        Return None, without a change, if a run was committed since ``seen``, or if the number would not be smaller.
        """

    async def keep_pending(self, lease: Lease, pending: PendingInterrupts) -> None:
        """Store decisions on some of the interrupts for which the thread waits."""

    async def close(
        self, lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow] = ()
    ) -> bool:
        """Close the thread, make its main agent active and release the lease, in one write.

        Return whether clients request notifications: see ``CommittedThread.notifies``.

        ``resumable`` are the workflows that can be continued when the thread is reopened. Pending interrupts stay: an
        answer that arrives days later reopens the thread.

        ``ended`` is the session that ends; None if it has no messages. A thread whose session ended stays in the idle
        index until ``settle``, so that a sweep finds incomplete closings.
        """

    async def select(
        self, lease: Lease, *, last_seq: int, conversation: ConversationState, windows: tuple[HistoryWindow, ...]
    ) -> None:
        """Select the branch of ``lease.thread.segments``, and release the lease, in one write."""

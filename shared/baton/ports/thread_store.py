"""Threads and their messages: one writer at a time, committed by moving a pointer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.client_offer import ClientOffer
from baton.domain.conversation_state import ConversationState
from baton.domain.episode import EpisodeRef
from baton.domain.history_window import HistoryWindow
from baton.domain.identity import Scope
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import StoredMessage
from baton.domain.queued import RecordDelivery
from baton.domain.thread import LeaseMark, Run, Thread
from baton.domain.thread_search import ThreadQuery
from baton.domain.usage import ModelUsage, Usage
from baton.domain.workflow import Workflow


class LeaseBusy(Exception):
    """Another worker holds the thread's lease until ``lease.until`` at least; ``run`` is its run."""

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
    """The run to begin; None if the lease has another purpose, and the thread must exist."""
    message_id: str | None = None
    may_create: bool = False
    agent_id: str = ""
    """Main agent of the thread if this request begins it."""
    idle_seconds: float = 0
    """Idle timeout of that agent."""
    parent_thread_id: str | None = None
    """The parent, if this request creates a fork. Forks are listed under their parent only."""
    delivery: RecordDelivery | None = None
    """The delivery of a queue record that the lease is for.

    If an earlier delivery of the same record took the current lease, this request takes it over at once: the second
    delivery proves that the first worker lost the record.
    """
    begins_task: bool = False
    """Whether the run belongs to an A2A task. The thread remembers that it has some."""
    notifies: bool = False
    """Whether a client wants to be notified of that task. The thread remembers this too."""
    presumed_dead: LeaseMark | None = None
    """A lease whose holder gave no sign of life when asked. It is taken over if it is still the current one."""


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
    """The first of the sequence numbers reserved for this lease."""
    end_seq: int
    """The first sequence number beyond the reservation."""
    delivery: RecordDelivery | None = None
    """The delivery it was taken for, while a later delivery may take it over; None if none may before its end."""

    @property
    def thread_id(self) -> str:
        return self.thread.id


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The record of an accepted message id, and where its run's messages are."""

    message_id: str
    run_id: str
    digest: str
    """SHA-256 of the message's content."""
    first_ordinal: int
    fence: int
    """The fence of the latest attempt at the message."""
    permissions: tuple[str, ...] = ()
    """The permissions of the message's token, for a worker that takes the run over."""
    client: ClientOffer | None = None
    """What the user's application offered with the request, for that worker and for the run that continues this one."""


@dataclass(frozen=True, slots=True)
class Committed:
    """Attributes of the thread at the commit. Others, who need no lease, may have changed them during the run."""

    notifies: bool
    """True if clients want to be notified of tasks of the thread."""
    title: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """The changes of a thread by a finished run."""

    next_ordinal: int
    last_seq: int
    usage: Usage
    tokens: int
    """Tokens of the messages this run adds."""
    ended: EpisodeRef | None = None
    """The session that this run ends, if the agent has ended the conversation."""
    pending: PendingInterrupts | None = None
    """The interrupts that the thread waits for from now on; None clears earlier ones."""
    conversation: ConversationState | None = None
    """The new conversation state; None if it has not changed."""
    windows: tuple[HistoryWindow, ...] | None = None
    """The new windows of agents' histories; None if they have not changed."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model of the run."""
    error_code: str | None = None
    """The code of the error that the run has ended with."""
    time_zone: str | None = None
    """The user's new time zone; None if it has not changed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of messages, in order. ``next_before`` is the ``before`` of the next page, None on the last one."""

    messages: tuple[StoredMessage, ...]
    next_before: int | None


class ThreadStore(Protocol):
    """Threads and their messages.

    Every method acts inside a ``Scope`` (a ``Lease`` carries the scope it was issued for) and raises
    ``ThreadUnavailable`` for a thread of another tenant or user, ``StoreUnavailable`` if the table does not
    answer. Methods that take a lease raise ``LeaseLost`` if a worker with a higher fence has taken over.
    A write that a retrying client repeats recognises its own earlier success and returns normally.

    Methods that read messages of a ``thread`` return those of its selected branch (``Thread.path``). With
    ``thread.unbranched`` they return the messages of all branches, with ``thread.continued_from`` those of another one.
    """

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        """Take the thread's lease, creating the thread if allowed, and reserve sequence numbers.

        Raises ``LeaseBusy`` while another lease is valid that the request may not take over, and ``NoSuchThread`` for
        an unknown thread that the request may not create.
        """
        ...

    async def renew(self, lease: Lease, *, used_seq: int, without_record: bool = False) -> Lease:
        """Extend the lease, and the reservation of sequence numbers when ``used_seq`` comes near its end.

        ``without_record``: from now on a later delivery of its queue record may not take the lease over.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Release the lease without changes and clear the run it was taken for."""
        ...

    async def abandon(self, lease: Lease) -> None:
        """End the lease now with its run unfinished, so that the next worker takes the run over at once."""
        ...

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        """Replace the run that the lease was found with by another. Nothing of the old run was stored."""
        ...

    async def take_over(self, lease: Lease) -> Lease:
        """Count another attempt at the run that the lease was found with, if the lease was not acquired for a run."""
        ...

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        """Record that the message id is being answered. Return the existing record, if there is one."""
        ...

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        """Replace the record of a message id whose attempt died."""
        ...

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        """Return the record of a message id. ``get_thread`` or a lease must have checked the thread's ownership."""
        ...

    async def put_message(self, lease: Lease, message: StoredMessage) -> None:
        """Write a message at its ordinal. Readers see it once the pointer has passed it."""
        ...

    async def put_messages(self, lease: Lease, messages: Sequence[StoredMessage]) -> None:
        """Write many messages, as ``put_message`` writes one, in fewer requests. Some may be written if it raises."""
        ...

    async def commit(self, lease: Lease, commit: Commit) -> Committed:
        """Make the run's messages part of the thread, end the run and release the lease, in one write.

        They continue from where ``lease.thread.segments`` say.
        """
        ...

    async def want_notifications(self, scope: Scope, thread_id: str) -> Thread:
        """Remember that clients want to be notified of tasks of the thread, and return the thread.

        It needs no lease: the run in progress finds out when it commits. Raises ``ThreadUnavailable`` for a thread
        that is not the caller's own; ``is_unused`` says that it has not begun.
        """
        ...

    async def keep_pending(self, lease: Lease, pending: PendingInterrupts) -> None:
        """Store answers to some of the interrupts that the thread waits for."""
        ...

    async def close(
        self, lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow] = ()
    ) -> bool:
        """Close the thread, make its main agent active and release the lease, in one write.

        Returns whether clients want to be notified, like ``commit``.

        ``resumable`` are the workflows that can be continued when the thread is reopened. Pending interrupts stay: an
        answer that arrives days later reopens the thread.

        ``ended`` is the session that this ends, None if it has no messages. A thread whose session ended stays in the
        idle index until ``settle``, so that a sweep finds incomplete closings.
        """
        ...

    async def select(
        self,
        lease: Lease,
        *,
        last_seq: int,
        conversation: ConversationState,
        windows: tuple[HistoryWindow, ...],
    ) -> None:
        """Make the branch of ``lease.thread.segments`` the one that goes on, and release the lease, in one write."""
        ...

    async def settle(self, scope: Scope, thread_id: str, *, episode: int) -> None:
        """Remove a closed thread from the idle index if ``episode`` is still its last session."""
        ...

    async def check_writable(self, scope: Scope, thread_id: str) -> None:
        """Raise ``ThreadUnavailable`` unless the thread is the caller's own or does not exist yet."""
        ...

    async def get_thread(self, scope: Scope, thread_id: str) -> Thread:
        """Return the thread. Its owner, or a holder of ``thread:read_all``, may read it.

        Every refusal makes the same requests, so that their number shows no reason. ``is_unused`` gives the reason.
        """
        ...

    async def list_threads(
        self,
        scope: Scope,
        *,
        limit: int,
        cursor: str | None,
        whole_tenant: bool = False,
        parent_thread_id: str | None = None,
        of_user: str | None = None,
        query: ThreadQuery | None = None,
    ) -> tuple[Sequence[Thread], str | None]:
        """Return the caller's threads, or the tenant's, latest activity first, and the cursor of the next page.

        Of the tenant's threads only those ``of_user`` are returned, if one is given. The order of the whole tenant's
        is coarse: what was active in the same hour may be in another order on different pages, but is shown once.

        Forks are listed only with their ``parent_thread_id``. With a ``query`` only threads that match are returned: a
        page may then have fewer than ``limit``, or none, and still have a next one, because a call looks at a limited
        number of threads.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out, and ``Forbidden`` for the tenant's
        without ``thread:read_all``.
        """
        ...

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        """Give the caller's own thread a title, and return the thread as it is now. It needs no lease.

        Raises ``ThreadUnavailable`` for a thread that is not the caller's own, or deleted.
        """
        ...

    async def keep_made_title(self, scope: Scope, thread_id: str, *, title: str, preview: str | None) -> Thread:
        """Store the preview, if there is one, and the title unless the thread has one. Return the thread as it is now.

        It needs no lease. Raises ``ThreadUnavailable`` for a thread that is not the caller's own, or deleted.
        """
        ...

    async def find_message(self, scope: Scope, thread: Thread, message_id: str) -> StoredMessage | None:
        """Return the committed message of any branch by its id; None if it is not among the newest 20 MB of messages.

        ``get_thread`` must have checked the thread's ownership.
        """
        ...

    async def recent_messages(
        self, scope: Scope, thread: Thread, *, token_budget: int, before: int | None = None, first_ordinal: int = 0
    ) -> Sequence[StoredMessage]:
        """Return the newest messages below the pointer (or ``before``) whose tokens fit the budget, in order.

        None is older than ``first_ordinal``. One more message that does not fit is included, which shows that there are
        more.
        """
        ...

    async def put_summary(self, scope: Scope, thread: Thread, *, ordinal: int, agent_id: str, summary: str) -> None:
        """Store an agent's summary of everything before a committed message, with that message.

        Messages are read with it. It needs no lease, because it changes nothing that a turn has written. Does nothing
        if the message is gone, or has a summary for the agent: a prompt that holds it must not change.
        """
        ...

    async def read_messages(self, scope: Scope, thread: Thread, *, limit: int, before: int | None) -> Page:
        """Return the page of messages before ``before``, or of the newest. Pages of long messages are shorter."""
        ...

    async def run_messages(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, below: int | None
    ) -> Sequence[StoredMessage]:
        """Return the messages of the run that begins at ``first_ordinal``; with ``below`` None, all of them."""
        ...

"""Threads and their messages: one writer at a time, committed by moving a pointer (design: data model)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.conversation_state import ConversationState
from baton.domain.episode import EpisodeRef
from baton.domain.identity import Scope
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import StoredMessage
from baton.domain.queued import RecordDelivery
from baton.domain.thread import LeaseMark, Run, Thread
from baton.domain.usage import Usage
from baton.domain.workflow import Workflow


class LeaseBusy(Exception):
    """Somebody else holds the thread's lease; ``run`` is what they are running, until ``lease.until`` at least."""

    def __init__(self, run: Run | None, lease: LeaseMark) -> None:
        self.run = run
        self.lease = lease
        super().__init__(f"leased until {lease.until.isoformat()}")


class NoSuchThread(Exception):
    """The thread does not exist in this tenant and must not begin now.

    Callers are told ``ThreadUnavailable``, the same as for another tenant's: whether an id that hosts can guess is in
    use elsewhere is nobody's business.
    """


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """What a worker wants the thread for. The values for a new thread are used only if it does not exist yet."""

    thread_id: str
    run_id: str | None = None
    """The run to begin; None: the lease is wanted for something else, and the thread must exist."""
    message_id: str | None = None
    may_create: bool = False
    agent_id: str = ""
    """Main agent of the thread if this request begins it."""
    idle_seconds: float = 0
    """Idle timeout of that agent."""
    parent_thread_id: str | None = None
    """The thread it is a fork of, if this request begins it as one: then it is listed under that thread only."""
    delivery: RecordDelivery | None = None
    """The delivery of a queue record that the lease is wanted for.

    A lease that an earlier delivery of the same record took is taken over at once: that the record has come again
    proves that its worker lost it.
    """
    presumed_dead: LeaseMark | None = None
    """A lease whose holder was asked for a sign of life and gave none: it is taken over if it is still the same."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a thread, until ``until`` or until somebody takes over with a higher fence.

    It is only issued after the thread was found to be the scope's own, and carries that scope.
    """

    scope: Scope
    thread: Thread
    """The thread as it was when the lease was taken; ``thread.run`` is the run to work on, which is an orphan's
    if a worker died with one and nobody finished it."""
    owner: str
    fence: int
    until: datetime
    first_seq: int
    """The first of the sequence numbers reserved for this lease."""
    end_seq: int
    """The first sequence number beyond the reservation."""
    delivery: RecordDelivery | None = None
    """The delivery it was taken for, while the next one may take it over; None: nobody may before its end."""

    @property
    def thread_id(self) -> str:
        return self.thread.id


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """That a message id was taken up, and where its run's messages are."""

    message_id: str
    run_id: str
    digest: str
    """SHA-256 of the message's content."""
    first_ordinal: int
    fence: int
    """Of the lease under which the message was last taken up."""
    permissions: tuple[str, ...] = ()
    """Those the message came with, for whoever takes the run over."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a finished run changes about its thread."""

    next_ordinal: int
    last_seq: int
    usage: Usage
    tokens: int
    """Tokens of the messages this run adds."""
    ended: EpisodeRef | None = None
    """The session that this run is the last of, when the agent has ended the conversation."""
    pending: PendingInterrupts | None = None
    """What the thread waits for from now on; None: nothing, also nothing it has waited for before."""
    conversation: ConversationState | None = None
    """Which agent is active from now on; None: whoever had it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of messages, in order; ``next_before`` is the ordinal to go on before, None at the beginning."""

    messages: tuple[StoredMessage, ...]
    next_before: int | None


class ThreadStore(Protocol):
    """Threads and their messages.

    Every method acts inside a ``Scope`` (a ``Lease`` carries the scope it was issued for) and raises
    ``ThreadUnavailable`` for a thread of another tenant or user, ``StoreUnavailable`` when the table does not
    answer. Methods that take a lease raise ``LeaseLost`` when somebody with a higher fence has taken over.
    Writes that are repeated by a retrying client find their own earlier success and return as if they were the first.
    """

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        """Take the thread's lease, creating the thread if allowed, and reserve sequence numbers.

        Raises ``LeaseBusy`` while another lease lives that the request may not take over, and ``NoSuchThread`` for an
        unknown thread that must not be created.
        """
        ...

    async def renew(self, lease: Lease, *, used_seq: int, without_record: bool = False) -> Lease:
        """Extend the lease, and the reservation of sequence numbers when ``used_seq`` comes near its end.

        ``without_record``: from now on the record that it was taken for proves nothing any more when it comes again.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back with nothing changed, forgetting the run it was taken for."""
        ...

    async def abandon(self, lease: Lease) -> None:
        """Let the lease end now, its run unfinished, so that whoever comes next takes the run over at once."""
        ...

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        """Replace the run the lease was found with, of which nothing was ever stored, by another."""
        ...

    async def take_over(self, lease: Lease) -> Lease:
        """Count another attempt at the run the lease was found with; needed where it was not acquired for a run."""
        ...

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        """Record that the message id is being answered; return the record that is there already, if any."""
        ...

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        """Claim a message id anew after the attempt that held it died."""
        ...

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        """The record of a message id. The thread's ownership must have been checked by ``get_thread`` or a lease."""
        ...

    async def put_message(self, lease: Lease, message: StoredMessage) -> None:
        """Write a message at its ordinal; it counts once the pointer has passed it."""
        ...

    async def commit(self, lease: Lease, commit: Commit) -> None:
        """Make the run's messages part of the thread, end the run and give the lease back, in one write."""
        ...

    async def keep_pending(self, lease: Lease, pending: PendingInterrupts) -> None:
        """Keep answers to some of the interrupts that the thread waits for."""
        ...

    async def close(
        self, lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow] = ()
    ) -> None:
        """Close the thread, give the conversation state to its main agent and the lease back, in one write.

        ``resumable`` are the workflows that can be continued in it when it is reopened. What the thread waits for
        stays: an answer that comes days later reopens it.

        ``ended`` is the session that this ends, None if nothing was said since the last one. A thread whose session
        ended stays in the idle index until ``settle``, so that a sweep finds closings that were not carried through.
        """
        ...

    async def settle(self, scope: Scope, thread_id: str, *, episode: int) -> None:
        """Take a closed thread out of the idle index, once its last session, the ``episode``-th, has its episode."""
        ...

    async def check_writable(self, scope: Scope, thread_id: str) -> None:
        """Raise ``ThreadUnavailable`` unless the thread is the caller's own or nobody has begun it yet."""
        ...

    async def get_thread(self, scope: Scope, thread_id: str) -> Thread:
        """The thread. Its owner, or a holder of ``thread:read_all``, may read it.

        A refusal takes the same requests whatever its reason; only ``is_unused`` tells.
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
    ) -> tuple[Sequence[Thread], str | None]:
        """The caller's threads, or the tenant's, newest first, and the cursor of the next page.

        Forks are in none of these lists, but in that of the caller's ``parent_thread_id`` alone.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """
        ...

    async def recent_messages(
        self, scope: Scope, thread: Thread, *, token_budget: int, before: int | None = None
    ) -> Sequence[StoredMessage]:
        """The newest messages below the pointer (or ``before``) whose tokens fit the budget, in order.

        The last one that did not fit is included, so that a caller can tell that there is more.
        """
        ...

    async def read_messages(self, scope: Scope, thread: Thread, *, limit: int, before: int | None) -> Page:
        """A page of messages going back in time from ``before``, or from the newest; fewer where they are long."""
        ...

    async def run_messages(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, below: int | None
    ) -> Sequence[StoredMessage]:
        """The messages of the run that begins at ``first_ordinal``; with ``below`` None, also uncommitted ones."""
        ...

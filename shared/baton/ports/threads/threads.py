"""Ports for threads and their lists, and for the threads that the sweeper must check."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_search import ThreadQuery
from baton.ports.threads.leases import Leases
from baton.ports.threads.messages import Messages


class ThreadStore(Leases, Messages, Protocol):
    """Threads and their messages: one writer at a time, committed by moving a pointer.

    Every method acts inside a ``Scope`` (a ``Lease`` carries the scope for which it was issued) and raises
    ``ThreadUnavailable`` for a thread of another tenant or user, ``StoreUnavailable`` if the table does not
    answer. A repeated write recognises its own earlier success and returns normally.
    """

    async def check_writable(self, scope: Scope, thread_id: str) -> None:
        """Raise ``ThreadUnavailable`` unless the thread is the caller's own or does not exist yet."""

    async def get_thread(self, scope: Scope, thread_id: str) -> Thread:
        """Return the thread. Its owner, or a holder of ``thread:read_all``, may read it.

        Every refusal makes the same requests, so that their number does not reveal the reason, which ``is_unused`` has.
        """

    async def find_own(self, scope: Scope, thread_id: str, *, consistent: bool) -> Thread | None:
        """Return the caller's own thread by one read; None if there is none.

        A read that is not ``consistent`` costs half, and may return the thread of a moment ago.
        """

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

        ``of_user`` restricts the tenant's threads to one user's. The order of a whole tenant's threads is coarse:
        threads that were active in the same hour may be in any order, but each is listed once.

        Forks are listed only with their ``parent_thread_id``. With a ``query``, only matching threads are returned. A
        page may then have fewer than ``limit`` threads, or none, and still a next page, because a call searches a
        limited number of threads.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out, and ``Forbidden`` for the tenant's
        threads without ``thread:read_all``.
        """

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        """Name the caller's own thread, without a lease, and return it. Raises ``ThreadUnavailable`` for any other."""

    async def keep_made_title(self, scope: Scope, thread_id: str, *, title: str, preview: str | None) -> Thread:
        """Store the preview, if given, and the title unless the thread has one. Return the changed thread.

        It needs no lease. Raises ``ThreadUnavailable`` for a thread that is not the caller's own, or deleted.
        """

    async def want_notifications(self, scope: Scope, thread_id: str) -> Thread:
        """Record that clients request notifications of the thread's tasks, and return the thread.

        No lease is needed: the run in progress gets the change with its commit. Raises ``ThreadUnavailable`` for a
        thread that is not the caller's own, with ``is_unused`` if it does not exist.
        """

    async def settle(self, scope: Scope, thread_id: str, *, episode: int) -> None:
        """Remove a closed thread from the idle index if ``episode`` is still its last session."""


OPEN_FOR_USER = timedelta(days=30)
"""The time for which a session stays open for the user's answer to a message that was sent without a question."""


def compute_closing_time(thread: Thread, idle: timedelta) -> datetime:
    """Return the end of the idle timeout, counted from the last activity.

    A session that waits for the user stays open for at least ``OPEN_FOR_USER``, so that the answer belongs to it.
    """
    return thread.last_activity_at + (max(OPEN_FOR_USER, idle) if thread.awaits_user else idle)


@dataclass(frozen=True, slots=True)
class IdleThread:
    """A thread to check, with its user's scope."""

    scope: Scope
    thread: Thread
    closes_at: datetime
    """See ``compute_closing_time``."""
    has_last_episode: bool = False
    """True if the previous session's episode is known to be settled. Otherwise the caller must read it."""


@dataclass(frozen=True, slots=True)
class DueThread:
    """A thread that is due for a check. Its record is not parsed yet."""

    tenant_id: str
    thread_id: str
    check_at: datetime
    """The time at which the check was due. A changed value means that another sweep was faster."""
    failures: int
    """Consecutive failed checks."""
    read: Callable[[], IdleThread]
    """Parses the record. Raises any exception that an unreadable record causes."""


class IdleThreads(Protocol):
    """The index of open threads by check time, across all tenants. Only the sweeper uses it."""

    def due(self, before: datetime) -> AsyncIterator[DueThread]:
        """Yield threads that are due at ``before`` or earlier.

        A page of each shard is read in turn, and the threads of these pages are sorted: the longest overdue is first.
        """

    async def postpone(self, due: DueThread, until: datetime, *, failures: int = 0) -> bool:
        """Set a later check time. Return False if it was changed already. ``failures`` is stored for ``due``."""

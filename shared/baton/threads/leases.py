"""Taking a thread's lease, holding it, and checking that its holder is alive."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from baton.domain.errors import BatonError, LeaseLost, ThreadBusy
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import LeaseMark, LeaseTimes, Thread
from baton.ports.threads.connections import LiveRegistry
from baton.ports.threads.leases import Lease, LeaseBusy, LeaseRequest
from baton.ports.threads.threads import ThreadStore

POLL_SECONDS = 0.25
"""Seconds between two checks of a waiting worker whether the thread is free."""


async def acquire_when_free(store: ThreadStore, scope: Scope, request: LeaseRequest, *, seconds: float) -> Lease:
    """Acquire the lease and return it, after waiting at most ``seconds`` for another worker that holds it.

    Raises ``ThreadBusy`` after ``seconds``, ``NoSuchThread``, ``ThreadUnavailable`` and ``StoreUnavailable``.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            return await store.acquire(scope, request)
        except LeaseBusy:
            if loop.time() >= deadline:
                raise ThreadBusy from None
        await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def holding(
    store: ThreadStore, lease: Lease, *, refusals: tuple[type[BaseException], ...] = ()
) -> AsyncGenerator[Lease, None]:
    """End the lease if the work under it fails. Work that succeeds ends the lease itself (commit, close or release).

    ``refusals`` are errors raised before anything was written: the lease is returned unchanged. After any other
    failure the lease is abandoned, so that the next worker takes the run over at once. After ``LeaseLost`` nothing is
    done, because the lease has a new holder. If the lease cannot be returned, ``StoreUnavailable`` replaces the
    refusal, so that the request is repeated and leaves no run in progress.
    """
    try:
        yield lease
    except LeaseLost:
        raise
    except refusals:
        await give_back(store, lease)
        raise
    except BaseException:
        with contextlib.suppress(BatonError):
            await asyncio.shield(store.abandon(lease))
        raise


async def give_back(store: ThreadStore, lease: Lease) -> None:
    """End the lease without a change. A run that an earlier attempt began remains in progress, for a takeover."""
    is_takeover = lease.thread.run is not None and lease.thread.run.attempt > 1
    await (store.abandon(lease) if is_takeover else store.release(lease))


class LeaseWatch:
    """A watch on one run. It asks a silent worker for a sign of life, and reports a worker that does not answer.

    The answer is a renewed lease. A wrong report about a delayed worker does no harm, because that worker finds its
    lease lost.
    """

    def __init__(self, live: LiveRegistry, scope: Scope, thread_id: str, times: LeaseTimes) -> None:
        self._live = live
        self._scope = scope
        self._thread_id = thread_id
        self._lease: LeaseMark | None = None
        self._quiet_since = 0.0
        self._asked_at: float | None = None
        self._times = times
        self._quiet_seconds = times.quiet

    async def look(self, thread: Thread, *, has_answered: bool = False) -> LeaseMark | None:
        """Return the lease of a worker that is presumed dead, otherwise None. Call it after every read of the thread.

        ``has_answered`` is True if the worker has given another sign of life, such as events. The worker of a run that
        was taken over before is never presumed dead here: what delayed the first worker may delay it too, so the lease
        has to run out.
        """
        now = asyncio.get_running_loop().time()
        if has_answered or thread.lease != self._lease:
            if self._asked_at is not None:
                self._quiet_seconds = self._times.answered
            self._lease, self._quiet_since, self._asked_at = thread.lease, now, None
        if self._lease is None or thread.run is None or thread.run.attempt > 1:
            return None
        if self._asked_at is None:
            if now - self._quiet_since >= self._quiet_seconds:
                await self._live.ask(self._scope, self._thread_id, self._lease)
                self._asked_at = asyncio.get_running_loop().time()
            return None
        return self._lease if now - self._asked_at >= self._times.answer else None

"""Taking a thread's lease, after others that hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from baton.domain.errors import ThreadBusy
from baton.domain.identity import Scope
from baton.ports.thread_store import Lease, LeaseBusy, LeaseRequest, ThreadStore

POLL_SECONDS = 0.25
"""How often a waiting worker looks whether the thread is free."""

WhenBusy = Callable[[LeaseRequest, LeaseBusy], Awaitable[LeaseRequest]]
"""Waits while another worker holds the lease, and returns what to ask for next."""


async def acquire_when_free(store: ThreadStore, scope: Scope, request: LeaseRequest, when_busy: WhenBusy) -> Lease:
    """Take the lease; while another worker holds it, ``when_busy`` decides how to wait.

    Raises what ``when_busy`` raises, ``NoSuchThread``, ``ThreadUnavailable`` and ``StoreUnavailable``.
    """
    while True:
        try:
            return await store.acquire(scope, request)
        except LeaseBusy as busy:
            request = await when_busy(request, busy)


def waiting(seconds: float) -> WhenBusy:
    """Wait for at most ``seconds``, then raise ``ThreadBusy``."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds

    async def wait(request: LeaseRequest, _: LeaseBusy) -> LeaseRequest:
        if loop.time() >= until:
            raise ThreadBusy from None
        await asyncio.sleep(POLL_SECONDS)
        return request

    return wait

"""Taking a thread's lease, after waiting for its present holder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from baton.domain.errors import ThreadBusy
from baton.domain.identity import Scope
from baton.ports.leases import Lease, LeaseBusy, LeaseRequest
from baton.ports.threads import ThreadStore

POLL_SECONDS = 0.25
"""Seconds between two checks of a waiting worker whether the thread is free."""

WhenBusy = Callable[[LeaseRequest, LeaseBusy], Awaitable[LeaseRequest]]
"""Waits while another worker holds the lease, and returns the next request to try."""


async def acquire_when_free(store: ThreadStore, scope: Scope, request: LeaseRequest, when_busy: WhenBusy) -> Lease:
    """Take the lease and return it. While another worker holds it, ``when_busy`` decides how to wait.

    Raises what ``when_busy`` raises, ``NoSuchThread``, ``ThreadUnavailable`` and ``StoreUnavailable``.
    """
    while True:
        try:
            return await store.acquire(scope, request)
        except LeaseBusy as busy:
            request = await when_busy(request, busy)


def waiting(seconds: float) -> WhenBusy:
    """Return a ``WhenBusy`` that waits for at most ``seconds`` in total, then raises ``ThreadBusy``."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds

    async def wait(request: LeaseRequest, _: LeaseBusy) -> LeaseRequest:
        if loop.time() >= until:
            raise ThreadBusy from None
        await asyncio.sleep(POLL_SECONDS)
        return request

    return wait

"""Ending a lease when the work under it fails, so that nobody has to wait until it runs out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from baton.domain.errors import BatonError, LeaseLost
from baton.ports.thread_store import Lease, ThreadStore


@asynccontextmanager
async def holding(
    store: ThreadStore, lease: Lease, *, refusals: tuple[type[BaseException], ...] = ()
) -> AsyncGenerator[Lease, None]:
    """Work under a lease, which the work itself ends when it succeeds (commit, close or release).

    ``refusals`` are raised before anything was written: the lease is given back as it was found. After any other
    failure it is abandoned: whoever comes next takes the run over at once. ``LeaseLost`` leaves it to its new holder.
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
    """End the lease with nothing changed; a run that an earlier attempt had begun stays to be taken over."""
    begun_before = lease.thread.run is not None and lease.thread.run.attempt > 1
    await (store.abandon(lease) if begun_before else store.release(lease))

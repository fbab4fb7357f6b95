"""Ending a lease when the work under it fails, so that no worker has to wait until it runs out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from baton.domain.errors import BatonError, LeaseLost
from baton.ports.leases import Lease
from baton.ports.threads import ThreadStore


@asynccontextmanager
async def holding(
    store: ThreadStore, lease: Lease, *, refusals: tuple[type[BaseException], ...] = ()
) -> AsyncGenerator[Lease, None]:
    """End the lease if the work under it fails. Work that succeeds ends it itself (commit, close or release).

    ``refusals`` are errors raised before anything was written: the lease is returned unchanged. After any other
    failure the lease is abandoned, so that the next worker takes the run over at once. After ``LeaseLost`` nothing is
    done, because the lease has a new holder.
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
    """End the lease without a change. A run that an earlier attempt has begun remains for a takeover."""
    begun_before = lease.thread.run is not None and lease.thread.run.attempt > 1
    await (store.abandon(lease) if begun_before else store.release(lease))

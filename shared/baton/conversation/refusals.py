"""Why a thread was refused to whoever wanted to write to it."""

from __future__ import annotations

from baton.domain.errors import ThreadUnavailable
from baton.domain.identity import Scope
from baton.ports.thread_store import NoSuchThread, ThreadStore


async def told_apart(
    store: ThreadStore, scope: Scope, thread_id: str, error: NoSuchThread | ThreadUnavailable
) -> ThreadUnavailable:
    """The refusal that ``error`` comes to. What this tenant lacks may be another tenant's: only looking tells."""
    if isinstance(error, ThreadUnavailable):
        return error
    try:
        await store.check_writable(scope, thread_id)
    except ThreadUnavailable as foreign:
        return foreign
    return ThreadUnavailable(is_unused=True)

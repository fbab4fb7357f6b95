"""Checks of permissions to read or change a thread, which audit refusals."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.leases import NoSuchThread
from baton.ports.threads.threads import ThreadStore


async def get_own_thread(store: ThreadStore, scope: Scope, thread_id: str) -> Thread:
    """Return the caller's own thread. Raises ``ThreadUnavailable``, also for a holder of ``thread:read_all``."""
    thread = await store.get_thread(scope, thread_id)
    if thread.user_id != scope.user_id:  # thread:read_all grants reading only
        raise ThreadUnavailable
    return thread


@asynccontextmanager
async def refusals_audited(
    audit: AuditLog, scope: Scope, thread_id: str, action: str, detail: Mapping[str, Any] | None = None
) -> AsyncGenerator[None, None]:
    """Audit a ``ThreadUnavailable`` that the block raises, as a refusal of ``action``."""
    try:
        yield
    except ThreadUnavailable as refusal:
        outcome = refusal.audited_as
        await audit.record(scope, action, thread_id=thread_id, outcome=outcome, detail=dict(detail or {}))
        raise


async def read_and_audit_thread(
    store: ThreadStore, audit: AuditLog, scope: Scope, thread_id: str, action: str, *, once: Once | None = None
) -> Thread:
    """Return the thread, for its owner or a holder of ``thread:read_all``.

    Refusals and reads of another user's thread are audited as ``action``, reads with the same ``once`` only once.
    Raises ``ThreadUnavailable``.
    """
    async with refusals_audited(audit, scope, thread_id, action):
        thread = await store.get_thread(scope, thread_id)
    await audit_read(audit, scope, thread_id, thread.user_id, action, once=once)
    return thread


async def audit_read(
    audit: AuditLog, scope: Scope, thread_id: str, owner_id: str, action: str, *, once: Once | None = None
) -> None:
    """Audit that the caller reads another user's thread. Reads of the caller's own thread leave no record."""
    if owner_id != scope.user_id:
        detail = {"userId": owner_id}
        await audit.record(scope, action, thread_id=thread_id, outcome="allowed", detail=detail, once=once)


async def distinguish_unavailable(
    store: ThreadStore, scope: Scope, thread_id: str, error: NoSuchThread | ThreadUnavailable
) -> ThreadUnavailable:
    """Return ``error`` as a refusal that says, for the audit only, whether the thread id is unused.

    The same is read for every id, so that the time of a refusal reveals nothing.
    """
    try:
        await store.check_writable(scope, thread_id)
    except ThreadUnavailable as foreign:
        return foreign
    return error if isinstance(error, ThreadUnavailable) else ThreadUnavailable(is_unused=True)

"""Find the thread of a path, for its owner and for holders of ``thread:read_all``, and serve it."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import NAMESPACE_OID, uuid5

from baton.api.schemas import Thread as ServedThread
from baton.composition.app import App
from baton.domain.identity import Scope, thread_ref
from baton.domain.thread import Thread
from baton.ports.audit import Once
from baton.requests.thread_access import read_audited

REPEATED_WITHIN = timedelta(minutes=15)
"""What a client reads again and again, as it does to follow something, is audited once in so long."""


async def readable_thread(app: App, scope: Scope, given: str, *, is_repeated: bool = False) -> Thread:
    """Return the thread ``given``, a UUID or a host's own id.

    Refusals and reads of other users' threads are audited; reads that clients repeat, only once in fifteen minutes.
    Raises ``ThreadUnavailable``.
    """
    thread_id = thread_ref(scope, given).id
    once = repeated_read(scope, thread_id, app.ports.clock.now()) if is_repeated else None
    return await read_audited(app.ports.store, app.ports.audit, scope, thread_id, "thread.read", once=once)


async def shown_thread(app: App, scope: Scope, thread: Thread, last_seq: int | None = None) -> ServedThread:
    """Return the served form of ``thread``; ``last_seq`` is that of a run in progress. Raises ``StoreUnavailable``."""
    return ServedThread.shown((await app.agents.of(scope)).describe, app.ports.prices, thread, last_seq)


def repeated_read(scope: Scope, what: str, now: datetime) -> Once:
    """Return the key of a record that is written once for all reads of the same thing in fifteen minutes."""
    begun = now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % REPEATED_WITHIN
    return Once(str(uuid5(NAMESPACE_OID, f"{scope.tenant_id} {scope.user_id} {what}")), begun)

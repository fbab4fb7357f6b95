"""Find the thread of a path, for its owner and for holders of ``thread:read_all``."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import NAMESPACE_OID, uuid5

from baton.api.services import ApiServices
from baton.domain.identity import Scope, thread_ref
from baton.domain.thread import Thread
from baton.ports.audit import Once
from baton.requests.thread_access import read_audited


async def readable_thread(
    services: ApiServices, scope: Scope, given: str, *, once_in: timedelta | None = None
) -> Thread:
    """Return the thread ``given``, a UUID or a host's own id.

    Refusals and reads of other users' threads are audited, of reads that are repeated only one ``once_in`` so long.
    Raises ``ThreadUnavailable``.
    """
    thread_id = thread_ref(scope, given).id
    once = _once(scope, thread_id, services.clock.now(), once_in) if once_in is not None else None
    return await read_audited(services.store, services.audit, scope, thread_id, "thread.read", once=once)


def _once(scope: Scope, thread_id: str, now: datetime, period: timedelta) -> Once:
    """Return the key of a record that is written once in the ``period``, which begins at a multiple of it."""
    begun = now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % period
    return Once(str(uuid5(NAMESPACE_OID, f"thread.read {scope.tenant_id} {scope.user_id} {thread_id}")), begun)

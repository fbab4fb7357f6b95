"""Find the thread of a path, for its owner and for holders of ``thread:read_all``."""

from __future__ import annotations

from baton.api.services import ApiServices
from baton.domain.identity import Scope, thread_ref
from baton.domain.thread import Thread
from baton.requests.thread_access import read_audited


async def readable_thread(services: ApiServices, scope: Scope, given: str) -> Thread:
    """Return the thread ``given``, a UUID or a host's own id.

    Refusals and reads of other users' threads are audited. Raises ``ThreadUnavailable``.
    """
    return await read_audited(services.store, services.audit, scope, thread_ref(scope, given).id, "thread.read")

"""Finding the thread a path names, for its owner and for those who may read all."""

from __future__ import annotations

from baton.api.services import ApiServices
from baton.domain.identity import Scope, thread_ref
from baton.domain.thread import Thread
from baton.sessions.thread_access import read_audited


async def readable_thread(services: ApiServices, scope: Scope, given: str) -> Thread:
    """The thread under ``given``, a UUID or a host's own id.

    Refusals, and reads of other users' threads, are audited. Raises ``ThreadUnavailable``.
    """
    return await read_audited(services.store, services.audit, scope, thread_ref(scope, given).id, "thread.read")

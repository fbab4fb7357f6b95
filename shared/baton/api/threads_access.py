"""Finding the thread a path names, for its owner and for those who may read all."""

from __future__ import annotations

from baton.api.services import ApiServices
from baton.domain.errors import ThreadUnavailable
from baton.domain.identity import Scope, thread_ref
from baton.domain.thread import Thread


async def readable_thread(services: ApiServices, scope: Scope, given: str) -> Thread:
    """The thread under ``given``, a UUID or a host's own id. Raises ``ThreadUnavailable``; the attempt is audited."""
    thread_id = thread_ref(scope, given).id
    try:
        return await services.store.get_thread(scope, thread_id)
    except ThreadUnavailable as refusal:
        outcome = refusal.audited_as
        await services.audit.record(scope, "thread.read", thread_id=thread_id, outcome=outcome, detail={})
        raise

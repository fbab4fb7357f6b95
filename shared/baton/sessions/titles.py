"""Titles of threads, as users give them."""

from __future__ import annotations

from baton.domain.errors import ThreadUnavailable
from baton.domain.events import thread_title, unsequenced
from baton.domain.identity import Scope
from baton.domain.thread import Thread
from baton.outbox.thread_news import tell_connections
from baton.ports.audit import AuditLog
from baton.ports.clock import Clock
from baton.ports.connections import Connections, LiveRegistry
from baton.ports.threads import ThreadStore
from baton.requests.thread_access import own_thread


class Titles:
    """Changes titles, and tells the thread's connections."""

    def __init__(
        self, store: ThreadStore, live: LiveRegistry, connections: Connections, audit: AuditLog, clock: Clock
    ) -> None:
        self._store = store
        self._live = live
        self._connections = connections
        self._audit = audit
        self._clock = clock

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        """Give the caller's own thread the title, and return the thread. A repetition changes nothing.

        Raises ``ThreadUnavailable`` (audited).
        """
        try:
            thread = await own_thread(self._store, scope, thread_id)
            if thread.title == title:
                return thread
            renamed = await self._store.rename(scope, thread_id, title)
        except ThreadUnavailable as refusal:
            await self._audit.record(scope, "thread.rename", thread_id=thread_id, outcome=refusal.audited_as, detail={})
            raise
        # The title is what the user wrote: the record says that it was changed, not to what.
        await self._audit.record(scope, "thread.rename", thread_id=thread_id, outcome="renamed", detail={})
        await self.tell(scope, thread_id, title)
        return renamed

    async def tell(self, scope: Scope, thread_id: str, title: str) -> None:
        """Tell the thread's connections of its new title."""
        event = unsequenced(thread_title(title), threadId=thread_id)
        await tell_connections(self._live, self._connections, self._clock, scope, thread_id, event)

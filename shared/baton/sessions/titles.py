"""Titles that users give to threads."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.errors import ThreadUnavailable
from baton.domain.events import thread_title, unsequenced
from baton.domain.identity import Scope
from baton.domain.thread import Thread
from baton.outbox.connection_sender import send_to_all
from baton.ports.audit import AuditLog
from baton.ports.clock import Clock
from baton.ports.connections import Connections, LiveRegistry
from baton.ports.threads import ThreadStore
from baton.requests.thread_access import own_thread


@dataclass(frozen=True, slots=True)
class Titles:
    """Changes titles, and sends them to the thread's connections."""

    store: ThreadStore
    live: LiveRegistry
    connections: Connections
    audit: AuditLog
    clock: Clock

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        """Give the caller's own thread the title, and return the thread. A repetition changes nothing.

        Raises ``ThreadUnavailable`` (audited).
        """
        try:
            thread = await own_thread(self.store, scope, thread_id)
            if thread.title == title:
                return thread
            renamed = await self.store.rename(scope, thread_id, title)
        except ThreadUnavailable as refusal:
            await self.audit.record(scope, "thread.rename", thread_id=thread_id, outcome=refusal.audited_as, detail={})
            raise
        # The title is the user's text, so the record says that it was changed, but not the new title.
        await self.audit.record(scope, "thread.rename", thread_id=thread_id, outcome="renamed", detail={})
        await self.notify(scope, thread_id, title)
        return renamed

    async def notify(self, scope: Scope, thread_id: str, title: str) -> None:
        """Send the new title to the thread's connections."""
        event = unsequenced(thread_title(title), threadId=thread_id)
        await send_to_all(self.live, self.connections, self.clock, scope, thread_id, event)

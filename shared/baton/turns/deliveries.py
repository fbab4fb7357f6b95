"""Deliveries: runs that give a user's message to the people of a desk, under optimistic leases."""

from __future__ import annotations

import threading

from cachetools import LRUCache

from baton.agents.run_facts import TurnCall
from baton.domain.threads.thread import Run, Thread
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.threads.leases import Lease
from baton.ports.threads.threads import ThreadStore

MAX_CONVERSATIONS = 10_000
"""The largest number of conversations at desks that a worker remembers."""


class Deliveries:
    """The conversations that this worker has seen at desks, and the leases for messages to their people.

    No model is asked, so the lease need not be stored, and the message is stored once: a delivery takes three writes
    instead of five. If the conversation has left the desk meanwhile, the lease is lost, and the message gets an
    ordinary one.
    """

    def __init__(self, store: ThreadStore) -> None:
        self._store = store
        self._at_desks = LRUCache[tuple[str, str], bool](MAX_CONVERSATIONS)
        self._lock = threading.Lock()  # event loops of several threads share a worker's services

    def note(self, call: TurnCall, thread: Thread) -> None:
        """Remember whether the conversation is at a desk after a run."""
        with self._lock:
            if thread.conversation.desk is not None:
                self._at_desks[_make_key(call)] = True
            else:
                self._at_desks.pop(_make_key(call), None)

    async def find_lease(self, call: TurnCall) -> Lease | None:
        """Return an optimistic lease for a message to people; None for any other request.

        Only conversations that were seen at a desk are looked up, so other turns do not pay for the read.
        """
        request = call.request
        if not isinstance(request, MessageRequest) or not request.is_plain or call.gives_up:
            return None
        with self._lock:
            if _make_key(call) not in self._at_desks:
                return None
        run = Run(request.run_id, request.message_id, attempt=1)
        lease = await self._store.acquire_optimistically(call.scope, request.thread.id, run)
        if lease is None or lease.thread.conversation.desk is None:
            return None
        # Only an ordinary lease notifies clients of A2A tasks that a run begins, and stores answers to interrupts.
        return lease if lease.thread.pending is None and not lease.thread.notifies else None


def _make_key(call: TurnCall) -> tuple[str, str]:
    return call.scope.tenant_id, call.request.thread.id

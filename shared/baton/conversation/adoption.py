"""A complete answer that a dead worker has left behind."""

from __future__ import annotations

from baton.domain.message import StoredMessage
from baton.ports.thread_store import Lease, ThreadStore, TurnRecord


async def adoptable(store: ThreadStore, lease: Lease, known: TurnRecord) -> tuple[StoredMessage, ...] | None:
    """The messages of the attempt that ``known`` records, if only its commit is missing and nobody came in between.

    It must be looked for before anything is written under ``lease``: every message has to bear the dead attempt's own
    fence, or they might be a mixture of two.
    """
    if known.first_ordinal != lease.thread.next_ordinal or known.fence != lease.fence - 1:
        return None  # somebody held the lease in between, and may have told clients other things
    messages = await store.run_messages(lease.scope, lease.thread_id, first_ordinal=known.first_ordinal, below=None)
    last = messages[-1] if messages else None
    if last is None or last.end is None or last.run_id != known.run_id or messages[0].id != known.message_id:
        return None
    if any(message.fence != known.fence for message in messages):
        return None
    return tuple(messages)

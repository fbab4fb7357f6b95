"""Read a range of a thread's messages, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from baton.domain.identity import Scope
from baton.domain.message import StoredMessage
from baton.domain.thread import Thread
from baton.ports.threads import ThreadStore

PAGE = 100
WINDOW = 20
"""Messages that ``message_windows`` holds at once. Each has at most 1 MiB."""


async def messages_between(
    store: ThreadStore, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int
) -> list[StoredMessage]:
    """Return every message from ``first_ordinal`` up to, but without, ``end_ordinal``."""
    found: list[StoredMessage] = []
    before: int | None = end_ordinal
    while before is not None and before > first_ordinal:
        page = await store.read_messages(scope, thread, limit=min(PAGE, before - first_ordinal), before=before)
        found = [*(message for message in page.messages if message.ordinal >= first_ordinal), *found]
        before = page.next_before
    return found


async def message_windows(
    store: ThreadStore, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int
) -> AsyncIterator[list[StoredMessage]]:
    """Yield the same messages in order, a few at a time, so that memory does not grow with the conversation."""
    for first in range(first_ordinal, end_ordinal, WINDOW):
        yield await messages_between(store, scope, thread, first, min(first + WINDOW, end_ordinal))

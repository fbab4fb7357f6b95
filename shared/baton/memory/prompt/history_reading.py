"""Read a part of a thread's history: the one that an agent's window holds, or a range of messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from baton.concurrency.tasks import gather_all
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.ports.threads.threads import ThreadStore

PAGE = 100
WINDOW = 20
"""Large messages that ``message_windows`` holds at once. Each has at most 1 MiB."""


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """The messages of a window, in order, and the summary of the earlier ones if none of the messages carries it."""

    messages: Sequence[StoredMessage] = ()
    summary: str | None = None


async def read_history(
    store: ThreadStore,
    scope: Scope,
    thread: Thread,
    window: HistoryWindow,
    *,
    token_budget: int,
    before: int | None = None,
) -> ReadHistory:
    """Read the newest messages of a window within ``token_budget``, and the summary of the earlier ones.

    The summary takes a separate request only after a stride that no summary was ready for. Raises
    ``StoreUnavailable``.
    """
    messages, summary = await gather_all(
        store.recent_messages(
            scope, thread, token_budget=token_budget, before=before, first_ordinal=window.first_ordinal
        ),
        _summary(store, scope, thread, window),
    )
    carrier = next((message for message in messages if message.ordinal == window.summary_at), None)
    if carrier is not None and window.agent_id not in carrier.summaries:
        # It was there when the window came to it, so the messages were read from a copy that is behind.
        summary = await stored_summary(store, scope, thread, window)
    return ReadHistory(messages, summary)


async def _summary(store: ThreadStore, scope: Scope, thread: Thread, window: HistoryWindow) -> str | None:
    if window.summary_at is None or window.summary_at >= window.first_ordinal:
        return None
    return await stored_summary(store, scope, thread, window)


async def stored_summary(store: ThreadStore, scope: Scope, thread: Thread, window: HistoryWindow) -> str | None:
    """Return the summary of a window, read from its message; None if there is none."""
    if window.summary_at is None:
        return None
    page = await store.read_messages(scope, thread, limit=1, before=window.summary_at + 1)
    return summary_among(page.messages, window)


def summary_among(messages: Sequence[StoredMessage], window: HistoryWindow) -> str | None:
    """Return the summary of a window whose message is one of ``messages``."""
    carrier = next((message for message in messages if message.ordinal == window.summary_at), None)
    return carrier.summaries.get(window.agent_id) if carrier is not None else None


async def messages_between(
    store: ThreadStore, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int
) -> list[StoredMessage]:
    """Return every message from ``first_ordinal`` up to, but not including, ``end_ordinal``."""
    messages: list[StoredMessage] = []
    before: int | None = end_ordinal
    while before is not None and before > first_ordinal:
        page = await store.read_messages(scope, thread, limit=min(PAGE, before - first_ordinal), before=before)
        messages = [*(message for message in page.messages if message.ordinal >= first_ordinal), *messages]
        before = page.next_before
    return messages


async def message_windows(
    store: ThreadStore, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int
) -> AsyncIterator[list[StoredMessage]]:
    """Yield the same messages in order, a few at a time, so that memory does not grow with the conversation.

    A hundred are read with one request, unless they are larger than a page of messages.
    """
    for first in range(first_ordinal, end_ordinal, PAGE):
        end = min(first + PAGE, end_ordinal)
        page = await store.read_messages(scope, thread, limit=end - first, before=end)
        if page.next_before is None or page.next_before <= first:
            yield [message for message in page.messages if message.ordinal >= first]
            continue
        for start in range(first, end, WINDOW):
            yield await messages_between(store, scope, thread, start, min(start + WINDOW, end))

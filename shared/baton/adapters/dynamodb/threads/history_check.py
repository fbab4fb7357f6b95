"""Checks of a history that was read without consistency, at half the price.

Such a read may miss the newest writes, and may return a dead worker's item that was written again since. Each item has
the fence of its writer. The thread has the fence of its newest messages, and the first message of each run has the
fence of the previous message. A history without gaps in which the fences agree is therefore the committed one. Any
other history is read again consistently.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.threads.message_items import SUMMARY
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.ports.threads.leases import Lease

BEFORE = "before_fence"
"""The attribute with the fence of the previous message."""


def mark_before(lease: Lease, message: StoredMessage) -> Item:
    """Return the attribute that connects a lease's first message with the previous one; empty for other messages."""
    fence = lease.thread.messages_fence
    return {BEFORE: fence} if fence is not None and message.ordinal == lease.thread.next_ordinal else {}


def may_be_checked(thread: Thread) -> bool:
    """Return whether the newest messages of a thread without branches can be checked.

    They cannot be checked after a run that replaces its question, because nothing else shows that a message has a later
    version.
    """
    return thread.messages_fence is not None and not thread.messages_may_change


def is_current(items: Sequence[Item], thread: Thread) -> bool:
    """Return whether the items, in order, are the newest committed ones, and none between them is missing."""
    ordinal, fence = thread.next_ordinal - 1, thread.messages_fence
    for item in reversed(items):
        if (keys.message.read_number(item), item["fence"]) != (ordinal, fence):
            return False
        ordinal, fence = ordinal - 1, item.get(BEFORE, fence)
    return bool(items)


def has_summary(items: Sequence[Item], thread: Thread) -> bool:
    """Return whether no message among the items still waits for its summary."""
    waiting = [item for item in items if keys.message.read_number(item) == thread.summary_at]
    return all(any(name.startswith(SUMMARY) for name in item) for item in waiting)


def ends_plainly(messages: Sequence[StoredMessage], items: Sequence[Item]) -> bool:
    """Return whether the last run among the messages is a question with its answer.

    In other runs the first message is written twice under one fence: a placeholder is replaced, or a question gets the
    end of a run without an answer. ``items`` are the items of ``messages``.
    """
    openings = [index for index, item in enumerate(items) if BEFORE in item or keys.message.read_number(item) == 0]
    return bool(openings) and openings[-1] < len(items) - 1 and messages[openings[-1]].role is Role.USER

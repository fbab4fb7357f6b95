"""Checks of a history that was read without consistency, at half the price.

Such a read may miss the newest writes, and may return what a dead worker wrote before it was written again. Each item
bears the fence of its writer. The thread knows the fence of its newest messages, and the first message of each run the
one of the message before it. So a history without gaps, in which these agree, is the committed one. A history that does
not pass is read again consistently.
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
    """Return the attribute that connects the first message of a lease with the message before it."""
    fence = lease.thread.messages_fence
    return {BEFORE: fence} if fence is not None and message.ordinal == lease.thread.next_ordinal else {}


def may_be_checked(thread: Thread) -> bool:
    """Return whether the newest messages of a thread without branches can be checked.

    After a run that replaces its question they cannot: a later version of a message shows nowhere else.
    """
    return thread.messages_fence is not None and not thread.messages_may_change


def is_current(items: Sequence[Item], thread: Thread) -> bool:
    """Return whether the items, in order, are the newest committed ones, and none between them is missing."""
    ordinal, fence = thread.next_ordinal - 1, thread.messages_fence
    for item in reversed(items):
        if (keys.message.number(item), item["fence"]) != (ordinal, fence):
            return False
        ordinal, fence = ordinal - 1, item.get(BEFORE, fence)
    return bool(items)


def has_summary(items: Sequence[Item], thread: Thread) -> bool:
    """Return whether the message among the items that waits for a summary has one, if any of them does."""
    waiting = [item for item in items if keys.message.number(item) == thread.summary_at]
    return all(any(name.startswith(SUMMARY) for name in item) for item in waiting)


def ends_plainly(messages: Sequence[StoredMessage], items: Sequence[Item]) -> bool:
    """Return whether the last run among the messages is a question with its answer.

    In other runs the first message is written twice under one fence: a placeholder is replaced, or a question gets the
    end of a run without an answer. ``items`` are those of the messages.
    """
    openings = [index for index, item in enumerate(items) if BEFORE in item or keys.message.number(item) == 0]
    return bool(openings) and openings[-1] < len(items) - 1 and messages[openings[-1]].role is Role.USER

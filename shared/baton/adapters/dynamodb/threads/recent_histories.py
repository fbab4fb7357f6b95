"""The newest messages of threads whose turns this process has run, so that the next turn need not read them again.

Committed messages never change, and every commit moves the thread's pointer and its ``committed_fence``. Messages that
this process has read, or written and committed, are therefore current as long as both are unchanged. The update that
takes the next lease returns both, so the check costs nothing. Summaries are added to messages without a lease, so
nothing is kept after a run that has requested a summary.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cachetools import TTLCache

from baton.adapters.dynamodb.attributes import Item
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.times import to_millis
from baton.ports.threads.leases import Commit, Lease

KEPT_SECONDS = 300.0
"""Seconds for which a process keeps the messages of a thread that it does not work on."""
MAX_SIZE = 64 * 1024 * 1024
"""The maximum size of all messages that are kept, in bytes."""
MAX_MESSAGES = 400
"""The maximum number of messages that are kept for a thread when a run is added: the newest."""
MESSAGE_SIZE = 1024
"""The approximate size of a message besides its content and calls, in bytes."""

Key = tuple[str, str]


@dataclass(slots=True)
class _History:
    """The newest messages of one thread at one commit."""

    created_at: int
    """Milliseconds since 1970. They distinguish the thread from a later one with the same id."""
    committed_fence: int | None
    next_ordinal: int
    messages: tuple[StoredMessage, ...] = ()
    """The newest messages, in order and without a gap, up to ``next_ordinal``."""
    sizes: tuple[int, ...] = ()
    """The sizes of ``messages``, in bytes."""
    written: dict[int, tuple[StoredMessage, int]] = field(default_factory=dict)
    """The messages of the run in progress, as a read returns them, and their sizes, by ordinal."""


class RecentHistories:
    """A cache of the histories of conversations. Threads and event loops may share it."""

    def __init__(self) -> None:
        self._known: TTLCache[Key, _History] = TTLCache(MAX_SIZE, KEPT_SECONDS, getsizeof=_measure)
        self._lock = threading.Lock()

    def begin(self, scope: Scope, thread_id: str, item: Item) -> None:
        """Note the thread's item as the lease has read it, and forget messages of another state."""
        history = _History(item["created_at"], item.get("committed_fence"), item["next_ordinal"])
        with self._lock:
            former = self._known.get(_make_key(scope, thread_id))
            if former is not None and _get_state(former) == _get_state(history):
                history = replace(former, written={})
            self._keep(_make_key(scope, thread_id), history)

    def has(self, scope: Scope, thread_id: str) -> bool:
        """Return whether the cache knows the thread, so that the thread exists unless it was removed meanwhile."""
        with self._lock:
            return _make_key(scope, thread_id) in self._known

    def find(
        self, scope: Scope, thread: Thread, *, token_budget: int, first_ordinal: int
    ) -> Sequence[StoredMessage] | None:
        """Return the newest messages from ``first_ordinal`` on, up to the one that exceeds the budget.

        Return None if they are not all cached.
        """
        with self._lock:
            history = self._known.get(_make_key(scope, thread.id))
        if history is None or not _is_current(history, thread):
            return None
        messages: list[StoredMessage] = []
        tokens = 0
        for message in reversed(history.messages):
            if message.ordinal < first_ordinal or tokens > token_budget:
                break
            messages.append(message)
            tokens += message.tokens
        is_whole = tokens > token_budget or (bool(history.messages) and history.messages[0].ordinal <= first_ordinal)
        return messages[::-1] if is_whole else None

    def keep(self, scope: Scope, thread: Thread, messages: Sequence[StoredMessage], sizes: Sequence[int]) -> None:
        """Keep the newest messages of the thread, which were just read. ``sizes`` are those of their contents."""
        key = _make_key(scope, thread.id)
        with self._lock:
            history = self._known.get(key)
            if history is None or not _is_current(history, thread) or not _reaches(messages, thread.next_ordinal):
                return
            self._keep(key, replace(history, messages=tuple(messages), sizes=tuple(sizes)))

    def note_written(self, lease: Lease, message: StoredMessage, size: int) -> None:
        """Note a message of the run in progress, as a read returns it. ``size`` is its content's size in bytes."""
        key = _make_key(lease.scope, lease.thread_id)
        with self._lock:
            history = self._known.get(key)
            if history is not None and _is_current(history, lease.thread):
                self._keep(key, replace(history, written={**history.written, message.ordinal: (message, size)}))

    def extend(self, lease: Lease, commit: Commit) -> None:
        """Add the messages that were written under the lease, because they are committed now."""
        key = _make_key(lease.scope, lease.thread_id)
        with self._lock:
            history = self._known.pop(key, None)
            if history is None or not _is_current(history, lease.thread) or commit.may_change:
                return
            ordinals = range(history.next_ordinal, commit.next_ordinal)
            if any(ordinal not in history.written for ordinal in ordinals):  # an earlier attempt wrote the message
                return
            added = [history.written[ordinal] for ordinal in ordinals]
            # A worker that lost the lease may have written a message later.
            if any(message.fence != lease.fence for message, _ in added):
                return
            messages = (*history.messages, *(message for message, _ in added))[-MAX_MESSAGES:]
            sizes = (*history.sizes, *(size for _, size in added))[-MAX_MESSAGES:]
            self._keep(key, _History(history.created_at, lease.fence, commit.next_ordinal, messages, sizes))

    def forget(self, scope: Scope, thread_id: str) -> None:
        """Forget the messages of a thread."""
        with self._lock:
            self._known.pop(_make_key(scope, thread_id), None)

    def _keep(self, key: Key, history: _History) -> None:
        self._known.pop(key, None)
        if _measure(history) <= MAX_SIZE:
            self._known[key] = history


def _make_key(scope: Scope, thread_id: str) -> Key:
    return scope.tenant_id, thread_id


def _get_state(history: _History) -> tuple[int, int | None, int]:
    return history.created_at, history.committed_fence, history.next_ordinal


def _is_current(history: _History, thread: Thread) -> bool:
    return history.created_at == to_millis(thread.created_at) and history.next_ordinal == thread.next_ordinal


def _reaches(messages: Sequence[StoredMessage], end: int) -> bool:
    """Return whether the messages reach to ``end``, without a gap."""
    first = messages[0].ordinal if messages else end
    return len(messages) == end - first and (not messages or messages[-1].ordinal == end - 1)


def _measure(history: _History) -> int:
    sizes = [*history.sizes, *(size for _, size in history.written.values())]
    return sum(sizes) + MESSAGE_SIZE * (len(sizes) + 1)

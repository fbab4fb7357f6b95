"""Messages of a queue that wait for their turn: one tenant after another, and among its users one after another.

A queue serves first who waits longest, so that the messages of a user who has sent many would all come before that of
a colleague.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from baton_local.gateway.callers import Caller

T = TypeVar("T")


class Backlog(Generic[T]):
    """Waiting items by their senders. Items of one sender stay in their order."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, deque[T]]] = {}
        """Items by tenant and user. Those whose turn it is come first."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, sender: Caller, item: T) -> None:
        """Add an item behind the others of its sender."""
        self._waiting.setdefault(sender.tenant, {}).setdefault(sender.user, deque()).append(item)
        self._size += 1

    def take(self) -> T:
        """Return the item whose turn it is. Raises ``LookupError`` if there is none."""
        tenant = next(iter(self._waiting), None)
        if tenant is None:
            raise LookupError("nothing waits")
        users = self._waiting.pop(tenant)
        user = next(iter(users))
        items = users.pop(user)
        item = items.popleft()
        if items:
            users[user] = items
        if users:
            self._waiting[tenant] = users
        self._size -= 1
        return item

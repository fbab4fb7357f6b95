"""Messages of a queue that wait for their turn: tenants take turns, and so do the users of each tenant.

A queue serves the oldest message first, so that all messages of a user who has sent many would be served before a
colleague's.
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
        """Items by tenant and user, in the order of their turns."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, sender: Caller, item: T) -> None:
        """Add an item behind the others of its sender."""
        self._waiting.setdefault(sender.tenant, {}).setdefault(sender.user, deque()).append(item)
        self._size += 1

    def take(self) -> T:
        """Remove and return the next item. Raises ``LookupError`` if there is none."""
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

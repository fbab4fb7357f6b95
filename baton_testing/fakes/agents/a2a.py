"""Marks of A2A tasks and the queue of push notifications, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.a2a_task import MarkStatus, TaskMark
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.thread_change import ThreadChange
from baton.domain.threads.webhook_delivery import WebhookDelivery


class FakeA2ATasks:
    """``ports.agents.a2a.A2ATasks``."""

    def __init__(self) -> None:
        self.marks: dict[tuple[str, str, str], TaskMark] = {}

    async def get(self, scope: Scope, thread_id: str, root: str) -> TaskMark | None:
        return self.marks.get((scope.tenant_id, thread_id, root))

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        key = (scope.tenant_id, thread_id, mark.root)
        stored = self.marks.get(key)
        if stored is not None and (stored.status is MarkStatus.CANCELED or stored.user_id != mark.user_id):
            return stored
        self.marks[key] = mark
        return mark


@dataclass
class FakePushQueue:
    """``ports.agents.a2a.PushQueue``. Records are in order, and each name occurs once in a group."""

    sent: list[ThreadChange | PushNotice | WebhookDelivery] = field(default_factory=list)
    postponed: list[tuple[str, int]] = field(default_factory=list)
    """Receipt handles, with the seconds until the next delivery."""
    is_down: bool = False
    _names: set[tuple[str, str, str]] = field(default_factory=set)

    async def send(self, record: ThreadChange | PushNotice | WebhookDelivery) -> None:
        if self.is_down:
            raise StoreUnavailable
        name = (record.record, record.group, record.name)
        if name not in self._names:
            self._names.add(name)
            self.sent.append(record)

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        self.postponed.append((receipt_handle, seconds))

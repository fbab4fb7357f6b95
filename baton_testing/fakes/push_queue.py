"""The queue of push notifications, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from baton.domain.errors import StoreUnavailable
from baton.domain.push_config import PushNotice, TaskChange


@dataclass
class FakePushQueue:
    """``ports.push_queue.PushQueue``: in order, one of each name in a group."""

    sent: list[TaskChange | PushNotice] = field(default_factory=list)
    postponed: list[tuple[str, int]] = field(default_factory=list)
    is_down: bool = False
    _names: set[tuple[str, str, str]] = field(default_factory=set)

    async def send(self, record: TaskChange | PushNotice) -> None:
        if self.is_down:
            raise StoreUnavailable
        name = (record.record, record.group, record.name)
        if name not in self._names:
            self._names.add(name)
            self.sent.append(record)

    async def retry(self, receipt_handle: str, seconds: int) -> None:
        self.postponed.append((receipt_handle, seconds))

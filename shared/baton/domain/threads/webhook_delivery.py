"""Deliveries of events to webhooks: their records in the queue, and those that were given up."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from baton.domain.tenants.identity import is_thread_id
from baton.domain.tenants.webhook import WebhookEvent
from baton.domain.threads.thread_change import ChangeRecord

DEAD_LIFETIME = timedelta(days=30)
"""The time for which a dead delivery is kept and can be sent again."""
MAX_REASON = 200
"""The most characters of the reason why a delivery was given up."""


class WebhookDelivery(ChangeRecord):
    """An event on its way to one webhook. It has no content: that is read from the thread when it is sent."""

    record: Literal["delivery"] = "delivery"
    webhook_id: str
    event: WebhookEvent
    event_id: str
    """The same at every attempt, at every webhook, and in the body."""
    happened_at: datetime
    since: datetime
    """The time from which attempts are counted: that of the first one, or of the request to send it again."""
    is_resent: bool = False
    """Whether somebody has asked to send it again."""

    @property
    def group(self) -> str:
        """Its group in the queue, in which it waits for earlier events of the conversation to the same webhook."""
        return f"{self.tenant_id}#{self.thread_id}#{self.webhook_id}"

    @property
    def name(self) -> str:
        """Its name in its group: one that is sent again is another record."""
        return f"{self.event_id}.{self.since.isoformat()}" if self.is_resent else self.event_id

    @property
    def id(self) -> str:
        """The id in lists: where it is kept, and which event and webhook it is about."""
        digest = hashlib.sha256(f"{self.event_id}\0{self.webhook_id}".encode()).hexdigest()[:32]
        return f"{self.thread_id}.{digest}"


@dataclass(frozen=True, slots=True)
class DeadDelivery:
    """A delivery that was given up."""

    delivery: WebhookDelivery
    died_at: datetime
    reason: str
    """The reason of the last failure, such as ``status 500``. It quotes nothing of the receiver's answer."""

    @property
    def id(self) -> str:
        return self.delivery.id


def thread_of(delivery_id: str) -> str | None:
    """Return the thread in a delivery's id; None for a text that is no such id."""
    thread_id, _, digest = delivery_id.partition(".")
    is_valid = is_thread_id(thread_id) and len(digest) == 32 and digest.isalnum() and digest.isascii()
    return thread_id if is_valid else None

"""Deliveries of events to webhooks: their records in the queue, and dead deliveries, which were given up."""

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
    """A queued event for one webhook. It has no content, which is read from the thread when the event is sent."""

    record: Literal["delivery"] = "delivery"
    webhook_id: str
    event: WebhookEvent
    event_id: str
    """The id of the event, which is the same in every attempt, for every webhook, and in the body."""
    happened_at: datetime
    since: datetime
    """The time from which the ages of attempts are counted: the first attempt, or the request to send it again."""
    is_resent: bool = False
    """Whether somebody has asked to send it again."""

    @property
    def group(self) -> str:
        """Its group in the queue, in which it waits for earlier events of the conversation to the same webhook."""
        return f"{self.tenant_id}#{self.thread_id}#{self.webhook_id}"

    @property
    def name(self) -> str:
        """The name in its group. A delivery that is sent again has another name."""
        return f"{self.event_id}.{self.since.isoformat()}" if self.is_resent else self.event_id

    @property
    def id(self) -> str:
        """The id in lists, made of the thread's id and a digest of event and webhook."""
        digest = hashlib.sha256(f"{self.event_id}\0{self.webhook_id}".encode()).hexdigest()[:32]
        return f"{self.thread_id}.{digest}"


@dataclass(frozen=True, slots=True)
class DeadDelivery:
    """A delivery that was given up."""

    delivery: WebhookDelivery
    died_at: datetime
    reason: str
    """The reason of the last failure, such as ``status 500``, without any words of the receiver."""

    @property
    def id(self) -> str:
        """The id of the delivery in lists."""
        return self.delivery.id


def parse_thread_id(delivery_id: str) -> str | None:
    """Return the thread's id in a delivery's id; None if the text is not a delivery's id."""
    thread_id, _, digest = delivery_id.partition(".")
    is_valid = is_thread_id(thread_id) and len(digest) == 32 and digest.isalnum() and digest.isascii()
    return thread_id if is_valid else None

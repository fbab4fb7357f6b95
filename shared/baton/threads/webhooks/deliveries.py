"""Deliveries of events to webhooks: one for each receiver of an event, sent until it is taken, or given up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from baton.domain.errors import InternalError, NotFound, ThreadUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.webhook import Webhook, WebhookSettings, compute_pause
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_change import ThreadChange
from baton.domain.threads.webhook_delivery import MAX_REASON, DeadDelivery, WebhookDelivery
from baton.domain.times import to_iso
from baton.failures.reports import NotYet
from baton.ports.agents.a2a import PushQueue, WebhookRefused, Webhooks, WebhookUnreachable
from baton.ports.clock import Clock, read_machine_time
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.webhooks import DeadDeliveries, WebhookSigner
from baton.threads.webhooks.thread_events import ThreadEvent, ThreadEvents

GONE = 410
"""The HTTP status with which a receiver refuses an event for good."""

logger = Logger(child=True)


class _AttemptFailed(Exception):
    """An attempt that failed. The message is the reason for operators."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        """``is_final`` is True if another attempt would fail too."""
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class WebhookDeliveries:
    """The deliveries of events: they are queued, sent and given up here.

    A delivery is a separate record, in a group of its webhook and its conversation: a receiver that does not answer
    delays no other receiver, and no other conversation.
    """

    settings: Callable[[], WebhookSettings]
    """A function that returns the current webhooks. It raises ``BatonError`` if there are no settings."""
    events: ThreadEvents
    store: ThreadStore
    queue: Callable[[], PushQueue]
    receivers: Webhooks
    signer: WebhookSigner
    dead: DeadDeliveries
    audit: AuditLog
    clock: Clock

    async def queue_deliveries(self, change: ThreadChange, thread: Thread) -> None:
        """Queue a delivery of each event of a committed change for each webhook that gets it.

        A repetition queues the same deliveries, whose events have the same ids.
        """
        settings = self.settings()
        fields: dict[str, Any] = change.model_dump(exclude={"record"})
        for event in await self.events.of(change, thread):
            for webhook in settings.of(change.tenant_id, event.type):
                delivery = WebhookDelivery(
                    **fields,
                    webhook_id=webhook.id,
                    event=event.type,
                    event_id=event.id,
                    happened_at=event.at,
                    since=self.clock.now(),
                )
                await self.queue().send(delivery)

    async def send(self, delivery: WebhookDelivery, *, is_last: bool) -> None:
        """Send a delivery, or give it up. ``is_last`` is True if the queue does not deliver the record again.

        Raises ``NotYet`` if a later attempt may succeed. If the conversation was forgotten meanwhile, or the webhook
        does not get the event any more, the delivery is dropped.
        """
        webhook = self.settings().find(delivery.webhook_id)
        if webhook is None or not webhook.gets(delivery.tenant_id, delivery.event):
            logger.info("event dropped: the webhook does not get it any more", webhook=delivery.webhook_id)
            return
        event = await self._find(delivery)
        if event is None:
            return
        try:
            await self._post(webhook, delivery, event)
        except _AttemptFailed as failure:
            now = self.clock.now()
            pause = compute_pause(now - delivery.since)
            if pause is not None and not is_last and not failure.is_final:
                raise NotYet(str(failure), max(1, round(pause.total_seconds()))) from None
            logger.warning("event given up", webhook=webhook.id, event_id=event.id, reason=str(failure))
            count(Metric.WEBHOOKS_DEAD)
            await self.dead.put(DeadDelivery(delivery, now, str(failure)[:MAX_REASON]))

    async def redeliver(self, scope: Scope, delivery_id: str) -> WebhookDelivery:
        """Queue a dead delivery of the tenant again, with attempts for another day, and remove it from the dead ones.

        Raises ``NotFound`` for a delivery that is not dead, or no longer dead.
        """
        dead_delivery = await self.dead.get(scope, delivery_id)
        if dead_delivery is None:
            raise NotFound("There is no dead delivery with this id. It may have been sent again, or be forgotten.")
        delivery = dead_delivery.delivery.model_copy(update={"since": self.clock.now(), "is_resent": True})
        # Queued first: if the removal fails, it is sent twice with the same id, and not lost.
        await self.queue().send(delivery)
        await self.dead.remove(scope, delivery_id)
        await self.audit.record(
            scope,
            "webhook.redeliver",
            thread_id=delivery.thread_id,
            outcome="queued",
            detail={"deliveryId": delivery.id, "webhookId": delivery.webhook_id, "event": delivery.event.value},
        )
        return delivery

    async def _find(self, delivery: WebhookDelivery) -> ThreadEvent | None:
        """Return the event with its content; None if the conversation was forgotten, or no longer has the event."""
        try:
            thread = await self.store.get_thread(delivery.scope, delivery.thread_id)
        except ThreadUnavailable:
            return None
        events = await self.events.of(delivery, thread)
        return next((event for event in events if event.id == delivery.event_id), None)

    async def _post(self, webhook: Webhook, delivery: WebhookDelivery, event: ThreadEvent) -> None:
        """Make one attempt. Raises ``_AttemptFailed``."""
        if (refusal := self.receivers.find_refusal(webhook.url)) is not None:
            raise _AttemptFailed(refusal)
        body = _make_body(delivery, event)
        try:
            signature_headers = await self.signer.sign(webhook, event.id, read_machine_time(self.clock), body)
            status = await self.receivers.post(
                webhook.url, body, {"Content-Type": "application/json", **signature_headers}
            )
        except InternalError as failure:
            count(Metric.KEYS_UNREADABLE)
            raise _AttemptFailed(failure.detail) from None
        except WebhookRefused as refused:
            raise _AttemptFailed(str(refused)) from None
        except WebhookUnreachable as failed:
            raise _AttemptFailed(f"no answer: {failed}") from None
        if not 200 <= status < 300:
            raise _AttemptFailed(f"status {status}", is_final=status == GONE)


def _make_body(delivery: WebhookDelivery, event: ThreadEvent) -> bytes:
    """Return the body of Standard Webhooks, which every attempt repeats."""
    value = {
        "id": event.id,
        "type": event.type.value,
        "timestamp": to_iso(event.at),
        "tenantId": delivery.tenant_id,
        "data": event.data,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

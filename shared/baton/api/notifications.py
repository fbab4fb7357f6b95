"""The consumer of the queue of notifications: changes of threads, notices of A2A tasks, and deliveries to webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aws_lambda_powertools import Logger
from pydantic import Field, TypeAdapter

from baton.api.a2a.notifying import TaskNotices
from baton.composition.app import App
from baton.composition.ports import Ports
from baton.domain.errors import BatonError, TenantRemoved, ThreadUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.webhook import WebhookEvent
from baton.domain.threads.push_config import PushNotice
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_change import MAX_RECEIVES, ChangeKind, ThreadChange, compute_redelivery_pause
from baton.domain.threads.webhook_delivery import WebhookDelivery
from baton.failures.reports import NotYet
from baton.tenants.removed_tenants import SYSTEM
from baton.threads.webhooks.deliveries import WebhookDeliveries

logger = Logger(child=True)
UNSEEN_LOOKS = 4
"""Deliveries of a change that wait for the commit of a run that the thread does not show yet. They take half a minute.
"""
_RECORD: TypeAdapter[ThreadChange | PushNotice | WebhookDelivery] = TypeAdapter(
    Annotated[ThreadChange | PushNotice | WebhookDelivery, Field(discriminator="record")]
)


@dataclass(frozen=True, slots=True)
class Notifications:
    """The handler of the queue's records. For a change, one record is queued for each receiver."""

    ports: Ports
    tasks: TaskNotices
    webhooks: WebhookDeliveries

    @classmethod
    def of(cls, app: App) -> Notifications:
        """Return the handler with the ports and use cases of ``app``."""
        return cls(app.ports, TaskNotices(app.ports, app.agents), app.webhook_deliveries)

    async def run(self, body: str, receipt_handle: str, receives: int) -> None:
        """Carry out one record, or drop it if its tenant was removed.

        Raises ``NotYet`` or ``BatonError`` if the queue must deliver the record again, after setting the pause.
        """
        try:
            record = _RECORD.validate_json(body)
            logger.append_keys(tenant=record.tenant_id, thread_id=record.thread_id)
            await self.ports.removed_tenants.check(Scope(record.tenant_id, SYSTEM))
            match record:
                case ThreadChange():
                    await self._queue_for_receivers(record, receives)
                case PushNotice():
                    await self.tasks.send(record)
                case WebhookDelivery():
                    await self.webhooks.send(record, is_last=receives >= MAX_RECEIVES)
        except TenantRemoved:
            logger.info("notification of a removed tenant dropped", record=record.record)
        except (NotYet, BatonError) as failure:
            if receives >= MAX_RECEIVES:
                count(Metric.NOTIFICATIONS_FAILED)
            seconds = failure.seconds if isinstance(failure, NotYet) else None
            await self.ports.push_queue.retry(receipt_handle, seconds or compute_redelivery_pause(receives))
            raise

    async def _queue_for_receivers(self, change: ThreadChange, receives: int) -> None:
        """Queue a record for each receiver of the change. Raises ``NotYet`` before the change is committed."""
        is_for_webhooks = self.webhooks.settings().wants(change.tenant_id, WebhookEvent)
        configs = await self.tasks.list_configs(change)
        if not configs and not is_for_webhooks:
            return
        thread = await self._read_committed_thread(change, receives)
        await self.tasks.queue_notices(change, thread, configs)
        if is_for_webhooks and thread is not None:
            await self.webhooks.queue_deliveries(change, thread)

    async def _read_committed_thread(self, change: ThreadChange, receives: int) -> Thread | None:
        """Return the changed thread; None if it does not exist. Raises ``NotYet`` before the change is committed."""
        try:
            thread = await self.ports.store.get_thread(change.scope, change.thread_id)
        except ThreadUnavailable:
            return None
        is_ahead = change.is_unseen and change.ordinal is not None and thread.next_ordinal <= change.ordinal
        is_awaited = thread.is_in_run(change.run_id) or (is_ahead and receives <= UNSEEN_LOOKS)
        if change.kind is ChangeKind.ENDED and is_awaited:
            raise NotYet("the run has not been committed")
        lease, now = thread.lease, self.ports.clock.now()
        is_held = lease is not None and lease.fence == change.fence and lease.until > now
        if change.kind is ChangeKind.CLOSED and is_held:
            raise NotYet("the session has not been closed")
        return thread

"""Dead deliveries: events whose delivery to a webhook was given up."""

from __future__ import annotations

from baton_client.addresses import path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import WebhookDelivery

DELIVERIES = "/v1/webhooks/deliveries"


class AsyncWebhooks(AsyncResource):
    """``client.webhooks``. All methods need ``tenant:manage``."""

    def dead_deliveries(self, *, limit: int | None = None) -> AsyncPager[WebhookDelivery]:
        """List the deliveries that were given up, the newest first."""
        return self._list(DELIVERIES, WebhookDelivery, status="dead", limit=limit)

    async def redeliver(self, delivery_id: str) -> WebhookDelivery:
        """Repeat a dead delivery, with attempts for another day."""
        return await self._post(path(DELIVERIES + "/{delivery_id}/redeliver", delivery_id=delivery_id), WebhookDelivery)

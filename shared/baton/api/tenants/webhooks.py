"""Routes of deliveries to webhooks that were given up."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, describe
from baton.domain.tenants.identity import Permission
from baton.domain.tenants.webhook import WebhookEvent
from baton.domain.threads.webhook_delivery import DeadDelivery, WebhookDelivery
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, Timestamp, WireModel

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], responses=responses("forbidden store_unavailable"))

DELIVERY_ID = f"{THREAD_ID}.9f86d081884c7d659a2feaa0c55ad015"


class ServedWebhookDelivery(WireModel):
    """An event for one webhook. When it is sent, its content is read from the conversation."""

    id: str = Field(examples=[DELIVERY_ID])
    status: Literal["dead", "waiting"] = describe("`dead`: it was given up; `waiting`: it will be sent again.", "dead")
    webhook_id: str = describe("The webhook of the settings.", "crm")
    event: WebhookEvent = Field(examples=["message.created"])
    event_id: str = describe("The `webhook-id` of every attempt.", "evt_9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d")
    thread_id: str = Field(examples=[THREAD_ID])
    user_id: str = describe("The conversation's user.", "alice")
    happened_at: Timestamp = Field(examples=[TIMESTAMP])
    died_at: Timestamp | None = describe("The time at which it was given up; null while it waits.", TIMESTAMP)
    reason: str | None = describe("The reason why the last attempt failed; null while it waits.", "status 500")

    @classmethod
    def from_waiting(cls, delivery: WebhookDelivery) -> ServedWebhookDelivery:
        """Return the served form of a delivery that is sent again."""
        return cls.of(delivery, status="waiting", died_at=None, reason=None)

    @classmethod
    def from_dead(cls, dead: DeadDelivery) -> ServedWebhookDelivery:
        """Return the served form of a delivery that was given up."""
        return cls.of(dead.delivery, status="dead", died_at=dead.died_at, reason=dead.reason)


@router.get("/deliveries", summary="List deliveries to webhooks that were given up")
async def list_deliveries(
    caller: Caller,
    app: UseCases,
    status: Annotated[Literal["dead"], query("Those that were given up.")] = "dead",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ServedWebhookDelivery]:
    """Return the tenant's dead deliveries, the newest first. Needs `tenant:manage`.

    Deliveries are kept for 30 days, but not longer than their conversation. A page may have fewer items than `limit`
    and still have a `nextCursor`.
    """
    caller.require(Permission.TENANT_MANAGE, "webhook.list")
    deliveries, next_cursor = await app.ports.dead_deliveries.page(caller, limit=limit, cursor=cursor)
    items = [ServedWebhookDelivery.from_dead(dead) for dead in deliveries]
    return Listing[ServedWebhookDelivery](items=items, next_cursor=next_cursor)


@router.post(
    "/deliveries/{delivery_id}/redeliver",
    status_code=202,
    summary="Send a delivery again",
    responses=responses("not_found"),
)
async def redeliver(
    delivery_id: Annotated[str, Path(max_length=128, description="The id of the delivery.", examples=[DELIVERY_ID])],
    caller: Caller,
    app: UseCases,
) -> ServedWebhookDelivery:
    """Queue a dead delivery again, with attempts for another day. Needs `tenant:manage`; it is audited.

    The event keeps its id. It is sent after later events of its conversation that were delivered meanwhile. A repeated
    request gets 404, unless the delivery was given up again.
    """
    caller.require(Permission.TENANT_MANAGE, "webhook.redeliver")
    return ServedWebhookDelivery.from_waiting(await app.webhook_deliveries.redeliver(caller, delivery_id))

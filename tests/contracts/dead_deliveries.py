"""The contract of stores of dead deliveries to webhooks."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.webhook import WebhookEvent
from baton.domain.threads.thread_change import ChangeKind
from baton.domain.threads.webhook_delivery import DEAD_LIFETIME, DeadDelivery, WebhookDelivery
from tests.contracts.stores import Stores, new_thread_id


def dead_delivery(scope: Scope, now: datetime, number: int = 1, *, thread_id: str | None = None) -> DeadDelivery:
    """A dead delivery of the user's."""
    delivery = WebhookDelivery(
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        thread_id=thread_id or new_thread_id(),
        kind=ChangeKind.ENDED,
        run_id="r1",
        ordinal=0,
        webhook_id="crm",
        event=WebhookEvent.MESSAGE_CREATED,
        event_id=f"evt_{number}",
        happened_at=now - timedelta(days=1),
        since=now - timedelta(days=1),
    )
    return DeadDelivery(delivery, now, "status 500")


def dead_of(stores: Stores, number: int = 1) -> DeadDelivery:
    """A dead delivery of ada's."""
    return dead_delivery(stores.ada, stores.clock.now(), number)


class DeadDeliveriesContract:
    """Subclasses are collected with a fixture ``stores``."""

    async def test_one_is_kept_as_it_was_until_it_is_removed(self, stores: Stores) -> None:
        dead = dead_of(stores)
        await stores.dead_deliveries.put(dead)
        await stores.dead_deliveries.put(dead)
        assert await stores.dead_deliveries.get(stores.ada, dead.id) == dead
        assert (await stores.dead_deliveries.page(stores.ada, limit=10, cursor=None)) == ([dead], None)
        for _ in range(2):
            await stores.dead_deliveries.remove(stores.ada, dead.id)
        assert await stores.dead_deliveries.get(stores.ada, dead.id) is None
        assert (await stores.dead_deliveries.page(stores.ada, limit=10, cursor=None)) == ([], None)

    async def test_pages_have_the_newest_first(self, stores: Stores) -> None:
        deliveries = []
        for number in range(5):
            stores.clock.advance(60)
            deliveries.append(dead_of(stores, number))
            await stores.dead_deliveries.put(deliveries[-1])
        listed: list[DeadDelivery] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            page, cursor = await stores.dead_deliveries.page(stores.bob, limit=2, cursor=cursor)
            listed += page
            pages += 1
        assert (listed, pages) == (deliveries[::-1], 3)
        with pytest.raises(InvalidRequest):
            await stores.dead_deliveries.page(stores.ada, limit=2, cursor="garbage")

    async def test_another_tenant_has_no_such_delivery(self, stores: Stores) -> None:
        dead = dead_of(stores)
        await stores.dead_deliveries.put(dead)
        await stores.dead_deliveries.remove(stores.stranger, dead.id)
        assert await stores.dead_deliveries.get(stores.stranger, dead.id) is None
        assert await stores.dead_deliveries.page(stores.stranger, limit=10, cursor=None) == ([], None)
        assert await stores.dead_deliveries.get(stores.ada, dead.id) == dead

    @pytest.mark.parametrize("delivery_id", ["", "x", ".", "a.b", f"{'0' * 8}.{'0' * 32}", "~THREAD.#"])
    async def test_a_text_that_is_no_id_names_nothing(self, stores: Stores, delivery_id: str) -> None:
        assert await stores.dead_deliveries.get(stores.ada, delivery_id) is None
        await stores.dead_deliveries.remove(stores.ada, delivery_id)

    async def test_an_old_one_is_gone(self, stores: Stores) -> None:
        dead = dead_of(stores)
        await stores.dead_deliveries.put(dead)
        stores.clock.advance(DEAD_LIFETIME.total_seconds() + 1)
        assert await stores.dead_deliveries.get(stores.ada, dead.id) is None
        assert (await stores.dead_deliveries.page(stores.ada, limit=10, cursor=None))[0] == []

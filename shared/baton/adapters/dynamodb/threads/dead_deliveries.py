"""Deliveries to webhooks that were given up, in the partitions of their threads."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.shards import read_page
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.domain.tenants.identity import Scope
from baton.domain.threads.webhook_delivery import DEAD_LIFETIME, DeadDelivery, WebhookDelivery, parse_thread_id
from baton.domain.times import from_millis, to_millis


class DynamoDeadDeliveries(TimedTableStore):
    """``DeadDeliveries`` on the conversation table."""

    async def put(self, dead: DeadDelivery) -> None:
        delivery, died_at = dead.delivery, to_millis(dead.died_at)
        key = _make_key(delivery.scope, delivery.id)
        if key is None:
            raise ValueError("the delivery's id contains no id of a thread")
        item: Item = {
            **key,
            "body": delivery.model_dump_json(by_alias=True, exclude_none=True),
            "died_at": died_at,
            "reason": dead.reason,
            "expires_at": int((dead.died_at + DEAD_LIFETIME).timestamp()),
            "listing": keys.dead_delivery_listings.of(delivery.scope, delivery.id),
            "listed_at": f"{died_at:015d}#{delivery.id}",
        }
        await self._table.put(item)

    async def get(self, scope: Scope, delivery_id: str) -> DeadDelivery | None:
        key = _make_key(scope, delivery_id)
        item = await self._table.get(key) if key is not None else None
        return self._to_unexpired(item) if item is not None else None

    async def page(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[DeadDelivery], str | None]:
        listings = keys.dead_delivery_listings(scope)
        entries, next_cursor = await read_page(self._table, listings, limit=limit, cursor=cursor)
        items = await self._table.get_listed(entries)
        newest_first = sorted(items, key=lambda item: str(item["listed_at"]), reverse=True)
        return [dead for item in newest_first if (dead := self._to_unexpired(item)) is not None], next_cursor

    async def remove(self, scope: Scope, delivery_id: str) -> None:
        if (key := _make_key(scope, delivery_id)) is not None:
            await self._table.delete(key)

    def _to_unexpired(self, item: Item) -> DeadDelivery | None:
        """Return the delivery of an item; None if it has expired."""
        dead = DeadDelivery(
            WebhookDelivery.model_validate_json(item["body"]), from_millis(item["died_at"]), item["reason"]
        )
        return dead if dead.died_at + DEAD_LIFETIME > self._clock.now() else None


def _make_key(scope: Scope, delivery_id: str) -> Key | None:
    """Return the key of a delivery; None if its id contains no id of a thread."""
    thread_id = parse_thread_id(delivery_id)
    return keys.dead_delivery(scope, thread_id, delivery_id.partition(".")[2]) if thread_id is not None else None

"""A tenant's lists are spread over partitions, and read without reading them whole."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from baton.adapters.dynamodb import keys
from tests.contracts.stores import Stores, new_thread_id
from tests.integration.store.conftest import Engine


async def test_what_a_tenant_does_is_spread_over_the_partitions_of_its_lists(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    await _begin_conversations(stores, 60)
    for partitions in (keys.tenant_listings(stores.ada), keys.audit_listings(stores.ada)):
        held = {partition: await _entries(on_dynamodb_local, partition) for partition in partitions}
        assert sum(held.values()) == 60
        assert max(held.values()) < 30


async def test_a_page_reads_a_few_entries_of_each_partition(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    await _begin_conversations(stores, 300)
    counter: Counter[str] = Counter()
    read: list[int] = []

    def count(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        counter[model.name] += 1
        read.append(len(parsed.get("Items", ())))

    events = on_dynamodb_local.table.client.meta.events
    events.register("after-call.dynamodb", count)
    try:
        threads, cursor = await stores.store.list_threads(stores.auditor, limit=20, cursor=None, whole_tenant=True)
    finally:
        events.unregister("after-call.dynamodb", count)
    assert len(threads) == 20
    assert cursor is not None
    assert counter["BatchGetItem"] == 1
    assert counter["Query"] <= 2 * keys.tenant_listings.count
    assert sum(read) <= 2 * keys.tenant_listings.count * 10


async def _begin_conversations(stores: Stores, count: int) -> None:
    """Begin ``count`` conversations, with an audit record of each."""

    async def begin() -> None:
        thread_id = new_thread_id()
        await stores.acquire(thread_id)
        await stores.audit.record(stores.ada, "thread.read", thread_id=thread_id, outcome="denied", detail={})

    for start in range(0, count, 20):
        await asyncio.gather(*(begin() for _ in range(min(20, count - start))))


async def _entries(engine: Engine, partition: str) -> int:
    pages = engine.table.query(partition, index=("listing", "listing", "listed_at"))
    return sum([len(page) async for page in pages])

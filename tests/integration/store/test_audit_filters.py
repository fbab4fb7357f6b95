"""Filters that hardly any audit record matches."""

from __future__ import annotations

import asyncio

from baton.adapters.dynamodb.tenants.audit import MAX_PAGES, PAGE
from tests.contracts.stores import Stores, new_thread_id
from tests.integration.store.conftest import Engine


async def test_a_rare_record_is_found_without_reading_all_at_once(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    expected, other = new_thread_id(), new_thread_id()
    await record(stores, expected)
    stores.clock.advance(1)
    for _ in range(11):
        await asyncio.gather(*(record(stores, other) for _ in range(PAGE * MAX_PAGES // 10)))
    pages, cursor = [], None
    while True:
        page_items, cursor = await stores.audit.of_tenant(stores.ada, {"thread_id": expected}, limit=10, cursor=cursor)
        pages.append(len(page_items))
        if cursor is None:
            break
    assert pages == [0, 1]


async def record(stores: Stores, thread_id: str) -> None:
    await stores.audit.record(stores.ada, "thread.read", thread_id=thread_id, outcome="denied", detail={})

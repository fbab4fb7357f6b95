"""Filters that hardly any audit record matches."""

from __future__ import annotations

import asyncio

from baton.adapters.dynamodb.audit import MOST_PAGES, PAGE
from tests.contracts.house import House, new_thread_id
from tests.integration.store.conftest import Engine


async def test_a_rare_record_is_found_without_reading_all_at_once(on_dynamodb_local: Engine) -> None:
    house = on_dynamodb_local.house()
    wanted, other = new_thread_id(), new_thread_id()
    await record(house, wanted)
    house.clock.advance(1)
    for _ in range(11):
        await asyncio.gather(*(record(house, other) for _ in range(PAGE * MOST_PAGES // 10)))
    pages, cursor = [], None
    while True:
        found, cursor = await house.audit.of_tenant(house.ada, {"thread_id": wanted}, limit=10, cursor=cursor)
        pages.append(len(found))
        if cursor is None:
            break
    assert pages == [0, 1]


async def record(house: House, thread_id: str) -> None:
    await house.audit.record(house.ada, "thread.read", thread_id=thread_id, outcome="denied", detail={})

"""Every store lists a tenant's threads as its contract says, with a bounded number of requests a page."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.threads import thread_store
from baton.domain.runs.usage import Usage
from baton.domain.threads.thread_search import ThreadQuery
from tests.contracts.stores import new_thread_id
from tests.contracts.tenant_lists import TenantListContract, list_pages, page, store_costly_turn
from tests.integration.store.conftest import Engine


class TestTenantLists(TenantListContract):
    pass


async def test_a_search_without_matches_ends_each_page_after_a_bounded_number_of_requests(
    on_dynamodb_local: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_store, "MAX_SEARCHED", 20)
    monkeypatch.setattr(thread_store, "SEARCHED_AT_ONCE", 10)
    stores = on_dynamodb_local.stores()
    expected = await store_costly_turn(stores, Usage(100, 0), "m")
    stores.clock.advance(3_600)
    for _ in range(50):
        await stores.acquire(new_thread_id())
    counter: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        counter[model.name] += 1

    events = on_dynamodb_local.table.client.meta.events
    events.register("after-call.dynamodb", count)
    try:
        page_items, cursor = await page(stores, limit=5, query=ThreadQuery(min_tokens=100))
    finally:
        events.unregister("after-call.dynamodb", count)
    assert not page_items
    assert cursor is not None
    assert set(counter) == {"Query", "BatchGetItem"}
    assert counter["Query"] <= 3 * keys.tenant_listings.count
    assert counter["BatchGetItem"] == 2
    pages = await list_pages(stores, limit=5, query=ThreadQuery(min_tokens=100))
    assert [item for ids in pages for item in ids] == [expected]


async def test_a_turn_touches_its_tenants_list_in_another_hour_only(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    thread_id = (await stores.turn(new_thread_id())).thread_id
    location = await _read_listed_at(on_dynamodb_local, thread_id)
    stores.clock.advance(1)
    await stores.turn(thread_id, 2)
    assert await _read_listed_at(on_dynamodb_local, thread_id) == location
    stores.clock.advance(3_600)
    await stores.turn(thread_id, 3)
    assert await _read_listed_at(on_dynamodb_local, thread_id) > location


async def test_a_list_that_cannot_be_written_costs_no_turn(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    thread_id = (await stores.turn(new_thread_id())).thread_id
    await on_dynamodb_local.table.delete(keys.owner(thread_id))
    stores.clock.advance(3_600)
    await stores.turn(thread_id, 2)
    assert (await stores.store.get_thread(stores.ada, thread_id)).next_ordinal == 4
    assert await on_dynamodb_local.table.get(keys.owner(thread_id)) is None


async def _read_listed_at(engine: Engine, thread_id: str) -> str:
    owner = await engine.table.get(keys.owner(thread_id))
    assert owner is not None
    return str(owner["listed_at"])

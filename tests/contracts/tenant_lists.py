"""The contract of the list of a tenant's threads: by activity, filtered, page by page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.runs.usage import ModelUsage, Price, Prices, Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_search import ThreadQuery, ThreadState, parse_thread_query
from baton.ports.threads.leases import LeaseRequest
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id

HOUR = 3_600
PRICES = Prices({"big": Price(input=10, output=30), "small": Price(input=1, output=2, cached_input=0.5)})


class TenantListContract:
    """A tenant's threads are listed by activity, and found by what is known of them."""

    async def test_a_thread_moves_up_with_activity_in_another_hour(self, stores: Stores) -> None:
        first = (await stores.turn(new_thread_id())).thread_id
        stores.clock.advance(HOUR)
        second = (await stores.turn(new_thread_id(), scope=stores.bob)).thread_id
        assert await list_pages(stores) == [[second, first]]
        stores.clock.advance(HOUR)
        await stores.turn(first, 2)
        assert await list_pages(stores) == [[first, second]]
        assert await list_pages(stores, limit=1) == [[first], [second]]

    async def test_threads_of_a_page_are_in_the_order_of_their_last_activity(self, stores: Stores) -> None:
        first = (await stores.turn(new_thread_id())).thread_id
        stores.clock.advance(60)
        second = (await stores.turn(new_thread_id())).thread_id
        stores.clock.advance(60)
        await stores.turn(first, 2)
        assert await list_pages(stores) == [[first, second]]

    async def test_a_thread_that_moves_up_between_two_pages_is_not_shown_twice(self, stores: Stores) -> None:
        ids = []
        for _ in range(3):
            ids.append((await stores.turn(new_thread_id())).thread_id)
            stores.clock.advance(HOUR)
        visible, cursor = await page(stores, limit=1)
        await stores.turn(ids[2], 2)
        more, _ = await page(stores, limit=5, cursor=cursor)
        assert [item.id for item in (*visible, *more)] == ids[::-1]

    async def test_forks_stay_out_of_the_tenants_list_however_active(self, stores: Stores) -> None:
        parent = (await stores.turn(new_thread_id())).thread_id
        fork = new_thread_id()
        for number in (1, 2):
            request = LeaseRequest(
                fork, f"r{number}", f"m{number}", may_create=True, agent_id="assistant", idle_seconds=1800
            )
            request = replace(request, parent_thread_id=parent)
            lease = await stores.store.acquire(stores.ada, request)
            await stores.commit(lease, make_question(lease), make_answer(lease))
            stores.clock.advance(HOUR)
        assert await list_pages(stores) == [[parent]]

    async def test_the_tenants_list_can_be_that_of_one_user(self, stores: Stores) -> None:
        own = [(await stores.turn(new_thread_id(), scope=stores.bob)).thread_id for _ in range(2)]
        await stores.turn(new_thread_id())
        await stores.turn(new_thread_id(), scope=Scope(f"{stores.tenant}-2", "bob"))
        [visible] = await list_pages(stores, of_user="bob")
        assert sorted(visible) == sorted(own)
        assert await list_pages(stores, of_user="nobody") == [[]]
        [result] = await list_pages(stores, of_user="bob", query=ThreadQuery(agent_id="assistant"))
        assert sorted(result) == sorted(own)

    async def test_each_condition_leaves_out_what_does_not_meet_it(self, stores: Stores) -> None:
        began = stores.clock.now()
        failed = await store_costly_turn(stores, Usage(10, 5), "small", error_code="model_error")
        stores.clock.advance(HOUR)
        between = stores.clock.now()
        large = await store_costly_turn(stores, Usage(1_000, 500), "small")
        costly = await store_costly_turn(stores, Usage(900, 400), "big")
        unknown = await store_costly_turn(stores, Usage(2_000, 0), "another")
        stores.clock.advance(HOUR)
        running = (await stores.acquire(new_thread_id())).thread_id
        all_of_them = {failed, large, costly, unknown, running}
        cases: list[tuple[ThreadQuery, set[str]]] = [
            (ThreadQuery(), all_of_them),
            (ThreadQuery(agent_id="assistant"), all_of_them),
            (ThreadQuery(agent_id="another"), set()),
            (ThreadQuery(state=ThreadState.ACTIVE), all_of_them),
            (ThreadQuery(state=ThreadState.CLOSED), set()),
            (ThreadQuery(state=ThreadState.RUNNING), {running}),
            (ThreadQuery(state=ThreadState.INTERRUPTED), set()),
            (ThreadQuery(state=ThreadState.WAITING), set()),
            (ThreadQuery(has_error=True), {failed}),
            (ThreadQuery(has_error=False), all_of_them - {failed}),
            (ThreadQuery(min_tokens=1_300), {large, costly, unknown}),
            (ThreadQuery(min_tokens=1_301), {large, unknown}),
            (ThreadQuery(min_cost=0.02, prices=PRICES), {costly}),
            (ThreadQuery(min_cost=0.002, prices=PRICES), {large, costly}),
            (ThreadQuery(min_cost=0.002), set()),
            (ThreadQuery(active_to=began), {failed}),
            (ThreadQuery(active_from=between), all_of_them - {failed}),
            (ThreadQuery(active_from=between, active_to=between), {large, costly, unknown}),
            (ThreadQuery(active_from=began + timedelta(seconds=1), active_to=between - timedelta(seconds=1)), set()),
            (ThreadQuery(active_to=began - timedelta(days=1)), set()),
        ]
        for query, expected in cases:
            for of_user in (None, "ada"):
                results = [item for ids in await list_pages(stores, of_user=of_user, query=query) for item in ids]
                assert sorted(results) == sorted(expected), query
        stores.clock.advance(HOUR)
        assert await list_pages(stores, query=ThreadQuery(state=ThreadState.INTERRUPTED)) == [[running]]

    async def test_words_are_searched_in_everybodys_threads(self, stores: Stores) -> None:
        for scope in (stores.ada, stores.bob, stores.stranger):
            thread_id = (await stores.turn(new_thread_id(), scope=scope)).thread_id
            await stores.store.rename(scope, thread_id, f"Lisbon by {scope.user_id}")
        page_items, _ = await page(stores, query=parse_thread_query("lisbon"))
        assert sorted(item.title or "" for item in page_items) == ["Lisbon by ada", "Lisbon by bob"]

    @pytest.mark.parametrize("limit", [1, 3])
    async def test_pages_of_a_filtered_list_show_every_match_once(self, stores: Stores, limit: int) -> None:
        expected = []
        for number in range(12):
            thread_id = await store_costly_turn(stores, Usage(number % 2, 0), "small")
            expected += [thread_id] if number % 2 else []
            stores.clock.advance(25 * 60)
        pages = await list_pages(stores, limit=limit, query=ThreadQuery(min_tokens=1))
        assert [item for ids in pages for item in ids] == expected[::-1]
        assert all(len(ids) <= limit for ids in pages)

    async def test_a_thread_keeps_the_usage_of_each_model_and_its_last_error(self, stores: Stores) -> None:
        thread_id = await store_costly_turn(stores, Usage(10, 5), "small", error_code="model_error")
        for number, (model, used) in enumerate([("big", Usage(1, 1)), ("small", Usage(5, 5, 4))], start=2):
            await store_costly_turn(stores, used, model, thread_id=thread_id, number=number)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert thread.spent == (ModelUsage("small", Usage(15, 10, 4)), ModelUsage("big", Usage(1, 1)))
        assert thread.last_error == "model_error"
        assert PRICES.compute_cost(thread.spent, thread.usage) == pytest.approx(
            (11 + 4 * 0.5 + 20 + 10 + 30) / 1_000_000
        )


async def store_costly_turn(
    stores: Stores,
    usage: Usage,
    model: str,
    *,
    thread_id: str | None = None,
    number: int = 1,
    error_code: str | None = None,
) -> str:
    """The id of a thread with one more turn of Ada's, in which ``model`` has used ``usage``."""
    lease = await stores.acquire(thread_id or new_thread_id(), message_id=f"m{number}", run_id=f"r{number}")
    models = (ModelUsage(model, usage),)
    await stores.commit(
        lease, make_question(lease), make_answer(lease), spent=usage, models=models, error_code=error_code
    )
    return lease.thread_id


async def page(
    stores: Stores, *, limit: int = 100, cursor: str | None = None, **conditions: Any
) -> tuple[list[Thread], str | None]:
    """Return a page of the tenant's list as an auditor sees it."""
    page_items, cursor = await stores.store.list_threads(
        stores.auditor, limit=limit, cursor=cursor, whole_tenant=True, **conditions
    )
    return list(page_items), cursor


async def list_pages(stores: Stores, *, limit: int = 100, **conditions: Any) -> list[list[str]]:
    """Return the ids of all pages."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while not pages or cursor is not None:
        page_items, cursor = await page(stores, limit=limit, cursor=cursor, **conditions)
        pages.append([item.id for item in page_items])
    return pages

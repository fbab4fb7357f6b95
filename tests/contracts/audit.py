"""The record of what was refused and decided: for every store."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.audit import Once
from tests.contracts.stores import Stores, new_thread_id


async def record(stores: Stores, number: int, *, scope: Scope | None = None, thread_id: str | None = None) -> None:
    await stores.audit.record(
        scope or stores.ada,
        "thread.read" if number % 3 else "thread.close",
        thread_id=thread_id,
        outcome="denied",
        detail={"number": number},
    )


async def pages(stores: Stores, limit: int, scope: Scope | None = None, **conditions: str) -> list[list[int]]:
    """The numbers on every page of the tenant's records."""
    results, cursor = [], None
    while True:
        records, cursor = await stores.audit.of_tenant(scope or stores.ada, conditions, limit=limit, cursor=cursor)
        results.append([record.detail["number"] for record in records])
        if cursor is None:
            return results


class AuditContract:
    """A tenant's records."""

    @pytest.mark.parametrize("limit", [1, 7, 100])
    async def test_every_record_comes_once_the_newest_first(self, stores: Stores, limit: int) -> None:
        for number in range(30):
            await record(stores, number, thread_id=new_thread_id() if number % 2 else None)
            stores.clock.advance(0.001)
        await record(stores, 99, scope=stores.stranger)
        result = await pages(stores, limit)
        assert [number for page in result for number in page] == list(range(30))[::-1]
        assert all(len(page) == limit for page in result[:-1])
        assert await pages(stores, limit, stores.stranger) == [[99]]

    @pytest.mark.parametrize("limit", [1, 3, 10])
    async def test_records_of_one_moment_come_once_each(self, stores: Stores, limit: int) -> None:
        for moment in range(3):
            for number in range(10):
                await record(stores, 10 * moment + number, thread_id=new_thread_id())
            stores.clock.advance(1)
        results = [number for page in await pages(stores, limit) for number in page]
        assert Counter(results) == Counter(range(30))
        assert [number // 10 for number in results] == [2] * 10 + [1] * 10 + [0] * 10

    async def test_a_record_between_two_pages_moves_nothing(self, stores: Stores) -> None:
        for number in range(12):
            await record(stores, number)
            stores.clock.advance(1)
        first, cursor = await stores.audit.of_tenant(stores.ada, {}, limit=5, cursor=None)
        assert [item.detail["number"] for item in first] == [11, 10, 9, 8, 7]
        assert cursor is not None
        second, _ = await stores.audit.of_tenant(stores.ada, {}, limit=5, cursor=cursor)
        assert [item.detail["number"] for item in second] == [6, 5, 4, 3, 2]

    async def test_records_that_do_not_match_are_passed_over(self, stores: Stores) -> None:
        for number in range(20):
            await record(stores, number, scope=stores.bob if number % 4 == 0 else stores.ada)
            stores.clock.advance(1)
        result = await pages(stores, 3, action="thread.close")
        assert [number for page in result for number in page] == [18, 15, 12, 9, 6, 3, 0]
        result = await pages(stores, 2, user_id="bob", action="thread.close")
        assert [number for page in result for number in page] == [12, 0]

    @pytest.mark.parametrize("limit", [1, 3, 100])
    async def test_records_of_a_period_are_found(self, stores: Stores, limit: int) -> None:
        began = stores.clock.now()
        for number in range(12):
            once = Once(new_thread_id(), began + timedelta(seconds=number))
            await stores.audit.record(
                stores.ada, "x", thread_id=None, outcome="done", detail={"number": number}, once=once
            )
        results, cursor = [], None
        while True:
            page, cursor = await stores.audit.of_tenant(
                stores.ada,
                {},
                limit=limit,
                cursor=cursor,
                since=began + timedelta(seconds=3),
                until=began + timedelta(seconds=7),
            )
            results += [item.detail["number"] for item in page]
            if cursor is None:
                break
        assert results == [7, 6, 5, 4, 3]
        before, _ = await stores.audit.of_tenant(stores.ada, {}, limit=5, cursor=None, until=began - timedelta(days=1))
        assert before == []

    async def test_records_about_an_agent_are_found(self, stores: Stores) -> None:
        details = [{"agentId": "writer"}, {"sourceAgentId": "a", "targetAgentId": "writer"}, {"agentId": "other"}, {}]
        for detail in details:
            await stores.audit.record(stores.ada, "x", thread_id=None, outcome="done", detail=dict(detail))
            stores.clock.advance(1)
        page_items, _ = await stores.audit.of_tenant(stores.ada, {"agent_id": "writer"}, limit=10, cursor=None)
        assert [item.detail for item in page_items] == [details[1], details[0]]

    async def test_an_act_that_is_recorded_twice_is_one_record(self, stores: Stores) -> None:
        once = Once("00000000-0000-5000-8000-000000000000", stores.clock.now())
        for thread_id in (None, new_thread_id()):
            for number in range(2):
                detail = {"number": number}
                await stores.audit.record(
                    stores.ada, "x", thread_id=thread_id, outcome="done", detail=detail, once=once
                )
            page_items, _ = await stores.audit.of_tenant(stores.ada, {}, limit=10, cursor=None)
            assert [item.detail["number"] for item in page_items if item.thread_id == thread_id] == [0]

    @pytest.mark.parametrize("cursor", ["x", "!", "eyJ4IjoxfQ", "W10"])
    async def test_a_cursor_made_up_is_refused(self, stores: Stores, cursor: str) -> None:
        with pytest.raises(InvalidRequest):
            await stores.audit.of_tenant(stores.ada, {}, limit=5, cursor=cursor)

"""Every store counts the activity of tenants and users as its contract says."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table
from baton.domain.tenants.activity import Activity, Counter, CounterKind
from baton.ports.tenants.tenants import CountsTooLarge
from tests.contracts.activity import ActivityContract, LimitedTenant, Steps, check_places, steps
from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import Stores
from tests.integration.store.conftest import Engine


class TestActivity(ActivityContract):
    pass


@pytest.mark.parametrize(("engine", "examples"), [("in_memory", 100), ("on_dynamodb_local", 10)])
def test_never_more_than_the_limit_at_once_and_no_place_lost(
    request: pytest.FixtureRequest, engine: str, examples: int
) -> None:
    stores: Stores = in_memory()
    if engine != "in_memory":
        on: Engine = request.getfixturevalue(engine)
        stores = on.stores()
    loop = asyncio.new_event_loop()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(steps, st.one_of(st.none(), st.integers(1, 3)), st.integers(1, 2))
    def holds(done: Steps, of_tenant: int | None, of_user: int) -> None:
        loop.run_until_complete(check_places(stores, done, of_tenant=of_tenant, of_user=of_user))

    holds()
    loop.close()


class LateTable(Table):
    """A table whose reads without consistency show no new item."""

    async def get_many(self, keys: list[dict[str, str]], *, consistent: bool = False) -> list[Item]:
        return await super().get_many(keys, consistent=True) if consistent else []


async def test_a_thread_that_reads_do_not_show_yet_keeps_its_place(on_dynamodb_local: Engine) -> None:
    table = on_dynamodb_local.table
    tenant = LimitedTenant(Engine(LateTable(table.client, table.name), on_dynamodb_local.s3).stores(), runs_at_once=1)
    await tenant.begin("ada")
    assert not await tenant.may_begin("bob")
    await tenant.end(tenant.running[0])
    assert await tenant.may_begin("bob")


async def test_an_item_of_counts_that_is_too_large_is_not_written(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    counter = Counter(CounterKind.RUNS)

    async def grow(activity: Activity) -> Activity:
        return replace(activity, messages_of={f"{number:x}" * 1_000: 1 for number in range(500)})

    with pytest.raises(CountsTooLarge):
        await stores.activity.change(stores.ada, counter, grow)
    assert await stores.activity.get(stores.ada, counter) == Activity()

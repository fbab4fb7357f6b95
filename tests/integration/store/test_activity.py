"""Every store counts the activity of tenants and users as its contract says."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.activity import ActivityContract, Steps, check_places, steps
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

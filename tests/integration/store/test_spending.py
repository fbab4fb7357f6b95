"""Every store counts spending as its contract says."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.fake_stores import in_memory
from tests.contracts.spending import SpendingContract, Steps, check_spending, steps
from tests.contracts.stores import Stores
from tests.integration.store.conftest import Engine


class TestSpending(SpendingContract):
    pass


@pytest.mark.parametrize(("engine", "examples"), [("in_memory", 100), ("on_dynamodb_local", 10)])
def test_no_limit_is_exceeded_by_more_than_a_call(request: pytest.FixtureRequest, engine: str, examples: int) -> None:
    loop = asyncio.new_event_loop()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(steps, st.integers(1, 400), st.integers(1, 900))
    def holds(done: Steps, per_day: int, per_month: int) -> None:
        stores: Stores = in_memory()
        if engine != "in_memory":
            on: Engine = request.getfixturevalue(engine)
            stores = on.stores()
        loop.run_until_complete(check_spending(stores, done, per_day=per_day, per_month=per_month))

    holds()
    loop.close()

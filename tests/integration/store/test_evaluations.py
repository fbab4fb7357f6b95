"""Every store keeps evaluations as its contract says."""

from __future__ import annotations

import pytest

from baton.adapters.dynamodb.tenants.evaluations import DynamoEvaluations
from baton.ports.tenants.tenants import EvaluationStore
from baton_testing.fakes.clock import FakeClock
from tests.contracts.evaluations import EvaluationContract
from tests.fakes.evaluations import FakeEvaluations
from tests.integration.store.conftest import Engine


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "dynamodb"])
def store(request: pytest.FixtureRequest, clock: FakeClock) -> EvaluationStore:
    if request.param == "memory":
        return FakeEvaluations(clock)
    engine: Engine = request.getfixturevalue("on_dynamodb_local")
    return DynamoEvaluations(engine.table, clock)


class TestEvaluations(EvaluationContract):
    pass

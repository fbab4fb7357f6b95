"""Several write procedures at once. moto is left out: its transactions are not isolated from each other."""

from __future__ import annotations

import pytest

from tests.contracts.fake_stores import in_memory
from tests.contracts.private_skills import PrivateSkillRaces
from tests.contracts.procedures import ProcedureRaces
from tests.contracts.stores import Stores
from tests.integration.store.conftest import Engine


@pytest.fixture(params=["in_memory", "on_dynamodb_local"])
def stores(request: pytest.FixtureRequest) -> Stores:
    """A separate tenant in each store in turn."""
    if request.param == "in_memory":
        return in_memory()
    engine: Engine = request.getfixturevalue(request.param)
    return engine.stores()


class TestProcedureRaces(ProcedureRaces):
    pass


class TestPrivateSkillRaces(PrivateSkillRaces):
    pass

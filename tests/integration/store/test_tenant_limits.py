"""Every store keeps tenants' limits as its contract says."""

from __future__ import annotations

import pytest

from baton.adapters.dynamodb.tenants.tenant_limits import DynamoTenantLimits
from baton.ports.tenants.tenants import TenantLimitStore
from baton_testing.fakes.tenants.tenants import FakeTenantLimits
from tests.contracts.tenant_limits import TenantLimitContract
from tests.integration.store.conftest import Engine


@pytest.fixture(params=["memory", "dynamodb"])
def limits(request: pytest.FixtureRequest) -> TenantLimitStore:
    if request.param == "memory":
        return FakeTenantLimits()
    engine: Engine = request.getfixturevalue("on_dynamodb_local")
    return DynamoTenantLimits(engine.table)


class TestTenantLimits(TenantLimitContract):
    pass

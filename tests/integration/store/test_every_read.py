"""All records can be read from the table too: see ``tests/unit/api/tenants/test_every_read.py``."""

from __future__ import annotations

import pytest

from tests.integration.store.conftest import Engine
from tests.unit.api.every_read import AT_ONCE
from tests.unit.api.recorded import RecordedHarness
from tests.unit.api.served import Served
from tests.unit.api.sweep import Sweep

FOLLOWED_ONE_IN = 12
"""One in so many lists of a route is followed to its end here. In memory all are."""


@pytest.mark.nightly
async def test_every_route_answers_as_described_over_dynamodb(on_dynamodb_local: Engine) -> None:
    harness = RecordedHarness(on_dynamodb_local.stores())
    await harness.everything()
    sweep = Sweep(Served(harness, AT_ONCE))
    assert await sweep.page_through(2, one_in=FOLLOWED_ONE_IN) > 0
    await sweep.ask_without_parameters()
    keys = {"/.well-known/agent-card-keys.json", "/.well-known/jwks.json"}  # this deployment has none
    for route in sweep.routes.keys() - keys:
        assert sweep.statuses[route, 200] > 0, f"nothing was found at {route}"

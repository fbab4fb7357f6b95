"""Every store of dead deliveries to webhooks keeps its contract."""

from __future__ import annotations

from tests.contracts.dead_deliveries import DeadDeliveriesContract


class TestDeadDeliveries(DeadDeliveriesContract):
    pass

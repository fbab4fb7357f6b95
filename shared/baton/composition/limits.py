"""The use cases that limit what tenants use, built with the ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from baton.composition.ports import Ports


class LimitUseCases:
    """Use cases that limit runs, connections and costs of tenants."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    @cached_property
    def current(self) -> parts.CurrentLimits:
        """The current limits of tenants."""
        ports = self.ports
        return parts.CurrentLimits(ports.tenant_limits, lambda: ports.deployment_limits, ports.clock)

    @cached_property
    def runs(self) -> parts.RunLimits:
        """The use case that limits runs, messages and tokens."""
        return parts.RunLimits(self.ports.activity, self.current, self.ports.clock)

    @cached_property
    def places(self) -> parts.PlaceLimits:
        """The use case that limits connections, streams and requests that wait."""
        return parts.PlaceLimits(self.ports.activity, self.current, self.ports.clock)

    @cached_property
    def spending(self) -> parts.SpendingLimits:
        """The use case that limits the costs of models."""
        ports = self.ports
        return parts.SpendingLimits(ports.spending, self.current, lambda: ports.prices, ports.clock, ports.audit)

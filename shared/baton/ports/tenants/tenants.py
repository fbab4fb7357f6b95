"""The limits and the retention of tenants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.memory.forgetting import Retention
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.tenant_limits import TenantLimits


class TenantLimitStore(Protocol):
    """The limits that tenants have chosen. Methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope) -> TenantLimits:
        """Return the tenant's limits. Those that were never set are the deployment's."""

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        """Store the limits unless others came first. Return whether they are stored: True also for a repetition."""


class Retentions(Protocol):
    """The times for which tenants keep their data."""

    async def get(self, scope: Scope) -> Retention:
        """Return the tenant's retention. One that was never set keeps everything."""

    async def put(self, scope: Scope, retention: Retention) -> None:
        """Set the tenant's retention. It is due at once, and then once a day."""

    async def due_at(self, scope: Scope) -> datetime | None:
        """Return the time at which the tenant's retention is due next; None if nothing is limited."""

    async def repeat_soon(self, scope: Scope) -> None:
        """Make the tenant's retention due again at once, unless nothing is limited."""

    async def claim_due(self, now: datetime) -> Sequence[str]:
        """Return the tenants whose retention is to be enforced now. No other caller gets them before the next day."""


class SearchedTenants(Protocol):
    """The tenants that have stored something to search."""

    async def all(self) -> Mapping[str, Sequence[str]]:
        """Return every tenant with episodes or documents, and for each the agents that have documents, in their order.

        It reads the table's whole list of lists: for operators only. Raises ``StoreUnavailable``.
        """

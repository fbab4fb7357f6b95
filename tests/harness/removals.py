"""Tenants of a harness that are removed."""

from __future__ import annotations

from dataclasses import replace

from baton.domain.tenants.removal import RemovalStatus, TenantRemoval
from tests.harness.harness import Harness


async def remove_tenant(harness: Harness, tenant_id: str = "acme") -> None:
    """Confirm the removal of a tenant. Every process has learned of it."""
    now = harness.clock.now()
    removal = TenantRemoval("r", tenant_id, "operator", now, status=RemovalStatus.REMOVING)
    assert await harness.removals.put(replace(removal, confirmed_at=now, revision=1))
    harness.clock.advance(60)

"""The identity of the caller, as front ends read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest

from baton.api.application import create_app
from baton.composition.app import build
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.identity import Identity
from tests.harness.harness import Harness


@dataclass(frozen=True)
class NamedVerifier:
    """A ``TokenVerifier`` whose tokens all speak for anna."""

    harness: Harness
    name: str | None

    def verify(self, _: str) -> Identity:
        scope = Scope("acme", "anna", frozenset({"thread:read_all"}), name=self.name)
        return Identity(scope, self.harness.clock.now() + timedelta(hours=1))


@pytest.mark.parametrize("name", ["Anna Berg", None])
async def test_a_front_end_reads_the_name_that_the_token_gives(name: str | None) -> None:
    harness = Harness()
    app = build(harness.with_ports(verifier=NamedVerifier(harness, name)), poll_seconds=0.01)
    transport = httpx.ASGITransport(create_app(lambda: app))
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test") as client:
        identity = (await client.get("/v1/users/me", headers={"Authorization": "Bearer token"})).json()
    assert (identity["userId"], identity["name"]) == ("anna", name)
    assert identity["permissions"] == ["thread:read_all"]

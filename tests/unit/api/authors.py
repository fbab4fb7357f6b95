"""A tenant's own agents over the HTTP API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from baton.domain.tenants.identity import Scope
from tests.unit.api.served import Served

TUTOR: dict[str, Any] = {
    "name": "Tutor",
    "description": "Helps with homework.",
    "main": True,
    "systemPrompt": "Ask one question at a time.",
}
WRITE = "agent:write"


@dataclass
class Authors:
    """Users of several tenants who change agents."""

    served: Served

    async def put(
        self,
        agent_id: str,
        body: Any,
        *permissions: str,
        tenant: str = "acme",
        user: str = "ada",
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> httpx.Response:
        """PUT a definition: a text is YAML, everything else JSON."""
        sent: dict[str, Any] = {"json": body}
        if isinstance(body, str | bytes):
            sent = {"content": body}
            headers = {"Content-Type": "application/yaml"} | (headers or {})
        return await self.call(
            "PUT", f"/agents/{agent_id}", *permissions, tenant=tenant, user=user, headers=headers, params=query, **sent
        )

    async def call(
        self, method: str, path: str, *permissions: str, tenant: str = "acme", user: str = "ada", **more: Any
    ) -> httpx.Response:
        """Any request as a holder of ``agent:write``."""
        headers = {"Authorization": f"Bearer {','.join([tenant, user, WRITE, *permissions])}"}
        headers |= more.pop("headers", None) or {}
        transport = httpx.ASGITransport(self.served.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://baton.test/v1", headers=headers) as client:
            return await client.request(method, path, **more)


def scope_of(tenant: str, *permissions: str) -> Scope:
    """The scope of ada in a tenant."""
    return Scope(tenant, "ada", frozenset(permissions))

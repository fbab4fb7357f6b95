"""The HTTP API over fakes, and users who call it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
from fastapi.routing import APIRoute

from baton.api.a2a.access import A2AAccess
from baton.api.application import create_app
from baton.api.runs.sse import Timing
from baton.composition.app import build
from tests.fakes.token_verifier import OpenVerifier
from tests.harness.harness import Harness


@dataclass
class Served:
    """The API over a harness."""

    harness: Harness = field(default_factory=Harness)
    timing: Timing = field(default_factory=Timing)
    token_seconds: float = 3600.0
    """The lifetime of tokens."""
    a2a: A2AAccess | None = None
    """The A2A part of its cards."""

    def __post_init__(self) -> None:
        verifier = OpenVerifier(self.harness.clock, lambda: self.token_seconds)
        app = build(self.harness.with_ports(verifier=verifier), poll_seconds=0.01)
        self.refreshes = app.knowledge.source_refreshes
        self.app = create_app(lambda: app, timing=self.timing, a2a=self.a2a or A2AAccess())

    async def get(self, path: str, *permissions: str, user: str = "ada", **params: Any) -> httpx.Response:
        """GET ``/v1<path>`` as a user of ada's tenant."""
        async with self._client(user, *permissions) as client:
            return await client.get(path, params=params)

    async def post(self, path: str, body: Any, *permissions: str, user: str = "ada") -> httpx.Response:
        """POST to ``/v1<path>`` as a user of ada's tenant; a stream is read to its end."""
        async with self._client(user, *permissions) as client:
            return await client.post(path, json=body)

    async def patch(self, path: str, body: Any, *permissions: str, user: str = "ada") -> httpx.Response:
        """PATCH ``/v1<path>`` as a user of ada's tenant."""
        async with self._client(user, *permissions) as client:
            return await client.patch(path, json=body)

    async def put(
        self, path: str, body: Any, *permissions: str, user: str = "ada", headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """PUT to ``/v1<path>`` as a user of ada's tenant."""
        async with self._client(user, *permissions) as client:
            return await client.put(path, json=body, headers=headers)

    async def raw(self, path: str, body: Any, *permissions: str, user: str = "ada") -> httpx.Response:
        """POST like ``post``, as JSON in ASCII, which can hold what UTF-8 cannot."""
        async with self._client(user, *permissions) as client:
            return await client.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})

    async def request(
        self, method: str, path: str, *permissions: str, user: str = "ada", headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Any request for ``/v1<path>``, or for a path that already has its version."""
        async with self._client(user, *permissions) as client:
            outside = path == "/health" or path.startswith(("/a2a", "/mcp", "/agent/", "/.well-known"))
            url = f"http://baton.test{path}" if outside else path.removeprefix("/v1")
            return await client.request(method, url, headers=headers)

    async def items(self, path: str, *permissions: str, **params: Any) -> tuple[list[Any], str | None]:
        """Return a page of a list."""
        answer = (await self.get(path, *permissions, **params)).raise_for_status().json()
        return answer["items"], answer["nextCursor"]

    def _client(self, user: str, *permissions: str) -> httpx.AsyncClient:
        tenant_id = self.harness.ada.tenant_id
        headers = {"Authorization": f"Bearer {','.join([tenant_id, user, *permissions])}"}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://baton.test/v1", headers=headers
        )


@cache
def list_described_operations() -> tuple[tuple[str, str], ...]:
    """Return the method and path of each operation of the OpenAPI document, without the time that it takes to make."""
    routes = [route for route in Served().app.routes if isinstance(route, APIRoute) and route.include_in_schema]
    return tuple((method, route.path_format) for route in routes for method in sorted(route.methods))


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI document, the same for every application. It is made once, because that takes a second."""
    return Served().app.openapi()

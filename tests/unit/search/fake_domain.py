"""A search domain that makes indices and roles, and refuses requests for as long as a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

Refusal = tuple[int, Any]


class FakeDomain:
    """An HTTP server with the few paths that a deployment asks."""

    def __init__(self) -> None:
        self.refuse: Callable[[], Refusal | None] = lambda: None
        """Returns the answer to every request, or None to let it in."""
        self.requests: list[str] = []
        self.indices: dict[str, Any] = {}
        self.mapped: dict[str, Any] = {}
        """The backend roles of each role of the security plugin."""

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append(f"{request.method} {request.path}")
        refusal = self.refuse()
        if refusal is not None:
            return web.json_response(refusal[1], status=refusal[0])
        name = request.path.rpartition("/")[2]
        if request.path.startswith("/_plugins/_security/api/rolesmapping/"):
            self.mapped[name] = (await request.json())["backend_roles"]
        elif request.path.startswith("/_plugins/"):
            pass
        elif request.method == "PUT":
            self.indices[name] = await request.json()
        else:
            assert request.method == "GET", request.path
            prefix = name.removesuffix("*")
            return web.json_response({name: index for name, index in self.indices.items() if name.startswith(prefix)})
        return web.json_response({"acknowledged": True})

"""Collect the metrics of a request and write them at its end."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from baton.composition.metrics import write_metrics
from baton.domain.metrics import counting


class CountedRequests:
    """ASGI middleware, outside of the one that turns exceptions into responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A run may outlast its request. Its later counts are written at once.
        with counting(write_metrics):
            await self._app(scope, receive, send)

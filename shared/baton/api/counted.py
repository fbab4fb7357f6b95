"""Counts of what happens while a request is answered, written down at its end."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from baton.composition.metrics import write_metrics
from baton.domain.metrics import counting


class CountedRequests:
    """An ASGI app around another one. It stands outside of everything that turns exceptions into answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A run may outlast its request: what happens then is written down when it does.
        with counting(write_metrics):
            await self._app(scope, receive, send)

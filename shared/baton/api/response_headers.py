"""Headers that every response has."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_STORE = "no-store"
DEFAULTS: Mapping[str, str] = {
    # Browsers take a response for what its Content-Type says, never for a script or page that it looks like.
    "X-Content-Type-Options": "nosniff",
    # Answers hold conversations. The routes of cards and keys, which may be kept, say for how long.
    "Cache-Control": NO_STORE,
}


class ResponseHeaders:
    """ASGI middleware that adds ``DEFAULTS`` to every HTTP response that does not set them itself.

    A response that sets ``Cache-Control`` without a time, as libraries do for streams, must not be stored either.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in DEFAULTS.items():
                    headers.setdefault(name, value)
                caching = headers["Cache-Control"]
                if NO_STORE not in caching and "max-age" not in caching:
                    headers["Cache-Control"] = f"{NO_STORE}, {caching}"
            await send(message)

        await self._app(scope, receive, with_headers)

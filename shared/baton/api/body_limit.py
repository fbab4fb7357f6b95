"""Refusing bodies that are too large before they are read into memory."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton.api.problems import response
from baton.domain.errors import MessageTooLarge

MAX_BODY_BYTES = 1024 * 1024 + 64 * 1024
"""A message of 1 MiB, and what may stand around it."""


class BodyLimit:
    """ASGI middleware that answers 413 to a larger body, whether or not its length was announced."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = 0
        started = False

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MAX_BODY_BYTES:
                raise MessageTooLarge
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, limited, watched)
        except MessageTooLarge as error:
            if started:
                raise
            await response(Request(scope), error)(scope, receive, send)

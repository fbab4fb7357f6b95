"""Refusing bodies that are too large before they are read into memory."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton.domain.errors import MessageTooLarge

MAX_BODY_BYTES = 5 * 1024 * 1024
"""AG-UI clients send the whole conversation each time, though only its last message counts (at most 1 MiB, checked
where it is read). A Lambda function takes 6 MB."""


class BodyLimit:
    """ASGI middleware that has a larger body answered by 413, whether or not its length was announced."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > MAX_BODY_BYTES:
                # Not the error itself: FastAPI makes a 400 of whatever else is raised while it reads a body.
                raise HTTPException(MessageTooLarge.status)
            return message

        await self._app(scope, limited, send)

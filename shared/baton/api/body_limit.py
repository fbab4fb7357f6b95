"""Refuse large request bodies before they are read into memory."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton.domain.errors import MessageTooLarge
from baton.domain.json_values import ValueCount

MAX_BODY_BYTES = 5 * 1024 * 1024
"""Bytes of a request body. AG-UI clients send the whole conversation, of which only the last message counts (at most
1 MiB, checked where it is parsed). Lambda's limit is 6 MB."""
MAX_BODY_VALUES = 150_000
"""JSON values in a body. Parsing them blocks the event loop for some 25 ms. A message with its metadata has twenty."""

COUNTED_AT_ONCE = 128 * 1024
"""Bytes whose values are counted at once, which takes 7 ms at most."""


class BodyLimit:
    """ASGI middleware that answers larger bodies with 413, with or without a ``Content-Length``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen, values = 0, ValueCount()

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            body = message.get("body", b"")
            seen += len(body)
            for start in range(0, len(body) if seen <= MAX_BODY_BYTES else 0, COUNTED_AT_ONCE):
                if start:
                    await asyncio.sleep(0)
                values.add(body[start : start + COUNTED_AT_ONCE])
            if seen > MAX_BODY_BYTES or values.count > MAX_BODY_VALUES:
                # Not the error itself, because FastAPI turns other exceptions into a 400 while it reads a body.
                raise HTTPException(MessageTooLarge.status)
            return message

        await self._app(scope, limited, send)

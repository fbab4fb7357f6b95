"""Refuse requests that take long to be read, before they are read."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton.api import problems
from baton.domain.errors import BatonError, InvalidRequest, MessageTooLarge
from baton.domain.json_values import MAX_MEMBERS, MemberCount

MAX_BODY_BYTES = 5 * 1024 * 1024
"""Bytes of a request body. AG-UI clients send the whole conversation, of which only the last message counts (at most
1 MiB, checked where it is parsed). Lambda's limit is 6 MB."""
MAX_BODY_VALUES = 150_000
"""JSON values in a body. Parsing them blocks the event loop for some 25 ms. A message with its metadata has twenty."""
MAX_PARAMETERS = 100
"""Parameters of a query."""
MAX_HEADERS = 200
"""Headers of a request. API Gateway and its clients send some twenty."""

COUNTED_AT_ONCE = 128 * 1024
"""Bytes whose values are counted at once, which takes 10 ms at most."""


class RequestLimits:
    """ASGI middleware that answers larger requests with 413 or 422, with or without a ``Content-Length``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (refusal := _refusal(scope)) is not None:
            await problems.response(Request(scope), refusal)(scope, receive, send)
            return
        await self._app(scope, _Body(receive).receive, send)


def _refusal(scope: Scope) -> BatonError | None:
    query: bytes = scope["query_string"]
    if query.count(b"&") >= MAX_PARAMETERS:
        return InvalidRequest(f"The address may have at most {MAX_PARAMETERS} query parameters.")
    if len(scope["headers"]) > MAX_HEADERS:
        return InvalidRequest(f"The request may have at most {MAX_HEADERS} headers.")
    return None


class _Body:
    """A request's body, counted while it comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0
        self._values = MemberCount()

    async def receive(self) -> Message:
        """Return the next message. Raises ``problems.Refused``."""
        message = await self._receive()
        body = message.get("body", b"")
        self._size += len(body)
        for start in range(0, len(body) if self._size <= MAX_BODY_BYTES else 0, COUNTED_AT_ONCE):
            if start:
                await asyncio.sleep(0)
            if self._values.add(body[start : start + COUNTED_AT_ONCE]) > MAX_BODY_VALUES:
                break
        if self._size > MAX_BODY_BYTES:
            raise problems.Refused(MessageTooLarge(f"The body may have at most {MAX_BODY_BYTES // (1024 * 1024)} MiB."))
        if self._values.count > MAX_BODY_VALUES:
            raise problems.Refused(MessageTooLarge(f"The body may have at most {MAX_BODY_VALUES:,} JSON values."))
        if self._values.members > MAX_MEMBERS:
            raise problems.Refused(
                InvalidRequest(f"An object in the body has more than {MAX_MEMBERS:,} members, which no field takes.")
            )
        return message

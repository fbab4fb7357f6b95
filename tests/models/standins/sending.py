"""Send an answer's events, with what goes wrong on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.models.standins.journal import Fault, Journal, Received, Refusal

SILENCE_SECONDS = 0.05
"""Between two comments of a stream that says nothing."""


class Dropped(Exception):
    """An end in the middle of a stream: the server closes the connection."""


class EventStream(Response):
    """A stream of bytes that notes when the client leaves."""

    def __init__(self, chunks: AsyncIterator[bytes], media_type: str, journal: Journal, received: Received) -> None:
        super().__init__(media_type=media_type, headers={"x-request-id": "req_stand_in"})
        del self.headers["content-length"]
        self._chunks, self._journal, self._received = chunks, journal, received

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the chunks until they end or the client leaves."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(self._wait_for_hangup(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                self._journal.hang_up(self._received)
        finally:
            for task in (sending, leaving):
                if not task.done():
                    task.cancel()
                with suppress(asyncio.CancelledError, Dropped):
                    await task
        if not sending.cancelled() and (failure := sending.exception()):
            raise failure

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for chunk in self._chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _wait_for_hangup(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


def refuse(received: Received, refused: Refusal, *, ruled: bool = True) -> Response:
    """Return the refusal, and note it if a rule made it rather than a fault that was asked for."""
    if ruled:
        received.refusal = refused
    return JSONResponse(refused.body, refused.status, {"x-request-id": "req_stand_in", **refused.headers})


async def read_json(request: Request) -> Any:
    """Return the body; None if it is not JSON."""
    try:
        return json.loads(await request.body())
    except ValueError:
        return None


async def with_fault(
    events: Iterable[bytes], fault: Fault | None, encode: Callable[[Any], bytes]
) -> AsyncIterator[bytes]:
    """Yield ``events`` as ``fault`` has them: broken, interrupted or followed by others that ``encode`` writes."""
    sent = 0
    for event in events:
        if fault and fault.then and sent == fault.after:
            async for wrong in _wrong(fault, encode):
                yield wrong
            if fault.then != "insert":
                return
        sent += 1
        for piece in _pieces(event, fault.piece if fault else 0):
            yield piece
    if fault and fault.then and sent <= fault.after:
        async for wrong in _wrong(fault, encode):
            yield wrong


async def _wrong(fault: Fault, encode: Callable[[Any], bytes]) -> AsyncIterator[bytes]:
    if fault.then in ("event", "insert"):
        yield encode(fault.event)
    elif fault.then == "drop":
        raise Dropped
    elif fault.then == "hang":
        await asyncio.Event().wait()
    while fault.then == "silence":
        await asyncio.sleep(SILENCE_SECONDS)
        yield b": still thinking\n\n"


def _pieces(event: bytes, size: int) -> list[bytes]:
    return [event[start : start + size] for start in range(0, len(event), size)] if size else [event]


def server_sent(data: Any) -> bytes:
    """Return a server-sent event; a string as it is, anything else as JSON."""
    return f"data: {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}\n\n".encode()

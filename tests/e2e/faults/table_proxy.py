"""Stands between the product and DynamoDB Local and can stop a request right before or right after it takes effect."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

import httpx
from starlette.types import Message, Receive, Scope, Send

from tests.fault_model import Broken, ThreadedServer

PATIENCE_SECONDS = 60.0
ACQUIRE, COMMIT = "SET lease_owner", "committed_fence"
"""What stands in the expression of the update that takes a lease, and of the one that commits a run."""
_HOP_BY_HOP = {b"host", b"content-length", b"connection", b"transfer-encoding"}


@dataclass
class Hold:
    """Stops the first update of ``thread_id`` with ``expression`` in it, and its repetitions, until it is let go.

    Then the connection is dropped: whoever asked is dead by then, and a request that was stopped before it took effect
    never will.
    """

    thread_id: str
    expression: str
    when: Literal["before", "after"]
    reached: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def stops(self, body: bytes) -> bool:
        return not self.over.is_set() and self.thread_id.encode() in body and self.expression.encode() in body


class TableProxy:
    """The proxy. Use it as a context manager; ``url`` is its endpoint."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._serving = ThreadedServer(self._app)
        self._client: httpx.AsyncClient | None = None
        self.holds: list[Hold] = []
        self.url = ""

    def hold(self, thread_id: str, expression: str, when: Literal["before", "after"]) -> Hold:
        """Stop an update from now on."""
        held = Hold(thread_id, expression, when)
        self.holds.append(held)
        return held

    def __enter__(self) -> Self:
        self.url = f"http://127.0.0.1:{self._serving.start()}"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for hold in self.holds:
            hold.over.set()
        self._serving.stop()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._client is None:
            limits = httpx.Limits(max_connections=200)
            self._client = httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS, limits=limits)
        body = b""
        more = True
        while more:
            message: Message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        held = next((hold for hold in self.holds if hold.stops(body)), None)
        if held is not None and held.when == "before":
            await _stay(held)
        headers = [(name, value) for name, value in scope["headers"] if name not in _HOP_BY_HOP]
        answer = await self._client.post(self._endpoint, content=body, headers=headers)
        if held is not None:
            await _stay(held)
        kept = [(name, value) for name, value in answer.headers.raw if name.lower() not in _HOP_BY_HOP]
        await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
        await send({"type": "http.response.body", "body": answer.content})


async def _stay(held: Hold) -> None:
    held.reached.set()
    await asyncio.to_thread(held.over.wait, PATIENCE_SECONDS)
    raise Broken

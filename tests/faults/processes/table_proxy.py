"""Stands between the product and DynamoDB Local and can stop a request right before or right after it takes effect."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Literal, Self

import urllib3
from starlette.types import Message, Receive, Scope, Send

from tests.fault_model import Broken, ThreadedServer

PATIENCE_SECONDS = 60.0
THREADS = 64
ACQUIRE, COMMIT = "SET lease_owner", "committed_fence"
"""Parts of the expressions of the update that takes a lease, and of the one that commits a run."""
_HOP_BY_HOP = {b"host", b"content-length", b"connection", b"transfer-encoding"}


@dataclass
class Hold:
    """A stop of the first update of ``thread_id`` with ``expression`` in it, and of its repetitions.

    It lasts until it is let go.

    Then the connection is dropped: the client is dead by then, and a request that was stopped before it took effect
    never will.
    """

    thread_id: str
    expression: str
    when: Literal["before", "after"]
    reached: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    async def stay(self) -> None:
        """Wait until it is let go. It needs no thread: clients repeat the request, and other requests need threads."""
        self.reached.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not self.over.is_set():  # noqa: ASYNC110 - another thread sets it
                    await asyncio.sleep(0.01)

    def stops(self, body: bytes) -> bool:
        return not self.over.is_set() and self.thread_id.encode() in body and self.expression.encode() in body


class TableProxy:
    """The proxy. Use it as a context manager; ``url`` is its endpoint."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._serving = ThreadedServer(self._app)
        self._pool = urllib3.PoolManager(maxsize=THREADS, block=True, retries=False)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="table proxy")
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
        self._threads.shutdown()
        self._pool.clear()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        run = asyncio.get_running_loop().run_in_executor
        body = b""
        more = True
        while more:
            message: Message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        held = next((hold for hold in self.holds if hold.stops(body)), None)
        if held is not None and held.when == "before":
            await held.stay()
            raise Broken
        headers = {name.decode(): value.decode() for name, value in scope["headers"] if name not in _HOP_BY_HOP}
        answer = await run(self._threads, partial(self._pool.request, "POST", self._endpoint, body, headers=headers))
        if held is not None:
            await held.stay()
            raise Broken
        stored = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        stored = [(name, value) for name, value in stored if name.lower() not in _HOP_BY_HOP]
        await send({"type": "http.response.start", "status": answer.status, "headers": stored})
        await send({"type": "http.response.body", "body": answer.data})

"""The fault model's server, and the fixtures that run it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.fault_model.chunks import Json
from tests.fault_model.exchange import Behaviour, Exchange, Received
from tests.fault_model.healthy import echo

LIGHT_MODEL = "fault-1-light"
"""The model that ``RunningCloud`` has summaries, facts and titles made with."""


class ThreadedServer:
    """A server of an ASGI app on a free local port, in a separate thread."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app, interface="asgi3", lifespan="off", ws="none", log_level="critical", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="test-server", daemon=True)
        self._subscriber: socket.socket | None = None

    def start(self) -> int:
        """Start; returns the port."""
        self._subscriber = socket.create_server(("127.0.0.1", 0))
        self._thread.start()
        port: int = self._subscriber.getsockname()[1]
        return port

    def stop(self) -> None:
        """Stop and wait for the end."""
        self._server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        self._server.run([self._subscriber] if self._subscriber else None)


@dataclass
class FaultModel:
    """The server. Use it as a context manager, or ``start`` and ``stop`` it; it listens on a free local port."""

    otherwise: Behaviour = field(default_factory=echo)
    """The behaviour for a request when the script is empty."""
    requests: list[Received] = field(default_factory=list)
    """Requests to all models but the light one."""
    light_requests: list[Received] = field(default_factory=list)
    """Requests to ``LIGHT_MODEL``, which Baton sends by itself at any time. ``otherwise`` answers them."""
    hangups: int = 0
    port: int = 0

    def __post_init__(self) -> None:
        self._script: deque[Behaviour] = deque()
        self._changed = threading.Condition()
        self._serving = ThreadedServer(self._app)

    @property
    def base_url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[Json]:
        """The bodies of all requests."""
        return [received.body for received in self.requests]

    def script(self, *behaviours: Behaviour) -> None:
        """Behaviours for the next requests to other models than the light one, after those scripted before."""
        self._script.extend(behaviours)

    def reset(self) -> None:
        """Forget script, requests and hang-ups."""
        self._script.clear()
        self.requests.clear()
        self.light_requests.clear()
        self.hangups = 0
        self.otherwise = echo()

    async def wait_until(self, condition: Callable[[FaultModel], bool]) -> None:
        """Wait for a request or hang-up after which ``condition(self)`` holds. Raises ``TimeoutError`` after 10 s."""

        def wait() -> bool:
            with self._changed:
                return self._changed.wait_for(lambda: condition(self), timeout=10)

        if not await asyncio.to_thread(wait):
            raise TimeoutError("The fault model did not see what was waited for.")

    def start(self) -> None:
        """Serve from a separate thread."""
        self.port = self._serving.start()

    def stop(self) -> None:
        """Stop serving; open streams are cut."""
        self._serving.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b"".join([data async for data in _body(receive)])
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        received = Received(scope["path"], headers, json.loads(body or b"{}"))
        is_light = received.body.get("model") == LIGHT_MODEL
        with self._changed:
            (self.light_requests if is_light else self.requests).append(received)
            self._changed.notify_all()
        behaviour = self._script.popleft() if self._script and not is_light else self.otherwise
        await behaviour(Exchange(received, receive, send, self._count_hangup))

    def _count_hangup(self) -> None:
        with self._changed:
            self.hangups += 1
            self._changed.notify_all()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message: Message = await receive()
        more = message.get("more_body", False)
        yield message.get("body", b"")


@pytest.fixture(scope="session")
def fault_model_server() -> Iterator[FaultModel]:
    """One server for the whole session."""
    with FaultModel() as model:
        yield model


@pytest.fixture
def fault_model(fault_model_server: FaultModel) -> FaultModel:
    """The server with an empty script."""
    fault_model_server.reset()
    return fault_model_server

"""A client's own server, on this machine: it keeps the notifications that it gets, and answers as a test asks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx
import jwt

from tests.e2e.sockets import PATIENCE_SECONDS
from tests.e2e.users import Json

HANG = "hang"
"""Answer nothing until the client goes away."""
FLOOD = "flood"
"""Answer 200, and a body without an end."""


@dataclass(frozen=True)
class Notification:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        reported: Json = json.loads(self.body)
        return reported

    def check_signature(self, keys: Json, *, audience: str, issuer: str) -> Json:
        """Check the signature with the published keys; return its claims."""
        signature = self.headers["x-a2a-notification-signature"]
        key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(signature)["kid"]]
        claims: Json = jwt.decode(signature, key, audience=audience, issuer=issuer)
        return claims


@dataclass
class Receiver:
    """The server. Use it as an asynchronous context manager."""

    answers: list[int | str] = field(default_factory=list)
    """Statuses of the next answers, ``HANG`` or ``FLOOD``; 200 when there are no more."""
    notifications: asyncio.Queue[Notification] = field(default_factory=asyncio.Queue)
    url: str = ""
    _connections: set[asyncio.Task[Any]] = field(default_factory=set)

    async def receive(self) -> Notification:
        """Return the next request, whatever its answer."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.notifications.get()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/hook"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        answer = self.answers.pop(0) if self.answers else 200
        self.notifications.put_nowait(Notification(head[0].split(" ")[1], headers, body))
        if answer == HANG:
            await reader.read()
            return
        if answer == FLOOD:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                await writer.drain()
        location = f"Location: {self.url}/elsewhere\r\n" if str(answer).startswith("3") else ""
        writer.write(f"HTTP/1.1 {answer} Told\r\n{location}Content-Length: 0\r\n\r\n".encode())
        await writer.drain()


async def keys_of(http: httpx.AsyncClient, url: str) -> Json:
    """The deployment's published keys."""
    body: Json = (await http.get(f"{url}/.well-known/jwks.json")).raise_for_status().json()
    return body

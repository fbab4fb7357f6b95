"""Servers on this machine that answer as a test wants, and names that lead where it wants."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Names:
    """A resolver that answers each question with the next of its answers."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.resolved_hosts: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.resolved_hosts.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@asynccontextmanager
async def serving(answer: bytes | Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on this machine that gives every request the same answer; yields its port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body

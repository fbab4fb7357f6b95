"""A network in which packets vanish or are late without a notice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast
from urllib.parse import urlsplit

BOTH = {"requests", "answers"}


@dataclass
class _Link:
    """One connection through the proxy, in both directions."""

    swallows: set[str]
    """Of "requests" and "answers"."""
    flows: asyncio.Event
    """While it is not set, what comes is held back."""
    task: asyncio.Task[None]
    is_socket: bool = False

    async def carry(self, direction: str, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Forward data until the source closes; swallowed data and closes are dropped."""
        while data := await source.read(65536):
            self.is_socket |= b"upgrade: websocket" in data[:2000].lower()
            await self.flows.wait()
            if direction not in self.swallows:
                target.write(data)
                await target.drain()
        if direction not in self.swallows:
            target.close()


class LossyProxy:
    """A proxy in front of a server. Use it as a context manager; ``url`` is where it is reached."""

    def __init__(self, target: str) -> None:
        address = urlsplit(target)
        self._host, self._port = address.hostname or "", address.port or 80
        self._links: list[_Link] = []
        self._swallows_new = False
        self._flows = asyncio.Event()
        self._flows.set()
        self.url = ""

    def swallow(self, *directions: str) -> None:
        """Drop all data on the existing connections, as when the client changes its network; new connections work.

        With "requests" or "answers", only that direction is dropped. Connections that are not WebSockets end, as
        browsers themselves end theirs when they change networks.
        """
        for link in self._links:
            link.swallows |= set(directions) or BOTH
        self._end_requests()

    def swallow_everything(self) -> None:
        """Drop the data of new connections as well: they are accepted and never answered."""
        self._swallows_new = True
        for link in self._links:
            link.swallows |= BOTH

    def hold(self) -> None:
        """Delay all data until ``release``."""
        self._flows.clear()

    def release(self) -> None:
        """Hand on what was held back, and what comes from now on."""
        self._flows.set()

    def pass_again(self) -> None:
        """Let new connections through; those of before stay dead, and those that are not WebSockets end."""
        self._swallows_new = False
        self._end_requests()

    async def go_away(self) -> None:
        """End all connections and refuse new ones, as a server that restarts does."""
        self._server.close()
        for link in self._links:
            link.task.cancel()

    async def come_back(self) -> None:
        """Take connections again, under the same address."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", urlsplit(self.url).port)

    def _end_requests(self) -> None:
        for link in self._links:
            if not link.is_socket:
                link.task.cancel()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for link in self._links:
            link.task.cancel()
        await asyncio.gather(*(link.task for link in self._links))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        link = _Link(set(BOTH) if self._swallows_new else set(), self._flows, task)
        self._links.append(link)
        writers = [writer]
        try:
            if link.swallows:
                await link.carry("requests", reader, writer)
            else:
                there, onward = await asyncio.open_connection(self._host, self._port)
                writers.append(onward)
                await asyncio.gather(link.carry("requests", reader, onward), link.carry("answers", there, writer))
            if link.swallows:
                await asyncio.Event().wait()  # neither side may see it end
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for item in writers:
                item.close()

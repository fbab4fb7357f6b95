"""Endpoints that send more than anybody asked for, and go on until their subscriber leaves."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Sequence

from tests.fault_model.chunks import chunk, tool_delta
from tests.fault_model.exchange import Exchange

HUNDRED_MEGABYTES = 100 * 1024 * 1024


class Flood:
    """A body of ``first`` and then ``piece`` again and again, 100 MB in all, or until the client goes away."""

    def __init__(
        self, piece: bytes, *, first: Sequence[bytes] = (), status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.sent = 0
        """Bytes that the client's side has taken, or that stand in the sockets' buffers."""
        self.is_abandoned = threading.Event()
        """Set when the client has gone away."""
        self._piece = piece
        self._first = first
        self._status = status
        self._headers = headers or {}

    async def __call__(self, exchange: Exchange) -> None:
        await exchange.begin(self._status, self._headers)
        gone = asyncio.create_task(exchange.until_hangup())
        for piece in self._first:
            await exchange.raw(piece)
        while self.sent < HUNDRED_MEGABYTES and not gone.done():
            await exchange.raw(self._piece)
            self.sent += len(self._piece)
            await asyncio.sleep(0)
        if gone.done():
            self.is_abandoned.set()
        else:
            gone.cancel()
            await exchange.close_stream()

    async def wait_for_hangup(self) -> bool:
        """Wait at most ten seconds for the client to close the connection; return whether it did."""
        return await asyncio.to_thread(self.is_abandoned.wait, 10)


def text_flood(piece: str = "word " * 12_000) -> Flood:
    """An answer without end, in chunks of ``piece``."""
    return Flood(_event(chunk({"content": piece})))


def reasoning_flood() -> Flood:
    """A model that thinks aloud without end."""
    return Flood(_event(chunk({"reasoning_content": "hmm " * 12_000})))


def arguments_flood(*, repeats_name: bool = False) -> Flood:
    """A call whose arguments never end; ``repeats_name`` as some endpoints do, with every fragment."""
    head = tool_delta(0, id="call_0", name="add", arguments='{"x": "')
    more = tool_delta(0, name="add" if repeats_name else None, arguments="1" * 10_000)
    return Flood(_event(chunk(more)), first=[_event(chunk(head))])


def calls_flood() -> Flood:
    """More and more calls in one answer."""
    calls = {"tool_calls": [tool_delta(n, name="add", arguments="{}")["tool_calls"][0] for n in range(50)]}
    for call in calls["tool_calls"]:
        call.pop("index")
    return Flood(_event(chunk(calls)))


def line_flood(*, first: str = "") -> Flood:
    """One event that never ends."""
    return Flood(b"x" * 64 * 1024, first=[*([_event(chunk({"content": first}))] if first else []), b'data: {"x": "'])


def newline_flood() -> Flood:
    """A body of empty lines."""
    return Flood(b"\n" * 64 * 1024)


def empty_flood() -> Flood:
    """Chunks that say nothing."""
    return Flood(_event(chunk({"content": ""})) * 200)


def brackets_flood() -> Flood:
    """Events that take a parser fifty times as long as text would."""
    return Flood(_event(chunk({"content": "x"}, extra=[[]] * 300_000)))


def compressed_flood() -> Flood:
    """A little data that becomes ten megabytes."""
    bomb = gzip.compress(_event(chunk({"content": "word " * 2_000_000})))
    return Flood(bomb, headers={"content-encoding": "gzip"})


def error_flood(status: int = 400) -> Flood:
    """A refusal with a body without end."""
    return Flood(b"no " * 20_000, status=status, headers={"content-type": "text/plain"})


def _event(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()

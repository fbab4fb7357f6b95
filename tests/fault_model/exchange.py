"""One request to the fault model and the means to answer it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Send

from tests.fault_model.chunks import Json, chunk


@dataclass(frozen=True, slots=True)
class Received:
    """A received request."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def prompts(self) -> list[tuple[str, Any]]:
        """Role and content of each message."""
        return [(message["role"], message["content"]) for message in self.body["messages"]]

    @property
    def dialogue(self) -> list[tuple[str, Any]]:
        """The prompts without system messages and quoted context."""
        return [
            (role, content)
            for role, content in self.prompts
            if role != "system" and not str(content).startswith("<quoted-context>")
        ]

    @property
    def context(self) -> list[str]:
        """The quoted context in user messages."""
        return [str(text) for role, text in self.prompts if role == "user" and str(text).startswith("<quoted-context>")]

    @property
    def tools(self) -> list[Json]:
        """The functions that were offered."""
        return [tool["function"] for tool in self.body.get("tools", ())]

    @property
    def tool_results(self) -> dict[str, Any]:
        """The content of each tool message, by the id of its call."""
        return {m["tool_call_id"]: m["content"] for m in self.body["messages"] if m["role"] == "tool"}


class Exchange:
    """A request and the means to answer it, the argument of a behaviour."""

    def __init__(self, received: Received, receive: Receive, send: Send, hung_up: Callable[[], None]) -> None:
        self.received = received
        self._receive = receive
        self._send = send
        self._hung_up = hung_up

    async def respond(self, status: int, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> None:
        """A whole answer."""
        await self._start(status, content_type, headers or {})
        await self._send({"type": "http.response.body", "body": body})

    async def open_stream(self) -> None:
        """The head of an event stream."""
        await self._start(200, "text/event-stream", {})

    async def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send the head of the answer; the content type is an event stream unless ``headers`` has another."""
        await self._start(status, headers.get("content-type", "text/event-stream"), headers)

    async def event(self, data: Json | str) -> None:
        """One server-sent event."""
        text = data if isinstance(data, str) else json.dumps(data)
        await self.raw(f"data: {text}\n\n".encode())

    async def raw(self, data: bytes) -> None:
        """Bytes of the stream, as they are."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def close_stream(self) -> None:
        """The orderly end of the stream."""
        await self._send({"type": "http.response.body", "body": b""})

    async def words(self, words: Sequence[str], delay: float = 0.0) -> None:
        """Text, one chunk a word."""
        for word in words:
            await asyncio.sleep(delay)
            await self.event(chunk({"content": word}))

    async def until_hangup(self) -> None:
        """Wait until the client goes away, and count it."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._hung_up()

    async def _start(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        raw = [(b"content-type", content_type.encode()), *((k.encode(), v.encode()) for k, v in headers.items())]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})


Behaviour = Callable[[Exchange], Awaitable[None]]


class Broken(Exception):
    """An end in the middle of a stream: the server drops the connection."""

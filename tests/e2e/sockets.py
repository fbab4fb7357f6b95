"""A WebSocket client that joins, checks and keeps what it receives."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.e2e.ag_ui_rules import check_ag_ui, check_run

Json = dict[str, Any]

SUBPROTOCOL = "baton.v1"
PATIENCE_SECONDS = 60
"""For whatever must come; only a failing test ever waits so long."""
MAX_FRAME_BYTES = 28 * 1024


class SocketClient:
    """One connection. Every frame is checked to be what the protocol allows."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[str] = []
        self._received: deque[Json] = deque()
        """Events of earlier frames that were not given out yet."""

    async def send(self, action: str, **fields: object) -> None:
        """Send an action."""
        await self.send_text(json.dumps({"action": action, **fields}))

    async def send_text(self, frame: str) -> None:
        """Send a frame as it is."""
        await self.connection.send(frame)

    async def receive(self) -> Json:
        """Return the next event, joined from its parts if there are several. Raises ``ConnectionClosed``."""
        event = await self._next()
        if event["type"] == "PART":
            event = await self._join_parts(event)
        if event["type"] != "PONG":
            check_ag_ui(event)
        return event

    async def receive_until(self, expected: str | Callable[[Json], bool]) -> list[Json]:
        """Return the events up to the first of a type or for which ``expected`` is true, without heartbeats."""
        events: list[Json] = []
        while True:
            event = await self.receive()
            if event.get("name") == "heartbeat":
                continue
            events.append(event)
            if event["type"] == expected if isinstance(expected, str) else expected(event):
                return events

    async def receive_until_end(self) -> list[Json]:
        """Return the events up to the end of a run or a refusal."""
        return await self.receive_until(lambda event: event["type"] in ("RUN_FINISHED", "RUN_ERROR"))

    async def say(
        self, content: object, *, thread_id: str | None = None, message_id: str | None = None, **fields: object
    ) -> list[Json]:
        """Send a message and return the run that answers it, checked; without the acknowledgement."""
        message_id = message_id or new_id()
        named = {} if thread_id is None else {"threadId": thread_id}
        _, run = await self.exchange(messageId=message_id, content=content, **named, **fields)
        check_run(run)
        assert run[0]["metadata"]["messageId"] == message_id
        return run

    async def exchange(self, **fields: object) -> tuple[Json, list[Json]]:
        """Send a message; return its acknowledgement, and everything else up to the end of its run or its refusal.

        Titles, which may come between two runs, are left out.

        The acknowledgement comes by another way than the run, so either may overtake the other.
        """
        await self.send("message", **fields)
        events = await self.receive_until_end()
        if not any(map(is_acknowledgement, events)):
            events += await self.receive_until(is_acknowledgement)
        [acknowledgement] = filter(is_acknowledgement, events)
        others = [event for event in events if event is not acknowledgement]
        return acknowledgement, [event for event in others if event.get("name") != "thread_title"]

    async def receive_refusal(self) -> Json:
        """Return the next event, which is a refusal: it names the refused request and belongs to no run."""
        event = await self.receive()
        assert event["type"] == "RUN_ERROR", event
        assert event["message"]
        assert event["code"]
        assert event["code"] != "internal_error"
        assert isinstance(event["metadata"]["retryable"], bool)
        assert event["metadata"]["requestId"]
        assert not {"seq", "runId"} & event["metadata"].keys()
        return event

    async def check_no_more_events(self) -> None:
        """Check that all events have been received."""
        await self.send("ping")
        event = await self.receive()
        assert event == {"type": "PONG"}, self.frames[-3:]

    async def _next(self) -> Json:
        while not self._received:
            self._received.extend(await self._frame())
        return self._received.popleft()

    async def _frame(self) -> list[Json]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            frame = await self.connection.recv()
        assert isinstance(frame, str)
        assert len(frame.encode()) <= MAX_FRAME_BYTES
        self.frames.append(frame)
        received: Json | list[Json] = json.loads(frame)
        if isinstance(received, dict):
            return [received]
        assert len(received) > 1
        assert "PART" not in {event["type"] for event in received}
        return received

    async def _join_parts(self, part: Json) -> Json:
        data, first = "", part["metadata"]
        for number in range(1, first["of"] + 1):
            assert part["type"] == "PART"
            assert part["metadata"] == first | {"part": number}
            data += part["data"]
            if number < first["of"]:
                part = await self._next()
        event: Json = json.loads(data)
        assert event["metadata"].get("seq") == first.get("seq")
        return event


@asynccontextmanager
async def open_socket(url: str, token: str) -> AsyncIterator[SocketClient]:
    """Connect as browsers do: the token is the second subprotocol."""
    async with connect_with(url, [SUBPROTOCOL, token]) as connection:
        yield SocketClient(connection)


def connect_with(url: str, subprotocols: Sequence[str] | None) -> connect:
    """Connect with exactly these subprotocols; no compression, as in API Gateway; frames need not be read."""
    offered = None if subprotocols is None else [Subprotocol(name) for name in subprotocols]
    return connect(
        url, subprotocols=offered, compression=None, max_queue=None, open_timeout=PATIENCE_SECONDS, proxy=None
    )


def is_acknowledgement(event: Json) -> bool:
    """Return whether the event acknowledges a message."""
    return bool(event.get("name") == "message_accepted")


def new_id() -> str:
    """A fresh id of version 4."""
    return str(uuid.uuid4())

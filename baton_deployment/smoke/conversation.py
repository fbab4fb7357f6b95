"""A conversation over a WebSocket, as web pages use it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from baton_deployment.errors import DeploymentError
from baton_deployment.smoke.target import Target

SUBPROTOCOL = "baton.v1"
Event = dict[str, Any]


@dataclass
class Conversation:
    """One connection."""

    connection: ClientConnection
    parts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The parts received so far of events that are too large for a frame, by the digests of the events."""

    async def send(self, action: str, **fields: object) -> None:
        """Send the frame of an action with its fields."""
        await self.connection.send(json.dumps({"action": action, **fields}))

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield events. Raises ``DeploymentError`` for an error event, and when the connection ends."""
        try:
            async for frame in self.connection:
                received = json.loads(frame)
                for message in received if isinstance(received, list) else [received]:
                    event = self._join_parts(message)
                    if event is None:
                        continue
                    if event["type"] == "RUN_ERROR":
                        raise DeploymentError(f"{event.get('code')}: {event.get('message')}")
                    yield event
        except ConnectionClosed as problem:
            raise DeploymentError(f"The connection was lost: {problem}") from problem
        raise DeploymentError("The server has closed the connection.")

    def _join_parts(self, event: Event) -> Event | None:
        """Return an event that has arrived whole; None for a part that is not the last."""
        if event["type"] != "PART":
            return event
        digest = event["metadata"]["digest"]
        self.parts[digest].append(event["data"])
        if len(self.parts[digest]) < event["metadata"]["of"]:
            return None
        whole: Event = json.loads("".join(self.parts.pop(digest)))
        return whole


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Conversation]:
    """Connect as the target's user. Raises ``DeploymentError`` if the server refuses or cannot be reached."""
    protocols = [Subprotocol(SUBPROTOCOL), Subprotocol(str(target.token))]
    try:
        connection = await connect(target.socket_url, subprotocols=protocols, open_timeout=30)
    except InvalidStatus as problem:
        status = problem.response.status_code
        raise DeploymentError(f"{target.socket_url} refuses the connection with {status}.") from problem
    except (OSError, InvalidHandshake, InvalidURI, TimeoutError) as problem:
        raise DeploymentError(
            f"{target.socket_url} cannot be reached: {problem or type(problem).__name__}"
        ) from problem
    async with connection:
        yield Conversation(connection)


def read_seq(event: Event) -> int | None:
    """Return the event's sequence number in its conversation; None if it has none."""
    seq: int | None = (event.get("metadata") or {}).get("seq")
    return seq

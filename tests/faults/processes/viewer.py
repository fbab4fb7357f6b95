"""A real client over a real WebSocket that keeps a screen, loses its connection and comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from types import TracebackType
from typing import Self

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.e2e.sockets import SUBPROTOCOL, connect_with
from tests.e2e.users import User
from tests.faults.screen import Screen, conversation_of

PATIENCE_SECONDS = 180.0
"""A record whose worker died before it could hide it comes again after 20 seconds; a busy machine takes its time."""
SILENCE_SECONDS = 15.0


class Viewer:
    """One device of a user, on one thread. Resumes when it sees a gap, and when it hears nothing for 15 seconds."""

    def __init__(self, user: User, thread_id: str, *, drop_after: int | None = None) -> None:
        """``drop_after``: the number of numbered events after which the connection is lost, once."""
        self.user, self.thread_id = user, thread_id
        self.screen = Screen()
        self.drops = 0
        self._drop_after = drop_after
        self._changed = asyncio.Event()
        self._connection: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._connect()
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._reading is not None
        self._reading.cancel()
        await asyncio.wait([self._reading])
        if self._connection is not None:
            await self._connection.close()

    async def send(self, message_id: str, content: str) -> None:
        """Send a message."""
        await self._send(action="message", messageId=message_id, content=content)

    async def resume(self) -> None:
        """Ask for what follows the last event."""
        await self._send(action="resume", after=self.screen.resume_after())

    async def wait_until(self, holds: Callable[[Screen], bool]) -> None:
        """Wait until the screen is as wanted. Raises ``TimeoutError``."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds(self.screen):
                refused = [event for event in self.screen.refused if event["metadata"].get("action") == "message"]
                assert not refused, "A refused message is never answered."
                assert self._reading is not None
                if self._reading.done():
                    self._reading.result()
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SILENCE_SECONDS):
                        await self._changed.wait()
                        continue
                await self.resume()

    async def wait_until_answered(self, *message_ids: str) -> None:
        """Wait until all these messages are answered."""
        await self.wait_until(lambda screen: screen.answered.issuperset(message_ids))

    async def _read(self) -> None:
        while True:
            assert self._connection is not None
            try:
                frame = await self._connection.recv()
            except ConnectionClosed:
                await self._connect()
                await self.resume()
                continue
            assert isinstance(frame, str)
            for _ in self.screen.take_frame(frame):
                if len(self.screen.events) == self._drop_after:
                    self._drop_after = None
                    self.drops += 1
                    self._connection.transport.abort()
                    break
            self._changed.set()
            if self.screen.gap:
                await self.resume()

    async def _connect(self) -> None:
        self.screen.disconnect()
        self._connection = await connect_with(self.user.cloud.socket_url, [SUBPROTOCOL, self.user.token])

    async def _send(self, **frame: object) -> None:
        with contextlib.suppress(ConnectionClosed):  # anybody who reads comes back and resumes
            assert self._connection is not None
            await self._connection.send(json.dumps({"threadId": self.thread_id, **frame}))


async def check_thread(user: User, thread_id: str, questions: dict[str, str], *screens: Screen) -> None:
    """Store = what every screen shows = exactly one turn per message id; nothing is left running or leased."""
    stored = await user.messages(thread_id, limit=100)
    stored_questions = {m["id"]: m["content"] for m in stored if m["role"] == "user"}
    assert stored_questions == questions
    assert [m["metadata"]["ordinal"] for m in stored] == list(range(len(stored)))
    fresh = Screen()
    for event in await user.follow(thread_id, after=0):
        fresh.take(event)
    assert not fresh.gap
    for screen in (fresh, *screens):
        assert screen.problems() == []
        assert screen.conversation == conversation_of(stored)
        assert screen.events == fresh.events
    items = [item for item in user.cloud.items(user.tenant) if item["PK"] == f"{user.tenant}#{thread_id}"]
    assert {item["SK"].removeprefix("TURN#") for item in items if item["SK"].startswith("TURN#")} == questions.keys()
    [thread] = [item for item in items if item["SK"] == "THREAD"]
    assert not {"lease_owner", "lease_until", "run_id"} & thread.keys()

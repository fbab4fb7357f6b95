"""Messages that the user of ``baton chat`` writes while an agent works."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from baton_client.addresses import path
from baton_client.command.connection import Connection, Json
from baton_client.command.exits import describe_problem
from baton_client.command.output import Output
from baton_client.errors import BatonError
from baton_client.run_input import WhileBusy

HELP = "/steer TEXT, /interrupt TEXT and /withdraw work while the agent does."
LOOKS = 10
"""The number of looks at the queue for a message that was just sent."""
LOOK_SECONDS = 0.2
WITHDRAWN = "message_withdrawn"
_OUTCOMES = {
    "queued": "(Waits for its turn. /withdraw takes it back.)",
    "steered": "(The agent gets it after what it does now. /withdraw takes it back.)",
    "interrupts": "(Stops the answer.)",
}
_END = None


@dataclass
class WrittenMessage:
    """A message that was written while a run was in progress, and the events of its run as they come."""

    message_id: str
    events: asyncio.Queue[Json | BatonError | None] = field(default_factory=asyncio.Queue)
    reading: asyncio.Task[None] | None = None

    async def read_events(self) -> AsyncGenerator[Json, None]:
        """Yield the events of its run. Raises ``BatonError`` if it was refused."""
        while (event := await self.events.get()) is not _END:
            if isinstance(event, BatonError):
                raise event
            yield event


@dataclass
class Meanwhile:
    """The lines that the user types during one run of a conversation."""

    connection: Connection
    output: Output
    thread_id: str
    ask: Callable[[str, str, WhileBusy | None], Json]
    """A function that makes the request of a message from its text, its id and its treatment."""
    end_line: Callable[[], None]
    """A function that ends a line of the answer, so that a note can be shown."""
    written: list[WrittenMessage] = field(default_factory=list)
    """The messages whose runs are to be shown, in order."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def take(self, line: str) -> None:
        """Carry out a line."""
        match line.strip().split(maxsplit=1):
            case []:
                return
            case ["/withdraw"]:
                self._begin(self._withdraw())
            case ["/steer", text]:
                self._begin(self._write(text, "steer"))
            case ["/interrupt", text]:
                self._begin(self._write(text, "interrupt"))
            case [word, *_] if word.startswith("/"):
                self._note(f"The agent works, so {word} does nothing. {HELP} Ctrl-C stops the answer.")
            case _:
                self._begin(self._write(line, None))

    async def find_next(self, shown_runs: set[str]) -> AsyncIterator[Json] | None:
        """Return the events of the next message whose run is not among ``shown_runs``; None if none is left.

        Raises ``BatonError`` if the message was refused.
        """
        await asyncio.gather(*self._tasks)
        while self.written:
            message = self.written.pop(0)
            events = message.read_events()
            first = await anext(events, None)
            if first is None or first.get("runId") in shown_runs:
                await self._stop_reading(message)
            elif first.get("code") == WITHDRAWN:
                self._note("(Withdrawn.)")
                await self._stop_reading(message)
            else:
                return _prepend(first, events)
        return None

    async def aclose(self) -> None:
        """Stop all requests and readings."""
        for task in list(self._tasks):
            task.cancel()
        for message in self.written:
            await self._stop_reading(message)

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self, text: str, while_busy: WhileBusy | None) -> None:
        """Send a message, and show its treatment."""
        message = WrittenMessage(str(uuid.uuid4()))
        self.written.append(message)
        message.reading = asyncio.ensure_future(self._read(message, self.ask(text, message.message_id, while_busy)))
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK_SECONDS)
            if not message.events.empty():
                return  # it was refused, or its run has begun
            waiting = {item["messageId"]: item["busy"] for item in await self._list_waiting()}
            if message.message_id in waiting:
                self._note(_OUTCOMES.get(waiting[message.message_id], "(Waits.)"))
                return

    async def _read(self, message: WrittenMessage, body: Json) -> None:
        try:
            async with aclosing(self.connection.run(body)) as events:
                async for event in events:
                    message.events.put_nowait(event)
        except BatonError as problem:
            message.events.put_nowait(problem)
        finally:
            message.events.put_nowait(_END)

    async def _list_waiting(self) -> list[Json]:
        try:
            answer = await self.connection.get(path("/v1/threads/{thread_id}/queue", thread_id=self.thread_id))
        except BatonError:
            return []  # the message is on its way all the same
        items: list[Json] = answer["items"]
        return items

    async def _withdraw(self) -> None:
        """Withdraw the message that was written last and still waits."""
        waiting = {item["messageId"] for item in await self._list_waiting()}
        message = next((candidate for candidate in reversed(self.written) if candidate.message_id in waiting), None)
        if message is None:
            self._note("No message waits.")
            return
        names = {"thread_id": self.thread_id, "message_id": message.message_id}
        try:
            await self.connection.send("DELETE", path("/v1/threads/{thread_id}/queue/{message_id}", **names))
        except BatonError as problem:
            self.end_line()
            self.output.print_error(describe_problem(problem))
            return
        self.written.remove(message)
        await self._stop_reading(message)
        self._note("(Withdrawn.)")

    async def _stop_reading(self, message: WrittenMessage) -> None:
        if message.reading is not None:
            message.reading.cancel()
            await asyncio.wait([message.reading])

    def _note(self, text: str) -> None:
        self.end_line()
        self.output.note(f"  {text}", style="dim")


async def _prepend(first: Json, rest: AsyncIterator[Json]) -> AsyncGenerator[Json, None]:
    yield first
    async for event in rest:
        yield event

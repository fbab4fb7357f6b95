"""An agent at work, whose tool waits until the test lets it end, and messages that come meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import LeaseTimes
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.threads.leases import LeaseRequest
from baton.ports.threads.messages import EntryPoint, TurnRecord
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness, Turn
from tests.harness.sockets import Socketed
from tests.harness.wiki import DELETE

SEARCH = {"type": "python", "name": "search", "description": "Searches.", "entry_point": "travel:search"}
DELETES = {"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "wiki:delete"}
QUICK_TIMES = LeaseTimes.of(0.6)


def search(number: int = 1) -> ToolCall:
    """A call of the tool that waits."""
    return ToolCall(f"call-{number}", "search", "{}")


class BusyAgent(Harness):
    """A conversation whose agent searches for as long as the test wants; ``tab`` is a browser that writes to it."""

    def __init__(self, **fields: Any) -> None:
        ports = {name: fields.pop(name) for name in ("others", "stores") if name in fields}
        assistant = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [SEARCH]} | fields)
        super().__init__(assistant=assistant, lease_times=QUICK_TIMES, **ports)
        self.tab = Socketed(self)
        self.searching = asyncio.Event()
        self.results_found = asyncio.Event()
        self.tools.add("search", self._search)

    @classmethod
    def with_approval(cls, **fields: Any) -> BusyAgent:
        """Return an agent that asks before it deletes."""
        busy = cls(**{"tools": [SEARCH, DELETES]} | fields)

        async def delete(page: str) -> str:
            return f"{page} is gone."

        busy.tools.add("delete", delete, parameters=DELETE, requires_approval=True)
        return busy

    async def _search(self) -> str:
        self.searching.set()
        await self.results_found.wait()
        return "Three flights."

    @asynccontextmanager
    async def at_work(self, **fields: Any) -> AsyncGenerator[asyncio.Task[Turn]]:
        """Start a run whose tool waits until the block ends."""
        running = asyncio.ensure_future(self.say("m1", "Find a flight.", **fields))
        try:
            async with asyncio.timeout(10):
                await self.searching.wait()
            yield running
        finally:
            self.results_found.set()
            self.searching.clear()
            await asyncio.wait([running])

    async def write(self, message_id: str, content: str = "To Graz, please.", **fields: Any) -> str | None:
        """Send a message over WebSocket. Return ``busy`` of its acknowledgement, or the code of its refusal."""
        await self.tab.send("message", messageId=message_id, content=content, **fields)
        [event] = [event for event in self.tab.take_events() if event["type"] in ("CUSTOM", "RUN_ERROR")]
        if event["type"] == "RUN_ERROR":
            return str(event["code"])
        busy: str | None = event["value"]["busy"]
        return busy

    async def history(self) -> list[tuple[str, str]]:
        """The role and the text of each message of the conversation."""
        thread = await self.store.get_thread(self.ada, self.thread_id)
        page = await self.store.read_messages(self.ada, thread, limit=50, before=None)
        return [(message.role.value, message.text) for message in page.messages]

    async def list_waiting(self) -> list[str]:
        """Return the ids of the waiting messages that the user sees."""
        return [message.message_id for message in await self.app.waiting.list_waiting(self.ada, self.thread_id)]

    async def wait_until_waiting(self, message_id: str) -> None:
        """Wait until the message is in the list of waiting messages."""
        async with asyncio.timeout(10):
            while message_id not in await self.list_waiting():  # noqa: ASYNC110 - the fake has no event for it
                await asyncio.sleep(0.01)

    async def note_entered(self, message_id: str, opening: StoredMessage) -> None:
        """Record that the message has entered the committed run of ``opening``, as a worker without its lease does."""
        entry_point = EntryPoint("assistant", 1)
        digest = self.make_request(message_id).digest
        record = TurnRecord(message_id, opening.run_id, digest, opening.ordinal, fence=1, entered=entry_point)
        lease = await self.store.acquire(self.ada, LeaseRequest(self.thread_id))
        await self.store.open_turn(lease, record)
        await self.store.release(lease)

    def make_request(self, message_id: str, content: str = "To Graz, please.", **fields: Any) -> MessageRequest:
        """Return the request of a message."""
        return self.request(message_id, content, **fields)

    def prompt(self, number: int) -> list[tuple[str, str]]:
        """Return the roles and texts of the prompts of a model request, without system prompts."""
        return [
            (role, str(content)) for role, content in self.model.requests[number].contents if role not in ("system",)
        ]


def script_search(*answers: str) -> tuple[Answer | str, ...]:
    """Return the script of a model that searches and then gives these answers."""
    return (Answer.calling(search()), *answers)

"""The delays and the cost of messages between a user and a person at a desk: ``python -m benchmarks.desks``.

The local cloud runs in a separate process. In each round, a user asks for a person over a WebSocket, Anna takes the
conversation over HTTP, they write to each other, and Anna returns it. Times are from the beginning of a request to the
event on the other side. Write units are those of Baton's adapters on DynamoDB Local, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import websockets.asyncio.client as websocket
from websockets.typing import Subprotocol

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskSession, Person
from baton.domain.threads.desk_requests import (
    make_note_request,
    make_reply_request,
    make_return_request,
    make_take_request,
)
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import TurnRequest
from baton.threads.requests.parsing import parse_message_request
from benchmarks.instruments.frames import parse_events
from benchmarks.instruments.metered_baton import SCOPE, Baton, started
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.turn_latency import Figures, local_cloud, model_endpoint
from benchmarks.workload import QUESTION, PacedModel

ROUNDS = 200
CONVERSATIONS = 20
"""The number of users, so that none exceeds the rate of messages for a user."""
WARM_UP = 1
"""The rounds of each conversation before the measured ones."""
PATIENCE_SECONDS = 30
"""The longest wait for an event or an answer."""
TENANT, ANNA = "benchmark", "anna"
TRIGGER = "talk to a human"
MAIN = {
    "id": "shop",
    "name": "Shop",
    "description": "Helps customers.",
    "main": True,
    "system_prompt": "You help customers of a shop.",
    "handoffs": [{"to": "support"}],
}
DESK = {"id": "support", "kind": "desk", "name": "Support", "description": "People who answer.", "triggers": [TRIGGER]}
TAKE, REPLY, TYPING, MESSAGE = "take", "reply of the person", "typing", "message of the user"
SEEN_BY = {TAKE: "the user", REPLY: "the user", TYPING: "the user", MESSAGE: "the person"}

Json = dict[str, Any]
Sign = Callable[[Json], bool]


@dataclass
class Received:
    """The events that one side has received, each with the time of its arrival."""

    events: list[tuple[float, Json]] = field(default_factory=list)
    _arrival: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, event: Json) -> None:
        """Note an event that arrives now."""
        self.events.append((time.perf_counter(), event))
        self._arrival.set()

    async def find(self, is_wanted: Sign) -> float:
        """Wait for the first event for which ``is_wanted`` is true, and return its time. Earlier events are dropped.

        Raises ``TimeoutError`` after ``PATIENCE_SECONDS``.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for number, (at, event) in enumerate(self.events):
                    if is_wanted(event):
                        del self.events[: number + 1]
                        return at
                self._arrival.clear()
                await self._arrival.wait()


@dataclass
class Conversation:
    """A user's conversation, and the person who answers it."""

    thread_id: str
    socket: websocket.ClientConnection
    user: Received
    person: Received
    anna: httpx.AsyncClient
    rounds: int = 0

    async def run(self) -> dict[str, float]:
        """Run one stay at the desk. Return, for each act, the seconds until the other side receives it."""
        self.rounds += 1
        await self.say(f"{TRIGGER} {self.rounds}")
        await self.user.find(lambda event: event["type"] == "RUN_FINISHED")
        path = f"/v1/threads/{self.thread_id}/desk"
        reply, message = f"Reply {self.rounds}", f"Message {self.thread_id} {self.rounds}"
        body = {"messageId": str(uuid.uuid4()), "content": reply}
        seconds = {
            TAKE: await self._measure_delay(self._post(f"{path}/take", {}), self.user, _is_taken),
            TYPING: await self._measure_delay(self._post(f"{path}/typing", {}), self.user, _is_typing),
            REPLY: await self._measure_delay(
                self._post(f"{path}/messages", body), self.user, lambda event: event.get("delta") == reply
            ),
            MESSAGE: await self._measure_delay(
                self.say(message), self.person, lambda event: message in json.dumps(event)
            ),
        }
        await self._post(f"{path}/return", {})
        await self.user.find(lambda event: "talking to Shop" in event.get("delta", ""))
        await self.user.find(lambda event: event["type"] == "RUN_FINISHED")
        return seconds

    async def say(self, text: str) -> None:
        """Send a message of the user."""
        frame = {"action": "message", "threadId": self.thread_id, "messageId": str(uuid.uuid4()), "content": text}
        await self.socket.send(json.dumps(frame))

    async def _post(self, path: str, body: Json) -> None:
        (await self.anna.post(path, json=body)).raise_for_status()

    @staticmethod
    async def _measure_delay(act: Awaitable[None], other: Received, sign: Sign) -> float:
        """Carry out an act. Return the seconds until the other side receives an event for which ``sign`` is true."""
        began = time.perf_counter()
        seen, _ = await asyncio.gather(other.find(sign), act)
        return seen - began


def _is_taken(event: Json) -> bool:
    return event["type"] == "STATE_DELTA" and ANNA in json.dumps(event["delta"])


def _is_typing(event: Json) -> bool:
    return event["type"] == "CUSTOM" and str(event["name"]) == "typing"


async def _request_token(url: str, user: str, *permissions: str) -> str:
    claims = {"tenant": TENANT, "user": user, "permissions": permissions}
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        answer = (await client.post("/local/token", json=claims)).raise_for_status()
    token: str = answer.json()["token"]
    return token


async def _listen(socket: websocket.ClientConnection, received: Received) -> None:
    """Note the events of a user's connection until it ends."""
    async for frame in socket:
        for event in parse_events(frame):
            received.take(event)


async def _follow(anna: httpx.AsyncClient, received: Received) -> None:
    """Note the events of the desk until the task is cancelled."""
    headers: dict[str, str] = {}
    while True:  # a stream ends after a minute
        async with anna.stream("GET", "/v1/desk/events", headers=headers, timeout=None) as answer:
            async for line in answer.raise_for_status().aiter_lines():
                if line.startswith("data: "):
                    received.take(json.loads(line.removeprefix("data: ")))
                elif line.startswith("id: "):
                    headers = {"Last-Event-ID": line.removeprefix("id: ")}


@asynccontextmanager
async def _conversations(count: int) -> AsyncIterator[list[Conversation]]:
    """Start the processes, connect ``count`` users and the person, and yield the conversations."""
    async with AsyncExitStack() as stack:
        agents = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for agent in (MAIN, DESK):
            (agents / f"{agent['id']}.yaml").write_text(json.dumps(agent))  # JSON is YAML
        url = stack.enter_context(local_cloud(stack.enter_context(model_endpoint()), BATON_AGENTS_DIR=agents))
        headers = {"Authorization": f"Bearer {await _request_token(url, ANNA, 'desk:answer')}"}
        client = httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS, trust_env=False, headers=headers)
        anna, person = await stack.enter_async_context(client), Received()
        listening = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = [listening.create_task(_follow(anna, person))]
        conversations = []
        for number in range(count):
            subprotocols = [Subprotocol("baton.v1"), Subprotocol(await _request_token(url, f"ada-{number}"))]
            address = url.replace("http", "ws", 1) + "/ws"
            connecting = websocket.connect(address, subprotocols=subprotocols, ping_interval=None, proxy=None)
            socket = await stack.enter_async_context(connecting)
            user = Received()
            tasks.append(listening.create_task(_listen(socket, user)))
            conversations.append(Conversation(str(uuid.uuid4()), socket, user, person, anna))
        yield conversations
        for task in tasks:
            task.cancel()


async def measure_times(rounds: int, conversations: int = CONVERSATIONS) -> dict[str, list[float]]:
    """Run ``rounds`` stays at the desk, one after the other. Return the delays of each act in seconds."""
    async with _conversations(conversations) as all_conversations:
        times: dict[str, list[float]] = {act: [] for act in SEEN_BY}
        for number in range(WARM_UP * conversations + rounds):
            seconds = await all_conversations[number % conversations].run()
            if number >= WARM_UP * conversations:
                for act, value in seconds.items():
                    times[act].append(value)
        return times


@dataclass
class Bench:
    """A conversation at a desk whose writes are counted."""

    baton: Baton
    thread_id: str

    async def measure(self) -> dict[str, float]:
        """Return the write units of a plain turn and of each act at a desk.

        The first turn, which creates the thread, is not counted.
        """
        baton, anna = self.baton, Person(ANNA, "Anna")
        self._store = baton.make_ports().store
        self._turns = baton.make_turns(PacedModel(), *(AgentDefinition.model_validate(agent) for agent in (MAIN, DESK)))
        await self._count_units(self._make_message(QUESTION))
        units = {"plain turn": await self._count_units(self._make_message(QUESTION))}
        units["arrival, by a trigger"] = await self._count_units(self._make_message(TRIGGER))
        thread, session = await self._read_state()
        units[TAKE] = await self._count_units(make_take_request(thread, session, anna))
        units[MESSAGE] = await self._count_units(self._make_message(QUESTION))
        thread, session = await self._read_state()
        units[REPLY] = await self._count_units(make_reply_request(thread, anna, baton.clock.new_id(), QUESTION))
        units["note"] = await self._count_units(make_note_request(thread, anna, baton.clock.new_id(), QUESTION))
        thread, session = await self._read_state()
        units["return"] = await self._count_units(make_return_request(thread, session, anna, ""))
        return units

    def _make_message(self, text: str) -> TurnRequest:
        return parse_message_request(
            SCOPE, thread_id=self.thread_id, message_id=self.baton.clock.new_id(), content=text
        )

    async def _read_state(self) -> tuple[Thread, DeskSession]:
        """Return the thread and its stay at the desk. Raises ``RuntimeError`` if it is at no desk."""
        thread = await self._store.get_thread(SCOPE, self.thread_id)
        session = thread.conversation.desk
        if session is None:
            raise RuntimeError("the conversation is at no desk")
        return thread, session

    async def _count_units(self, turn_request: TurnRequest) -> float:
        self.baton.meter.take()
        await self._turns.run(SCOPE, turn_request, lambda event: None, seconds=60)
        return sum(request.write_units for request in self.baton.meter.take())


async def measure_units() -> dict[str, float]:
    """Return the write units of a plain turn and of each act at a desk."""
    async with started() as baton:
        return await Bench(baton, str(uuid.uuid4())).measure()


def format_times(times: Mapping[str, Sequence[float]]) -> str:
    """Return a table with the percentiles of each act."""
    rows = []
    for act, seconds in times.items():
        figures = Figures.of(seconds)
        rows.append((act, SEEN_BY[act], *(f"{value * 1000:.0f}" for value in (figures.p50, figures.p95, max(seconds)))))
    return format_table(["milliseconds", "seen by", "p50", "p95", "at most"], rows)


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="measured stays at the desk (default: %(default)s)")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    units, times = asyncio.run(measure_units()), asyncio.run(measure_times(arguments.rounds))
    print(f"Measured on {describe_machine()}; load average before it {load:.1f}.\n")
    print(format_times(times))
    print()
    print(format_table(["", "write units"], list(units.items())))


if __name__ == "__main__":
    main()

"""Many concurrent conversations over WebSocket: ``python -m benchmarks.load``.

The local cloud and a model endpoint that answers without delay run in their own processes. Every conversation has its
own connection and several turns, one after the other. All conversations run at the same time. Every event is counted:
the sequence numbers of a thread's events must grow by one. Afterwards the log is read again from the beginning, and
must have exactly the events that were received.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import websockets.asyncio.client as websocket
from websockets.typing import Subprotocol

from baton_local.settings import CONCURRENCY
from benchmarks.frames import events_in
from benchmarks.report import machine, table
from benchmarks.turn_latency import NO_RATES, Figures, local_cloud, model_endpoint
from benchmarks.workload import ANSWER, QUESTION

CONVERSATIONS = 200
TURNS = 3
PATIENCE_SECONDS = 600.0
TENANT = "load"


@dataclass
class Conversation:
    """One connection with one thread, and the counts of its events."""

    thread_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    """Number of answers that differ from the model's, and of received events that differ from the log's."""
    first_token: list[float] = field(default_factory=list)
    """Seconds from sending the question to the first token, one value per turn."""
    whole: list[float] = field(default_factory=list)

    async def talk(self, connection: websocket.ClientConnection, turns: int, seconds: float) -> None:
        """Run turns one after the other: ``turns`` of them, or as many as begin in ``seconds`` if that is not 0."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until if seconds else len(self.whole) < turns:
            await self._turn(connection)

    async def check(self, connection: websocket.ClientConnection) -> None:
        """Compare the received events with the log, read from the beginning as a new client would."""
        last = max(self.events, default=0)
        await connection.send(json.dumps({"action": "resume", "threadId": self.thread_id, "after": 0}))
        seen: dict[int, dict[str, Any]] = {}
        while len(seen) < last:
            for event in await _next(connection):
                seq = event.get("metadata", {}).get("seq")
                if seq is not None:
                    seen[seq] = event
        self.lost += len(seen.keys() - self.events.keys())
        self.wrong += sum(self.events.get(seq) != event for seq, event in seen.items())

    async def _turn(self, connection: websocket.ClientConnection) -> None:
        frame = {"action": "message", "threadId": self.thread_id, "messageId": str(uuid.uuid4()), "content": QUESTION}
        began, text = time.perf_counter(), ""
        await connection.send(json.dumps(frame))
        ended = False
        while not ended:
            for event in await _next(connection):
                self._take(event)
                match event["type"]:
                    case "TEXT_MESSAGE_CONTENT":
                        if not text:
                            self.first_token.append(time.perf_counter() - began)
                        text += event["delta"]
                    case "RUN_ERROR":
                        raise RuntimeError(f"a turn failed: {event}")
                    case "RUN_FINISHED":
                        ended = True
        self.whole.append(time.perf_counter() - began)
        self.wrong += text != ANSWER

    def _take(self, event: dict[str, Any]) -> None:
        seq = event.get("metadata", {}).get("seq")
        if seq is None:
            return
        self.duplicated += seq in self.events
        self.lost += max(0, seq - max(self.events, default=0) - 1)
        self.events[seq] = event


@dataclass(frozen=True)
class Result:
    """The results of all conversations, and the seconds that they took."""

    conversations: list[Conversation]
    seconds: float

    @property
    def turns(self) -> int:
        return sum(len(each.whole) for each in self.conversations)

    @property
    def lost(self) -> int:
        return sum(each.lost for each in self.conversations)

    @property
    def duplicated(self) -> int:
        return sum(each.duplicated for each in self.conversations)

    @property
    def wrong(self) -> int:
        return sum(each.wrong for each in self.conversations)

    @property
    def is_clean(self) -> bool:
        return not self.lost and not self.duplicated and not self.wrong

    def __str__(self) -> str:
        events = sum(len(each.events) for each in self.conversations)
        counts = [
            ("conversations at the same time", len(self.conversations)),
            ("turns", self.turns),
            ("turns of the conversation with the fewest", min(len(each.whole) for each in self.conversations)),
            ("turns of the conversation with the most", max(len(each.whole) for each in self.conversations)),
            ("events received", events),
            ("events lost", self.lost),
            ("events duplicated", self.duplicated),
            ("answers or events that differ", self.wrong),
            ("seconds", self.seconds),
            ("turns a second", self.turns / self.seconds),
        ]
        timings = {
            "first token": Figures.of([value for each in self.conversations for value in each.first_token]),
            "whole turn": Figures.of([value for each in self.conversations for value in each.whole]),
        }
        rows = [(name, timing.p50, timing.p95, timing.p95 / timing.p50) for name, timing in timings.items()]
        return "\n\n".join((table(["counted", "number"], counts), table(["seconds", "p50", "p95", "p95 / p50"], rows)))


async def load(url: str, conversations: int, turns: int, seconds: float = 0.0) -> Result:
    """Run ``conversations`` at the same time and return the result.

    Each has ``turns`` turns, or as many as begin within ``seconds`` if that is not 0.
    """
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http:
        answer = await http.post("/local/token", json={"tenant": TENANT, "user": "ada"})
        token = answer.raise_for_status().json()["token"]
    talks = [Conversation() for _ in range(conversations)]
    async with AsyncExitStack() as stack:
        pairs = [(talk, await stack.enter_async_context(_connect(url, token))) for talk in talks]
        began = time.perf_counter()
        await asyncio.gather(*(talk.talk(connection, turns, seconds) for talk, connection in pairs))
        took = time.perf_counter() - began
        for talk, connection in pairs:
            await talk.check(connection)
    return Result(talks, took)


def _connect(url: str, token: str) -> websocket.connect:
    return websocket.connect(
        url.replace("http", "ws", 1) + "/ws",
        subprotocols=[Subprotocol("baton.v1"), Subprotocol(token)],
        open_timeout=60,
        ping_interval=None,
        max_queue=None,
        proxy=None,
    )


async def _next(connection: websocket.ClientConnection) -> list[dict[str, Any]]:
    return events_in(await asyncio.wait_for(connection.recv(), PATIENCE_SECONDS))


def main() -> int:
    """Measure, print the report, and return 1 if an event was lost, came twice or differed, otherwise 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS, help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=TURNS, help="of each conversation (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on for so long, whatever the turns")
    parser.add_argument("--workers", type=int, default=CONCURRENCY, help="turns at work at once (default: %(default)s)")
    arguments = parser.parse_args()
    os.environ["BATON_LOCAL_WORKERS"] = str(arguments.workers)
    before = os.getloadavg()[0]
    with model_endpoint() as model_url, local_cloud(model_url, BATON_TENANT_LIMITS=NO_RATES) as url:
        result = asyncio.run(load(url, arguments.conversations, arguments.turns, arguments.seconds))
    print(f"Measured on {machine()}; load average before it {before:.1f}.")
    print(f"Up to {arguments.workers} turns at work at once; the model answers without delay.\n")
    print(result)
    return 0 if result.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())

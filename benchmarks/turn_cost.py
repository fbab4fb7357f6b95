"""The cost of a turn in DynamoDB, from a thread's first turn to its thousandth: ``python -m benchmarks.turn_cost``.

Baton's adapters run against DynamoDB Local, with the table of ``template.yaml``. Only the model is scripted, and a fake
WebSocket connection takes every frame.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any, ClassVar

from boto3.session import Session

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.aws.blocking_calls import QUICK, client
from baton.adapters.aws.s3_files import S3Files
from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb import shapes
from baton.adapters.dynamodb.table import Table
from baton.adapters.models.token_counter import TiktokenCounter
from baton.composition.app import build
from baton.composition.ports import Ports
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.model_providers import Provider
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.domain.threads.events import Event
from baton.domain.threads.queued import QueuedSummary, QueuedTitle, Subscriber
from baton.domain.threads.thread_title import TitleSource
from baton.ports.agents.chat_model import ChatModel
from baton.ports.clock import SystemClock
from baton.threads.requests.parsing import parse_message_request
from baton.turns.turns import Turns
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.resources import create_bucket, create_table
from baton_local.root import ROOT, TOKENIZER
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints
from benchmarks.capacity import CapacityMeter, Request
from benchmarks.instruments.ports import (
    AgentsInMemory,
    ConnectedClient,
    ForgetfulStore,
    NoClosings,
    NoRemoteAgents,
    NoTools,
    QueueInMemory,
    Record,
)
from benchmarks.instruments.report import machine
from benchmarks.instruments.s3_process import S3Process
from benchmarks.instruments.turn_cost_tables import (
    ConversationCost,
    TurnCost,
    beginning,
    requests_table,
    summary,
    whole_table,
)
from benchmarks.workload import ANSWER, QUESTION, STREAM_SECONDS, PacedModel, model_cpu_seconds

TURNS = (1, 10, 100, 1_000)
SCOPE = Scope("benchmark", "ada@example.com")
THREAD_ID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
SSE_THREAD_ID = "9a1f0f5e-1f0a-4b7e-8a55-0d7b1c9e4f10"
CONNECTION_ID = "L0SM9cOFvHcCIhw="


class HourClock(SystemClock):
    """The system clock, set back to the full hour, so that the hour only changes if ``ahead`` is set."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        self._behind = now - now.replace(minute=0, second=0, microsecond=0)
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() - self._behind + self.ahead


class Conversation:
    """Turns of one thread on a metered Baton, with or without a connection."""

    def __init__(self, baton: Baton, thread_id: str, *, connected: bool, moves: bool = False) -> None:
        """Prepare turns. If ``moves``, another worker runs each turn, so that none has the history in memory."""
        self._moves = moves
        self._baton = baton
        self._thread_id = thread_id
        self._connected = connected
        self._turn = 0
        self._requests: list[Request] = []
        self._s3_requests = 0
        self.summaries: list[tuple[Request, ...]] = []
        """The requests of each summary of messages that have left the history."""
        self.titles: list[tuple[Request, ...]] = []
        """The requests of each title."""

    async def go_on(self, turns: int, *, seconds: float = 0.0) -> None:
        """Run turns whose answers are streamed for ``seconds``. They count only in ``whole``."""
        for _ in range(turns):
            self._baton.meter.take()
            self._baton.s3_requests = 0
            await self._run(seconds, 0.0)
            self._add(self._baton.meter.take(), self._baton.s3_requests)
            await self._summarise()

    async def measured(self) -> TurnCost:
        """Run a plain turn, and return its cost."""
        baton = self._baton
        baton.meter.take()
        baton.s3_requests = 0
        baton.client.frames.clear()
        loop = asyncio.get_running_loop()
        gc.collect()  # a full collection during a turn would triple its CPU time
        began, cpu_before = loop.time(), time.process_time()
        await self._run(STREAM_SECONDS, baton.silence)
        seconds, cpu_seconds = loop.time() - began, time.process_time() - cpu_before
        requests, frames = baton.meter.take(), len(baton.client.frames)
        self._add(requests, baton.s3_requests)
        files = baton.files.of_thread(SCOPE, self._thread_id)
        of_model = await model_cpu_seconds(files)
        await self._summarise()
        return TurnCost(self._turn, requests, baton.s3_requests, frames, seconds, cpu_seconds, of_model)

    def whole(self) -> ConversationCost:
        """Return the cost of all turns so far, with their titles and summaries."""
        aside = (request for requests in (*self.titles, *self.summaries) for request in requests)
        return ConversationCost(self._turn, (*self._requests, *aside), self._s3_requests)

    def _add(self, requests: Iterable[Request], s3_requests: int) -> None:
        self._requests += requests
        self._s3_requests += s3_requests

    async def _summarise(self) -> None:
        """Write the title or summary that the last turn has requested, as another worker would. Count it separately."""
        baton = self._baton
        for scope, message in baton.queue.take():
            baton.model.seconds = baton.model.silence = 0.0
            baton.meter.take()
            if isinstance(message, QueuedTitle):
                await baton.made_titles.make(scope, message.thread_id)
                self.titles.append(baton.meter.take())
                continue
            assert isinstance(message, QueuedSummary)  # noqa: S101 - turns queue nothing else
            await baton.summaries.write(scope, message.due)
            self.summaries.append(baton.meter.take())

    async def _run(self, seconds: float, silence: float) -> None:
        self._turn += 1
        baton = self._baton
        if self._moves:
            baton.forget_histories()
        baton.model.seconds, baton.model.silence = seconds, silence
        subscriber = Subscriber(CONNECTION_ID, baton.clock.now() + timedelta(hours=1)) if self._connected else None
        record = Record() if self._connected else None
        request = parse_message_request(
            SCOPE, thread_id=self._thread_id, message_id=baton.clock.new_id(), content=QUESTION
        )
        events: list[Event] = []
        await baton.turns.run(SCOPE, request, events.append, seconds=60, subscriber=subscriber, record=record)
        if events[-1].type != "RUN_FINISHED":
            raise RuntimeError(f"turn {self._turn} ended with {events[-1].json()}")


class MeteredPorts(Ports):
    """A deployment's ports on local engines. The model, connections, tools and remote agents are fakes."""

    model_providers: ClassVar[Mapping[str, Provider]] = {}
    deployment_limits = DeploymentLimits()

    @cached_property
    def store(self) -> ForgetfulStore:
        return ForgetfulStore(self.table, self.bodies, self.clock)

    def context_tokens(self, model: str) -> int | None:
        return None

    def __init__(
        self, table: Table, s3: Any, bucket: str, clock: HourClock, connections: ConnectedClient, queue: QueueInMemory
    ) -> None:
        self.table, self.bodies, self.queue = table, S3Bodies(s3, bucket), queue
        self.clock, self.connections, self.closings = clock, connections, NoClosings()
        self.files = S3Files(s3, bucket, clock)
        self.shipped_agents = AgentFiles.load(ROOT / "agents", "assistant")
        self.tiktoken = TiktokenCounter(TOKENIZER)
        self.default_model = self.light_model = "scripted"
        self.title_source = TitleSource.MODEL
        self.tools, self.agent_client = NoTools(), NoRemoteAgents()


Configure = Callable[[MeteredPorts], None]


class Baton:
    """Baton, built by ``composition.app`` over ``MeteredPorts``."""

    def __init__(
        self, table: Table, s3: Any, bucket: str, meter: CapacityMeter, silence: float, configure: Configure | None
    ) -> None:
        self.meter = meter
        self.silence = silence
        self.s3_requests = 0
        s3.meta.events.register("after-call.s3", self._count_s3)
        self.clock = HourClock()
        self.model = PacedModel()
        self.client = ConnectedClient()
        self.queue = QueueInMemory()
        self.files = S3Files(s3, bucket, self.clock)
        self._make_ports = partial(MeteredPorts, table, s3, bucket, self.clock, self.client, self.queue)
        self._configure = configure
        self._ports: list[MeteredPorts] = []
        self.turns = self.turns_with(self.model)
        ports = self.make_ports()
        ports.model = self.model
        app = build(ports)
        self.summaries, self.made_titles = app.memory.history_summaries, app.sessions.made_titles

    def turns_with(self, model: ChatModel, *agents: AgentDefinition) -> Turns:
        """Return ``Turns`` with this model. ``agents`` replace the shipped agents; the first one is the main agent."""
        ports = self.make_ports()
        ports.model = model
        if agents:
            ports.shipped_agents = AgentsInMemory(*agents)
        ports.tiktoken.load()  # the first turn would load the vocabulary
        shapes.load()  # and the shapes of stored bodies
        return build(ports).turns

    def make_ports(self) -> MeteredPorts:
        """Return new ports on the same engines, so that another model can be used."""
        ports = self._make_ports()
        self._ports.append(ports)
        if self._configure is not None:
            self._configure(ports)
        return ports

    def forget_histories(self) -> None:
        """Forget the cached histories of all threads."""
        for ports in self._ports:
            ports.store.forget_histories()

    def _count_s3(self, **_: Any) -> None:
        self.s3_requests += 1


@asynccontextmanager
async def started(silence: float = 0.0, configure: Configure | None = None) -> AsyncIterator[Baton]:
    """Yield Baton on local engines with an empty table. Its model is silent for ``silence`` seconds at first.

    ``configure`` may replace ports before Baton is built on them.
    """
    engine, objects = DynamoDBLocal(default_cache_dir(), progress=lambda text: None), S3Process()
    try:
        endpoint, s3_endpoint = await asyncio.to_thread(engine.start), await asyncio.to_thread(objects.start)
        stack = read_stack(ROOT / "template.yaml", {"Stage": "local"}, Endpoints("", "", "", ""))
        session = Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=REGION)
        dynamodb = client("dynamodb", endpoint, QUICK, session)
        name = create_table(dynamodb, stack.table)
        s3 = client("s3", s3_endpoint, session=session)
        create_bucket(s3, stack.bucket)
        meter = CapacityMeter()
        meter.attach(dynamodb)
        yield Baton(Table.sent_directly(dynamodb, name, session), s3, stack.bucket, meter, silence, configure)
    finally:
        await asyncio.to_thread(engine.stop)
        await asyncio.to_thread(objects.stop)


@dataclass(frozen=True, slots=True)
class Results:
    """The costs of all measured turns."""

    websocket: tuple[TurnCost, ...]
    new_hour: TurnCost
    """The cost of the first turn in a new hour, which changes the thread's entry in the listing."""
    sse: tuple[TurnCost, ...]
    summaries: tuple[tuple[Request, ...], ...]
    """The requests of each summary in the conversation over a WebSocket."""
    titles: tuple[tuple[Request, ...], ...]
    """The requests of each title in that conversation."""
    whole: ConversationCost
    """The cost of that conversation up to the last measured turn."""


def limit_everything(ports: MeteredPorts) -> None:
    """Set high limits for everything that turns count."""
    ports.deployment_limits = DeploymentLimits(
        runs_at_once=1_000,
        user_runs_at_once=10,
        messages_per_minute=10_000,
        user_messages_per_minute=1_000,
        tokens_per_day=10**9,
        user_tokens_per_day=10**8,
    )


async def measure(
    turns: Iterable[int],
    silence: float = 0.0,
    *,
    with_limits: bool = False,
    seconds_between: float = 0.0,
    moves: bool = True,
) -> Results:
    """Run the conversation, measure the given turns, and return the results.

    The answers of other turns are streamed for ``seconds_between``. If ``moves``, another worker runs each turn.
    """
    async with started(silence, limit_everything if with_limits else None) as baton:
        conversation = Conversation(baton, THREAD_ID, connected=True, moves=moves)
        websocket: list[TurnCost] = []
        for turn in sorted(turns):
            done = websocket[-1].turn if websocket else 0
            await conversation.go_on(turn - done - 1, seconds=seconds_between)
            websocket.append(await conversation.measured())
        whole = conversation.whole()
        baton.clock.ahead = timedelta(hours=1)
        new_hour = await conversation.measured()
        without_connection = Conversation(baton, SSE_THREAD_ID, connected=False, moves=moves)
        first = await without_connection.measured()
        await without_connection.go_on(8)
        return Results(
            tuple(websocket),
            new_hour,
            (first, await without_connection.measured()),
            tuple(conversation.summaries),
            tuple(conversation.titles),
            whole,
        )


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_cost", description=__doc__)
    parser.add_argument("--turns", default=",".join(map(str, TURNS)), help="turns to measure (default: %(default)s)")
    parser.add_argument("--silence", type=float, default=0.0, help="seconds before the first token (default: 0)")
    parser.add_argument("--paced", action="store_true", help="let the turns in between stream as long, for the total")
    parser.add_argument("--one-worker", action="store_true", help="let one worker, which knows the history, run all")
    parser.add_argument("--limits", action="store_true", help="with limits of tenants and users")
    parser.add_argument("--detail", action="store_true", help="also list every request of the measured turns")
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead")
    arguments = parser.parse_args()
    turns = [int(turn) for turn in arguments.turns.split(",")]
    between = STREAM_SECONDS if arguments.paced else 0.0
    results = asyncio.run(
        measure(
            turns,
            arguments.silence,
            with_limits=arguments.limits,
            seconds_between=between,
            moves=not arguments.one_worker,
        )
    )
    if arguments.json:
        print(json.dumps({"machine": machine(), **_as_json(results)}, indent=2))
        return
    print(f"Measured on {machine()}.")
    print(
        f"Plain turn: question {len(QUESTION.encode())} bytes, answer {len(ANSWER.encode())} bytes, "
        f"{arguments.silence:g} s of silence, {STREAM_SECONDS:g} s of streaming.\n"
    )
    print("Over a WebSocket, one connection attached:\n")
    print(summary(results.websocket))
    print(f"\nAll of its {results.whole.turns:,} turns, with titles and summaries, by the kind of item:\n")
    print(whole_table(results.whole))
    print("\nBeside the turns:\n")
    print(beginning(results.websocket[0], results.new_hour))
    print(f"\nIts titles ({len(results.titles)}), request by request:\n")
    print(requests_table([request for requests in results.titles for request in requests]))
    if results.summaries:
        print(f"\nThe last of {len(results.summaries)} summaries of what has left the history, request by request:\n")
        print(requests_table(results.summaries[-1]))
    print("\nOver SSE, no connection attached:\n")
    print(summary(results.sse))
    if arguments.detail:
        for cost in results.websocket:
            print(f"\nTurn {cost.turn:,} over a WebSocket, request by request:\n")
            print(requests_table(cost.requests))
        print(f"\nTurn {results.sse[-1].turn} over SSE, request by request:\n")
        print(requests_table(results.sse[-1].requests))


def _as_json(results: Results) -> dict[str, Any]:
    return {
        "websocket": [cost.as_json() for cost in results.websocket],
        "whole": results.whole.as_json(),
        "newHour": results.new_hour.as_json(),
        "summaries": [[asdict(request) for request in requests] for requests in results.summaries],
        "sse": [cost.as_json() for cost in results.sse],
    }


if __name__ == "__main__":
    main()

"""Baton on local engines, with a meter of the requests that DynamoDB and S3 charge for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any, ClassVar

from boto3.session import Session

from baton.adapters.agents.agent_files import AgentFiles
from baton.adapters.aws.blocking_calls import QUICK, create_client
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
from baton.domain.threads.thread_title import TitleSource
from baton.ports.agents.chat_model import ChatModel
from baton.ports.clock import SystemClock
from baton.turns.turns import Turns
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.resources import create_bucket, create_table
from baton_local.root import ROOT, TOKENIZER
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints
from benchmarks.capacity import CapacityMeter
from benchmarks.instruments.ports import (
    AgentsInMemory,
    ConnectedClient,
    ForgetfulStore,
    NoClosings,
    NoRemoteAgents,
    NoTools,
    QueueInMemory,
)
from benchmarks.instruments.s3_process import S3Process
from benchmarks.workload import PacedModel

SCOPE = Scope("benchmark", "ada@example.com")
"""The user of measured turns."""


class HourClock(SystemClock):
    """The system clock, set back to the full hour at its creation, so that no new hour begins in the first 60 minutes.

    ``ahead`` is added.
    """

    def __init__(self) -> None:
        now = datetime.now(UTC)
        self._behind = now - now.replace(minute=0, second=0, microsecond=0)
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() - self._behind + self.ahead


class MeteredPorts(Ports):
    """A deployment's ports on local engines. The model, connections, tools and remote agents are fakes."""

    model_providers: ClassVar[Mapping[str, Provider]] = {}
    deployment_limits = DeploymentLimits()

    @cached_property
    def store(self) -> ForgetfulStore:
        return ForgetfulStore(self.table, self.bodies, self.clock)

    def find_context_limit(self, model: str) -> int | None:
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
"""A function that replaces ports before Baton is built on them."""


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
        self.turns = self.make_turns(self.model)
        ports = self.make_ports()
        ports.model = self.model
        app = build(ports)
        self.summaries, self.made_titles = app.memory.history_summaries, app.sessions.made_titles

    def make_turns(self, model: ChatModel, *agents: AgentDefinition) -> Turns:
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
        dynamodb = create_client("dynamodb", endpoint, QUICK, session)
        name = create_table(dynamodb, stack.table)
        s3 = create_client("s3", s3_endpoint, session=session)
        create_bucket(s3, stack.bucket)
        meter = CapacityMeter()
        meter.attach(dynamodb)
        yield Baton(Table.sent_directly(dynamodb, name, session), s3, stack.bucket, meter, silence, configure)
    finally:
        await asyncio.to_thread(engine.stop)
        await asyncio.to_thread(objects.stop)

"""The HTTP API on the product's own adapters, in this process: what is heavy is felt where it is done."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import httpx

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb.table import Table
from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.token_counter import TiktokenCounter
from baton.adapters.switched_off import NoEmbedder, NoSearch
from baton.api.application import create_app
from baton.composition.app import build
from baton.composition.ports import Ports
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.model_providers import Provider
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import Subscriber
from baton.threads.requests.parsing import parse_message_request
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from baton_local.root import TOKENIZER
from baton_testing.fakes.agents.agent_client import ScriptedAgentClient
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from baton_testing.fakes.agents.tools import FakeTools
from baton_testing.fakes.documents.files import FakeFiles
from baton_testing.fakes.memory.episodes import FakeClosings
from baton_testing.fakes.threads.connections import FakeConnections
from baton_testing.fakes.threads.run_records import FakeContextRecords
from baton_testing.fakes.threads.turn_queue import FakeTurnQueue
from tests.engines import TableAt
from tests.fakes.erasure import FakeForgettings, FakeObjectErasure
from tests.fakes.token_verifier import OpenVerifier

ASSISTANT = AgentDefinition.model_validate(
    {
        "id": "assistant",
        "name": "Assistant",
        "description": "Answers.",
        "system_prompt": "Be brief.",
        "main": True,
        "memory": {"max_working_memory_tokens": 100_000},
        "tools": [{"type": "python", "name": "look", "description": "Looks.", "entry_point": "x:y"}],
        "triggers_in_session": [f"start over with number {n}" for n in range(50)],
        "limits": {"result_chars": 60_000},
    }
)


class _Ports(Ports):
    """The product's own, but for what lies beyond the tables."""

    model_providers: ClassVar[Mapping[str, Provider]] = {}

    def find_context_limit(self, model: str) -> int | None:
        return None

    def __init__(self, table: Table, bodies: S3Bodies) -> None:
        self.table, self.bodies = table, bodies
        self.shipped_agents = FakeShippedAgents(ASSISTANT)
        self.default_model = self.light_model = "fault-1"
        self.counter = TiktokenCounter(TOKENIZER)
        self.agent_client = ScriptedAgentClient()
        self.files, self.queue, self.closings = FakeFiles(), FakeTurnQueue(), FakeClosings()
        self.forgettings, self.objects = FakeForgettings(), FakeObjectErasure()
        self.context_records = FakeContextRecords()
        self.search, self.embedder = NoSearch(), NoEmbedder()  # not those that a developer's environment names
        self.verifier = OpenVerifier(self.clock)


@dataclass
class Heavy:
    """One tenant's conversations; tools and remote agents are doubles, everything else is the product's."""

    table: TableAt
    s3_endpoint: str
    model_url: str
    bucket: str = field(default_factory=lambda: f"heavy-{uuid.uuid4()}")

    def __post_init__(self) -> None:
        s3 = client("s3", self.s3_endpoint)
        create_bucket(s3, self.bucket)
        ports = _Ports(Table.of(client("dynamodb", self.table.endpoint), self.table.name), S3Bodies(s3, self.bucket))
        ports.model = self.model = OpenAIChatModel(api_key="no-key", base_url=self.model_url)
        ports.tools = self.tools = FakeTools()
        ports.connections = self.connections = FakeConnections()
        app = build(ports, poll_seconds=0.05)
        self.store, self.clock, self.live = ports.store, ports.clock, ports.live
        self.turns, self.replays = app.turns, app.replays
        self.app = create_app(lambda: app)
        self.ada = Scope("acme", "ada")

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Calls as a user of the tenant."""
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url="http://baton.test/v1",
            headers={"Authorization": "Bearer acme,ada", "Content-Type": "application/json"},
        ) as http:
            yield http

    async def watched_turn(self, thread_id: str, content: Any, *connections: str) -> None:
        """A turn that WebSocket connections watch."""
        request = parse_message_request(
            self.ada, thread_id=thread_id, message_id=str(uuid.uuid4()), content=content, agent_id=None, run_id=None
        )
        expires = self.clock.now() + timedelta(hours=1)
        subscriber = Subscriber(connections[0], expires)
        await self.turns.run(self.ada, request, lambda event: None, seconds=60, subscriber=subscriber)


def run_input(thread_id: str, content: Any, **more: Any) -> bytes:
    """The body of ``POST /runs`` with one new message."""
    body = {
        "threadId": thread_id,
        "runId": str(uuid.uuid4()),
        "state": {},
        "messages": [{"id": str(uuid.uuid4()), "role": "user", "content": content}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    return json.dumps(body | more).encode()

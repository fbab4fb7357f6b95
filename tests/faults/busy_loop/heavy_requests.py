"""The HTTP API on the product's own adapters, in this process: what is heavy is felt where it is done."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx

from baton.adapters.dynamodb.audit import DynamoAuditLog
from baton.adapters.dynamodb.episodes import DynamoEpisodes
from baton.adapters.dynamodb.handoffs import DynamoHandoffs
from baton.adapters.dynamodb.live import DynamoLiveRegistry
from baton.adapters.dynamodb.run_records import DynamoRunRecords
from baton.adapters.dynamodb.skills import DynamoSkills
from baton.adapters.dynamodb.stream_log import DynamoStreamLog
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.thread_store import DynamoThreadStore
from baton.adapters.dynamodb.workflows import DynamoWorkflows
from baton.adapters.openai import OpenAIChatModel
from baton.adapters.s3_bodies import S3Bodies
from baton.adapters.token_counter import TiktokenCounter
from baton.agents.approvals import Approvals
from baton.agents.run_context import RunServices
from baton.api.application import create_app
from baton.api.services import ApiServices
from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.entry.controls import Controls
from baton.handoffs.active_skills import ActiveSkills
from baton.handoffs.agent_registry import AgentRegistry
from baton.handoffs.conversations import Conversations
from baton.handoffs.forks import Forks
from baton.outbox.follow import Follower
from baton.outbox.replay import Replays
from baton.outbox.subscriber import Subscriber
from baton.ports.clock import SystemClock
from baton.requests.requests import message_request
from baton.sessions.sessions import Sessions
from baton.turns.turns import Turns
from local.engines.clients import client
from local.resources import create_bucket
from local.settings import ROOT
from tests.engines import TableAt
from tests.fakes.agent_catalog import FakeAgentCatalog
from tests.fakes.agent_client import ScriptedAgentClient
from tests.fakes.connections import FakeConnections
from tests.fakes.episodes import FakeClosings
from tests.fakes.files import FakeFiles
from tests.fakes.tools import FakeTools
from tests.fakes.turn_queue import FakeTurnQueue
from tests.unit.api.served import OpenVerifier

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


@dataclass
class Heavy:
    """One tenant's conversations; tools and remote agents are doubles, everything else is the product's."""

    table: TableAt
    s3_endpoint: str
    model_url: str
    bucket: str = field(default_factory=lambda: f"heavy-{uuid.uuid4()}")

    def __post_init__(self) -> None:
        clock = SystemClock()
        dynamodb, s3 = client("dynamodb", self.table.endpoint), client("s3", self.s3_endpoint)
        create_bucket(s3, self.bucket)
        table, bodies = Table(dynamodb, self.table.name), S3Bodies(s3, self.bucket)
        self.store = DynamoThreadStore(table, bodies, clock)
        self.model = OpenAIChatModel(api_key="no-key", base_url=self.model_url)
        self.tools, self.connections = FakeTools(), FakeConnections()
        log, live, audit = DynamoStreamLog(table, clock), DynamoLiveRegistry(table, clock), DynamoAuditLog(table, clock)
        records, handoffs = DynamoRunRecords(table, bodies), DynamoHandoffs(table, bodies)
        workflows, skills, catalog = DynamoWorkflows(table, clock), DynamoSkills(table), FakeAgentCatalog(ASSISTANT)
        agents, counter = AgentRegistry(catalog), TiktokenCounter(ROOT / "layers" / "tokenizer")
        conversations = Conversations(handoffs, workflows, skills, agents, audit, clock)
        forks = Forks(self.store, agents, audit, counter, clock)
        self.replays = Replays(self.store, log, clock)
        services = RunServices(
            store=self.store,
            log=log,
            records=records,
            live=live,
            connections=self.connections,
            agents=agents,
            model=self.model,
            default_model="fault-1",
            light_model="fault-1",
            tools=self.tools,
            agent_client=ScriptedAgentClient(),
            counter=counter,
            files=FakeFiles(),
            sessions=Sessions(DynamoEpisodes(table), FakeClosings(), audit),
            conversations=conversations,
            forks=forks,
            active_skills=ActiveSkills(skills, clock),
            audit=audit,
            clock=clock,
        )
        self.turns = Turns(services, agents, self.replays, audit)
        api = ApiServices(
            verifier=OpenVerifier(clock),
            turns=self.turns,
            store=self.store,
            records=records,
            handoffs=handoffs,
            workflows=workflows,
            replays=self.replays,
            follower=Follower(self.store, live, self.replays, poll_seconds=0.05),
            controls=Controls(self.store, live, FakeTurnQueue(), conversations, audit),
            forks=forks,
            approvals=Approvals(self.store, audit),
            agents=agents,
            files=FakeFiles(),
            audit=audit,
            clock=clock,
        )
        self.app = create_app(lambda: api)
        self.clock = clock
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
        request = message_request(
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

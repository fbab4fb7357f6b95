"""A conversation on fakes: everything between a request and its events, with a scripted model."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from baton.composition.app import build
from baton.domain.agent import AgentDefinition
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.domain.queued import Subscriber
from baton.ports.procedures import CaptureStore
from baton.requests.parsing import message_request
from baton.requests.turn_requests import MessageRequest
from baton.turns.committing import FinishedRun
from baton_testing.fakes.a2a_tasks import FakeA2ATasks
from baton_testing.fakes.agent_catalog import FakeAgentCatalog
from baton_testing.fakes.agent_client import ScriptedAgentClient
from baton_testing.fakes.audit import FakeAuditLog
from baton_testing.fakes.captures import FakeAnnouncements, FakeCaptures, FakeCaptureStore
from baton_testing.fakes.chat_model import Answer, ScriptedChatModel
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.connections import FakeConnections
from baton_testing.fakes.context_records import FakeContextRecords
from baton_testing.fakes.documents import FakeDocuments
from baton_testing.fakes.embedder import FakeEmbedder
from baton_testing.fakes.episodes import FakeClosings, FakeEpisodes
from baton_testing.fakes.feedback import FakeFeedback
from baton_testing.fakes.files import FakeFiles
from baton_testing.fakes.handoffs import FakeHandoffs
from baton_testing.fakes.idle_threads import FakeIdleThreads
from baton_testing.fakes.live import FakeLiveRegistry
from baton_testing.fakes.mcp_calls import FakeMcpCalls
from baton_testing.fakes.ports import FakePorts
from baton_testing.fakes.private_skills import FakePrivateSkills
from baton_testing.fakes.procedures import FakeProcedures
from baton_testing.fakes.push import FakePushConfigs, FakePushQueue, FakeWebhooks
from baton_testing.fakes.run_records import FakeRunRecords
from baton_testing.fakes.search_index import FakeSearchIndex
from baton_testing.fakes.stream_log import FakeStreamLog
from baton_testing.fakes.thread_store import FakeThreadStore
from baton_testing.fakes.time_zones import FakeTimeZones
from baton_testing.fakes.tools import FakeTools
from baton_testing.fakes.turn_queue import FakeTurnQueue
from baton_testing.fakes.workflows import FakeWorkflows
from tests.contracts.stores import Stores

ASSISTANT = AgentDefinition(
    id="assistant",
    name="Assistant",
    description="Answers.",
    system_prompt="Be brief.",
    main=True,
    ends_conversations=True,
)
LIBRARIAN = AgentDefinition(
    id="librarian",
    name="Librarian",
    description="Knows the archive.",
    system_prompt="Be exact.",
    main=True,
    required_permissions=("archive:read",),
)

TODAY = ("system", "Today is Thursday, 1 March 2040 (UTC).")
"""The note right before the message in every prompt, at the noon of a clock that nobody has moved."""


@dataclass
class Harness:
    """Turns over fakes, or over real ``stores``; ``ada`` talks."""

    clock: FakeClock = field(default_factory=FakeClock)
    model: ScriptedChatModel = field(default_factory=lambda: ScriptedChatModel(otherwise=Answer(("Hello there.",))))
    connections: FakeConnections = field(default_factory=FakeConnections)
    audit: FakeAuditLog = field(default_factory=FakeAuditLog)
    assistant: AgentDefinition = ASSISTANT
    others: tuple[AgentDefinition, ...] = ()
    stores: Stores | None = None
    recalls: bool = False
    """Whether agents retrieve as their definitions say; otherwise not at all, and their prompts stay as short."""

    def __post_init__(self) -> None:
        self.store = FakeThreadStore(self.clock)
        self.log = FakeStreamLog(self.clock)
        self.live = FakeLiveRegistry(self.clock)
        self.queue = FakeTurnQueue()
        self.records = FakeRunRecords()
        self.episodes = FakeEpisodes()
        self.handoffs = FakeHandoffs(self.audit)
        self.workflows = FakeWorkflows(self.clock)
        self.a2a_tasks = FakeA2ATasks()
        self.push_configs = FakePushConfigs(self.clock)
        self.feedback = FakeFeedback(self.store)
        self.push_queue, self.webhooks = FakePushQueue(), FakeWebhooks()
        self.mcp_calls = FakeMcpCalls(self.clock)
        self.time_zones = FakeTimeZones(self.clock)
        self.procedures = FakeProcedures()
        self.private_skills = FakePrivateSkills(self.procedures, self.clock)
        self.capture_records: CaptureStore = FakeCaptureStore()
        self.idle = FakeIdleThreads(self.store, self.clock)
        self.ada = Scope("acme", "ada")
        if self.stores is not None:
            self._move_into(self.stores)
        self.agent_client = ScriptedAgentClient()
        self.tools = FakeTools()
        self.closings = FakeClosings()
        self.captures, self.announcements = FakeCaptures(), FakeAnnouncements()
        self.files = FakeFiles()
        definitions = (self.assistant, LIBRARIAN, *self.others)
        self.catalog = FakeAgentCatalog(*(definitions if self.recalls else map(without_retrieval, definitions)))
        self.search, self.embedder = FakeSearchIndex(), FakeEmbedder()
        self.documents = FakeDocuments()
        self.contexts = FakeContextRecords()
        self.ports = FakePorts(
            clock=self.clock,
            store=self.store,
            log=self.log,
            live=self.live,
            records=self.records,
            handoffs=self.handoffs,
            workflows=self.workflows,
            a2a_tasks=self.a2a_tasks,
            push_configs=self.push_configs,
            feedback=self.feedback,
            push_queue=self.push_queue,
            webhooks=self.webhooks,
            mcp_calls=self.mcp_calls,
            time_zones=self.time_zones,
            procedures=self.procedures,
            private_skills=self.private_skills,
            episodes=self.episodes,
            idle=self.idle,
            audit=self.audit,
            files=self.files,
            documents=self.documents,
            search=self.search,
            embedder=self.embedder,
            context_records=self.contexts,
            queue=self.queue,
            closings=self.closings,
            capture_records=self.capture_records,
            captures=self.captures,
            announcements=self.announcements,
            connections=self.connections,
            catalog=self.catalog,
            model=self.model,
            tools=self.tools,
            agent_client=self.agent_client,
        )
        self.app = build(self.ports)
        self.agents, self.forks = self.app.agents, self.app.forks
        self.turns, self.closer, self.controls = self.app.turns, self.app.closer, self.app.controls
        self.sweeper, self.replays = self.app.sweeper, self.app.replays
        self.thread_id = str(uuid.uuid4())

    def _move_into(self, stores: Stores) -> None:
        """Keep everything there, in a separate tenant and at its clock."""
        names = (
            "store",
            "log",
            "live",
            "records",
            "episodes",
            "handoffs",
            "workflows",
            "procedures",
            "private_skills",
            "idle",
            "a2a_tasks",
            "push_configs",
            "feedback",
            "mcp_calls",
            "time_zones",
        )
        for name in (*names, "audit", "clock"):
            setattr(self, name, getattr(stores, name))
        self.capture_records = stores.captures
        self.ada = stores.ada

    async def model_is_asked(self, times: int = 1) -> None:
        """Wait until the model has been asked so often."""
        async with asyncio.timeout(10):
            while len(self.model.asked) < times:  # noqa: ASYNC110 - the fake has no event for it
                await asyncio.sleep(0.01)

    def request(self, message_id: str = "m1", content: Any = "Hello", **fields: Any) -> MessageRequest:
        """A message of ada's in the thread."""
        fields = {"thread_id": self.thread_id, "agent_id": None, "run_id": None} | fields
        return message_request(self.ada, message_id=message_id, content=content, **fields)

    def subscriber(self, connection_id: str) -> Subscriber:
        return Subscriber(connection_id, self.clock.now() + timedelta(hours=1))

    async def say(
        self,
        message_id: str = "m1",
        content: Any = "Hello",
        *,
        scope: Scope | None = None,
        subscriber: Subscriber | None = None,
        patience: float | None = None,
        seconds: float = 20,
        **fields: Any,
    ) -> Said:
        """Run one turn and collect its events."""
        events: list[Event] = []
        finished = await self.turns.run(
            scope or self.ada,
            self.request(message_id, content, **fields),
            events.append,
            seconds=seconds,
            patience=patience,
            subscriber=subscriber,
        )
        return Said(events, finished)


def without_retrieval(agent: AgentDefinition) -> AgentDefinition:
    """Return the agent with all retrieval switched off."""
    memory = agent.memory.model_copy(update={"semantic_top_k": 0, "episodic_top_k": 0})
    return agent.model_copy(update={"memory": memory})


@dataclass
class Said:
    """The events of a turn."""

    events: list[Event]
    finished: FinishedRun | None

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def text(self) -> str:
        return "".join(e.body["delta"] for e in self.events if e.type == "TEXT_MESSAGE_CONTENT")

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1].body

    @property
    def seqs(self) -> list[int | None]:
        return [event.seq for event in self.events]

"""A conversation on fakes: everything between a request and its events, with a scripted model."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from baton.agents.run_context import RunServices
from baton.domain.agent import AgentDefinition
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.entry.controls import Controls
from baton.entry.sweep import Sweeper
from baton.handoffs.active_skills import ActiveSkills
from baton.handoffs.agent_registry import AgentRegistry
from baton.handoffs.conversations import Conversations
from baton.handoffs.forks import Forks
from baton.outbox.replay import Replays
from baton.outbox.subscriber import Subscriber
from baton.requests.requests import MessageRequest, message_request
from baton.sessions.endings import Endings
from baton.sessions.sessions import Sessions
from baton.turns.closing import Closer
from baton.turns.run import FinishedRun
from baton.turns.turns import Turns
from tests.contracts.stores import Stores
from tests.fakes.agent_catalog import FakeAgentCatalog
from tests.fakes.agent_client import ScriptedAgentClient
from tests.fakes.audit import FakeAuditLog
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.fakes.clock import FakeClock
from tests.fakes.connections import FakeConnections
from tests.fakes.episodes import FakeClosings, FakeEpisodes
from tests.fakes.files import FakeFiles
from tests.fakes.handoffs import FakeHandoffs
from tests.fakes.idle_threads import FakeIdleThreads
from tests.fakes.live import FakeLiveRegistry
from tests.fakes.run_records import FakeRunRecords
from tests.fakes.skills import FakeSkills
from tests.fakes.stream_log import FakeStreamLog
from tests.fakes.thread_store import FakeThreadStore
from tests.fakes.tools import FakeTools
from tests.fakes.turn_queue import FakeTurnQueue
from tests.fakes.workflows import FakeWorkflows

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


class WordCounter:
    """Counts words: enough for budgets in tests."""

    def count(self, text: str) -> int:
        return len(text.split())


@dataclass
class Harness:
    """Turns over fakes, or over the stores of a ``stores``; ``ada`` talks."""

    clock: FakeClock = field(default_factory=FakeClock)
    model: ScriptedChatModel = field(default_factory=lambda: ScriptedChatModel(otherwise=Answer(("Hello there.",))))
    connections: FakeConnections = field(default_factory=FakeConnections)
    audit: FakeAuditLog = field(default_factory=FakeAuditLog)
    assistant: AgentDefinition = ASSISTANT
    others: tuple[AgentDefinition, ...] = ()
    stores: Stores | None = None

    def __post_init__(self) -> None:
        self.store = FakeThreadStore(self.clock)
        self.log = FakeStreamLog(self.clock)
        self.live = FakeLiveRegistry(self.clock)
        self.queue = FakeTurnQueue()
        self.records = FakeRunRecords()
        self.episodes = FakeEpisodes()
        self.handoffs = FakeHandoffs(self.audit)
        self.workflows = FakeWorkflows(self.clock)
        self.skills = FakeSkills()
        self.ada = Scope("acme", "ada")
        if self.stores is not None:
            self._move_into(self.stores)
        self.agent_client = ScriptedAgentClient()
        self.tools = FakeTools()
        self.closings = FakeClosings()
        self.sessions = Sessions(self.episodes, self.closings, self.audit)
        self.catalog = FakeAgentCatalog(self.assistant, LIBRARIAN, *self.others)
        self.agents = AgentRegistry(self.catalog)
        self.conversations = Conversations(
            self.handoffs, self.workflows, self.skills, self.agents, self.audit, self.clock
        )
        self.forks = Forks(self.store, self.agents, self.audit, WordCounter(), self.clock)
        self.services = RunServices(
            store=self.store,
            log=self.log,
            live=self.live,
            connections=self.connections,
            agents=self.agents,
            model=self.model,
            default_model="test-model",
            light_model="light-model",
            counter=WordCounter(),
            files=FakeFiles(),
            sessions=self.sessions,
            conversations=self.conversations,
            forks=self.forks,
            active_skills=ActiveSkills(self.skills, self.clock),
            records=self.records,
            tools=self.tools,
            agent_client=self.agent_client,
            audit=self.audit,
            clock=self.clock,
        )
        self.replays = Replays(self.store, self.log, self.clock)
        self.turns = Turns(self.services, self.agents, self.replays, self.audit)
        self.closer = Closer(self.services, self.turns, self.audit)
        self.controls = Controls(self.store, self.live, self.queue, self.conversations, self.audit)
        self.idle = FakeIdleThreads(self.store, self.clock)
        endings = Endings(
            self.store, self.log, self.live, self.connections, self.sessions, self.conversations, self.clock
        )
        self.sweeper = Sweeper(self.idle, self.store, endings, self.controls, self.episodes, self.sessions, self.clock)
        self.thread_id = str(uuid.uuid4())

    def _move_into(self, stores: Stores) -> None:
        """Keep everything there, in a tenant of its own and at its clock."""
        ports = ("store", "log", "live", "records", "episodes", "handoffs", "workflows", "skills")
        for name in (*ports, "audit", "clock"):
            setattr(self, name, getattr(stores, name))
        self.ada = stores.ada

    async def model_is_asked(self, times: int = 1) -> None:
        """Wait until the model has been asked so often."""
        async with asyncio.timeout(10):
            while len(self.model.asked) < times:  # noqa: ASYNC110 - the fake has no event for it
                await asyncio.sleep(0.01)

    def request(self, message_id: str = "m1", content: Any = "Hello", **fields: Any) -> MessageRequest:
        """A message of ada's in the harness's thread."""
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


@dataclass
class Said:
    """What a turn gave out."""

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

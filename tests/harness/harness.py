"""A conversation on fakes: everything between a request and its events, with a scripted model."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from baton.composition.app import build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.turn_requests import MessageRequest
from baton.entry.controls import Controls
from baton.entry.jobs.sweep import Sweeper
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.handoffs.forks import Forks
from baton.threads.outbox.replay import Replays
from baton.threads.requests.parsing import parse_message_request
from baton.turns.closing import Closer
from baton.turns.finished_runs import FinishedRun
from baton.turns.turns import Turns
from baton_testing.fakes.agents.shipped_agents import FakeShippedAgents
from tests.contracts.stores import Stores
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.fakes.ports import STORES, FakePorts

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


class Harness(FakePorts):
    """Turns over fakes; ``ada`` talks. Its ports can be given, scripted and looked into by their names."""

    def __init__(
        self,
        *,
        assistant: AgentDefinition = ASSISTANT,
        others: tuple[AgentDefinition, ...] = (),
        stores: Stores | None = None,
        recalls: bool = False,
        **value: Any,
    ) -> None:
        """``stores`` replace the fakes of stores, with a separate tenant and at their clock.

        Agents retrieve as their definitions say if it ``recalls``; otherwise not at all, and their prompts stay short.
        """
        if stores is not None:
            value = {name: getattr(stores, name) for name in (*STORES, "push_configs")} | value
        super().__init__(**value)
        self.assistant = assistant
        definitions = (assistant, LIBRARIAN, *others)
        self.shipped_agents = FakeShippedAgents(*(definitions if recalls else map(without_retrieval, definitions)))
        self.ada = Scope("acme", "ada") if stores is None else stores.ada
        self.thread_id = str(uuid.uuid4())
        self.app = build(self)

    @cached_property
    def model(self) -> ScriptedChatModel:
        return ScriptedChatModel(otherwise=Answer(("Hello there.",)))

    @cached_property
    def agents(self) -> AgentRegistry:
        return self.app.agents

    @cached_property
    def forks(self) -> Forks:
        return self.app.forks

    @cached_property
    def turns(self) -> Turns:
        return self.app.turns

    @cached_property
    def closer(self) -> Closer:
        return self.app.closer

    @cached_property
    def controls(self) -> Controls:
        return self.app.controls

    @cached_property
    def sweeper(self) -> Sweeper:
        return self.app.sweeper

    @cached_property
    def replays(self) -> Replays:
        return self.app.replays

    async def wait_for_requests(self, times: int = 1) -> None:
        """Wait until the model has received this many requests."""
        async with asyncio.timeout(10):
            while len(self.model.requests) < times:  # noqa: ASYNC110 - the fake has no event for it
                await asyncio.sleep(0.01)

    async def context(self, run_id: str | None = None) -> dict[str, Any]:
        """Return the inspector's record of a run in the thread, by default of the only one."""
        [recorded] = [run for _, _, run in self.context_records.records if run_id in (None, run)]
        thread = await self.store.get_thread(self.ada, self.thread_id)
        record = await self.app.memory.inspector.read(self.ada, thread, recorded)
        assert record is not None
        return record

    def request(self, message_id: str = "m1", content: Any = "Hello", **fields: Any) -> MessageRequest:
        """A message of ada's in the thread."""
        fields = {"thread_id": self.thread_id, "agent_id": None, "run_id": None} | fields
        return parse_message_request(self.ada, message_id=message_id, content=content, **fields)

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
    ) -> Turn:
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
        return Turn(events, finished)


def without_retrieval(agent: AgentDefinition) -> AgentDefinition:
    """Return the agent with all retrieval switched off."""
    memory = agent.memory.model_copy(update={"semantic_top_k": 0, "episodic_top_k": 0})
    return agent.model_copy(update={"memory": memory})


@dataclass
class Turn:
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

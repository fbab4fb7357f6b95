"""Minimal ports for measured turns, without tools and remote agents, and with agents in memory."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from baton.adapters.dynamodb.threads.recent_histories import RecentHistories
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.episode import EpisodeRef
from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import Queued, RecordDelivery
from baton.ports.agents.agent_client import AgentChunk, AgentFailed, AgentTask
from baton.ports.agents.tools import CallContext, OfferedTools, ToolFailed, ToolResult


class ForgetfulStore(DynamoThreadStore):
    """A thread store that can forget its cached histories, as if another process continued."""

    def forget_histories(self) -> None:
        self._histories = RecentHistories()


class NoTools:
    """``ports.agents.tools.Tools`` for agents without tools."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        return OfferedTools((), ())

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        raise ToolFailed(f"There is no tool {name!r}.")

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        raise ToolFailed(f"There is no tool {name!r}.")


class NoRemoteAgents:
    """The ``ports.agents.agent_client.AgentClient`` of a deployment without remote agents."""

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        raise AgentFailed(f"The agent {agent.id} does not run elsewhere.")
        yield  # makes this a generator, as the port requires

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """Nothing was begun."""


class AgentsInMemory:
    """``ports.agents.agents.ShippedAgents`` in memory. The first of ``definitions`` is the default main agent."""

    def __init__(self, *definitions: AgentDefinition) -> None:
        self._definitions = {definition.id: definition for definition in definitions}
        self.libraries: frozenset[str] = frozenset()

    def get(self, agent_id: str) -> AgentDefinition | None:
        return self._definitions.get(agent_id)

    def all(self) -> list[AgentDefinition]:
        return sorted(self._definitions.values(), key=lambda definition: definition.id)

    def get_default_main(self) -> AgentDefinition:
        return next(iter(self._definitions.values()))


class Record:
    """A ``HeldRecord`` for a message over a WebSocket. Its id has the length of SQS's ids."""

    def __init__(self) -> None:
        self.delivery = RecordDelivery(str(uuid.uuid4()), 1)
        self.is_lost = False

    def count_seconds_left(self) -> float:
        return 60.0

    def note_attempt(self, attempt: int) -> None:
        """Do nothing, because no other worker receives the record."""


@dataclass
class QueueInMemory:
    """A ``TurnQueue`` that keeps the titles and summaries that turns request, until the benchmark takes them."""

    waiting: list[tuple[Scope, Queued]] = field(default_factory=list)

    async def send(self, scope: Scope, message: Queued) -> None:
        self.waiting.append((scope, message))

    def take(self) -> list[tuple[Scope, Queued]]:
        """Return the waiting messages, and remove them."""
        taken, self.waiting = self.waiting, []
        return taken


class NoClosings:
    """``Closings`` for plain turns, which never end a session."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        raise NotImplementedError


@dataclass
class ConnectedClient:
    """``Connections`` with one client that takes every frame."""

    frames: list[str] = field(default_factory=list)

    async def post(self, connection_id: str, frame: str) -> None:
        self.frames.append(frame)

    async def close(self, connection_id: str) -> None:
        """Do nothing, because the client stays connected."""

"""What everybody who works on a run needs to know: for whom, in which thread, with what, until when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent

from baton.domain.agent import AgentDefinition, ToolLimits
from baton.domain.identity import Scope
from baton.domain.lease_times import USUAL_TIMES, LeaseTimes
from baton.domain.thread import Run
from baton.domain.tool_call import ToolCallRecord
from baton.domain.usage import Usage
from baton.handoffs.active_skills import ActiveSkills
from baton.handoffs.agent_registry import AgentRegistry
from baton.handoffs.conversations import Conversations
from baton.handoffs.forks import Forks
from baton.ports.agent_client import AgentClient
from baton.ports.audit import AuditLog
from baton.ports.chat_model import ChatModel, ModelSettings
from baton.ports.clock import Clock
from baton.ports.connections import Connections
from baton.ports.files import Files, ThreadFiles
from baton.ports.live import LiveRegistry
from baton.ports.run_records import RunRecords
from baton.ports.stream_log import StreamLog
from baton.ports.thread_store import Lease, ThreadStore
from baton.ports.token_counter import TokenCounter
from baton.ports.tools import Tools
from baton.sessions.sessions import Sessions

Emit = Callable[[BaseEvent], None]
"""Where events go that come up while a run waits for others."""

MAX_RESERVE_SECONDS = 15.0
RESERVED_SHARE = 0.25
"""Of a turn's time, for its last answer; but no more than the seconds above."""
SHARE_OF_SILENCE = 0.9


@dataclass(frozen=True, slots=True)
class RunServices:
    """The ports a run needs."""

    store: ThreadStore
    log: StreamLog
    records: RunRecords
    live: LiveRegistry
    connections: Connections
    agents: AgentRegistry
    model: ChatModel
    default_model: str
    light_model: str
    """For what must be quick rather than clever."""
    tools: Tools
    agent_client: AgentClient
    counter: TokenCounter
    files: Files
    sessions: Sessions
    conversations: Conversations
    forks: Forks
    active_skills: ActiveSkills
    audit: AuditLog
    clock: Clock
    lease_times: LeaseTimes = USUAL_TIMES


class Writes:
    """Records on their way to the store, for which the answer need not wait; the commit does."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Future[None]] = []

    def add(self, write: Coroutine[Any, Any, None]) -> None:
        """Begin to write."""
        self._tasks.append(asyncio.ensure_future(write))

    async def done(self) -> None:
        """Wait until everything is written. Raises ``LeaseLost`` and ``StoreUnavailable``."""
        tasks, self._tasks = self._tasks, []
        await asyncio.gather(*tasks)

    def stop(self) -> None:
        """Give up what is not written: the run will be taken over, and does it again."""
        for task in self._tasks:
            task.cancel()


@dataclass(frozen=True, slots=True)
class RunContext:
    """One attempt at a run, as those see it who do its work."""

    services: RunServices
    scope: Scope
    """The user's, with the permissions the message came with."""
    thread_id: str
    run: Run
    lease: Callable[[], Lease]
    """The lease as last renewed; its fence goes on everything that is written."""
    files: ThreadFiles
    deadline: float
    """Event loop time at which the turn must have ended."""
    reserve_seconds: float
    """Kept free at the end of the turn, so that its agent can still answer with what it has."""
    stop: asyncio.Event
    """Set by whoever wants the run to end where it is."""
    writes: Writes = field(default_factory=Writes)
    journal: Mapping[str, ToolCallRecord] = field(default_factory=dict)
    """Calls that an earlier attempt has carried out, by id: they are not made again."""

    def model_settings(self, agent: AgentDefinition, *, is_consulted: bool = False) -> ModelSettings:
        """Which model the agent thinks with.

        The silence of a consulted agent's model must be its own failure, counted as such, before its asker's patience
        ends.
        """
        choice = agent.model
        patience = SHARE_OF_SILENCE * agent.timeouts.consult_seconds if is_consulted else choice.timeout_seconds
        return ModelSettings(
            model=choice.name or self.services.default_model,
            temperature=choice.temperature,
            max_output_tokens=choice.max_output_tokens,
            timeout_seconds=min(choice.timeout_seconds, patience),
        )

    def work_seconds(self, wanted: float) -> float:
        """Seconds that a tool or another agent may take: ``wanted``, or less near the turn's end; 0 when it is over."""
        left = self.deadline - self.reserve_seconds - asyncio.get_running_loop().time()
        return max(0.0, min(wanted, left))


class Budget:
    """What one agent may still do in this turn; when it is spent, it answers with what it has."""

    def __init__(self, limits: ToolLimits, is_late: Callable[[], bool]) -> None:
        """``is_late`` tells whether the turn's time is so far gone that only its last answer can be had."""
        self._limits = limits
        self._is_late = is_late
        self._model_calls = 0
        self._tool_calls = 0
        self._bad_calls = 0
        self._tokens = 0
        self._since: float | None = None

    @property
    def is_spent(self) -> bool:
        """Whether the next model call is the last: then no tools are offered."""
        limits = self._limits
        return (
            self._model_calls >= limits.model_calls - 1
            or self._tool_calls >= limits.tool_calls
            or self._bad_calls > limits.bad_calls
            or self._tokens >= limits.tokens
            or self._is_over()
            or self._is_late()
        )

    def count_model_call(self, usage: Usage) -> None:
        self._model_calls += 1
        self._tokens += usage.total_tokens

    def count_tokens(self, tokens: int) -> None:
        """Count what others have used on this agent's behalf."""
        self._tokens += tokens

    def count_bad_call(self) -> None:
        self._bad_calls += 1

    def take_call(self) -> bool:
        """Count a call that is about to be made; False if there are no more, or it is too late."""
        if self._since is None:
            self._since = asyncio.get_running_loop().time()
        if self._tool_calls >= self._limits.tool_calls or self._is_over():
            return False
        self._tool_calls += 1
        return True

    def _is_over(self) -> bool:
        began = self._since
        return began is not None and asyncio.get_running_loop().time() - began >= self._limits.tool_seconds

"""Remote agents whose answers are scripted, in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.ports.agents.agent_client import AgentChunk, AgentDone, AgentFailed, AgentTask
from baton.ports.agents.chat_model import TextDelta


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer: ``pieces`` (text, or progress), then ``error`` or ``end``, which is None if work continues.

    With ``gate``, the answer pauses before its piece number ``gate_at`` until the test sets the gate.
    """

    pieces: tuple[str | AgentChunk, ...] = ("The weather ", "is fine.")
    error: AgentFailed | None = None
    end: AgentDone | None = field(default_factory=AgentDone)
    gate: asyncio.Event | None = None
    gate_at: int = 0


@dataclass
class ScriptedAgentClient:
    """``AgentClient`` that gives each agent's scripted answers in order, then ``otherwise``."""

    otherwise: Reply = field(default_factory=Reply)
    requests: list[tuple[str, AgentTask]] = field(default_factory=list)
    """The agent's id and the task of each call so far."""
    stopped: list[str] = field(default_factory=list)
    """Baton's ids of the tasks whose agent was asked to stop."""
    cancelled: list[tuple[str, str]] = field(default_factory=list)
    """The agents and remote ids of tasks that ``cancel`` was called for."""

    def __post_init__(self) -> None:
        self._scripts: dict[str, deque[Reply]] = {}

    def script(self, agent_id: str, *replies: Reply | str | AgentFailed) -> None:
        """Add answers that the agent gives next: a text in one piece, a failure before any text, or a ``Reply``."""
        for reply in replies:
            if isinstance(reply, str):
                reply = Reply((reply,))
            elif isinstance(reply, AgentFailed):
                reply = Reply((), reply)
            self._scripts.setdefault(agent_id, deque()).append(reply)

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        """Yield the agent's next scripted answer."""
        if agent.remote is None:
            raise AgentFailed(f"The agent {agent.id} does not run elsewhere.")
        self.requests.append((agent.id, task))
        script = self._scripts.get(agent.id)
        reply = script.popleft() if script else self.otherwise
        is_over = False
        try:
            for index, piece in enumerate(reply.pieces):
                await self._pass(reply, index)
                yield TextDelta(piece) if isinstance(piece, str) else piece
            await self._pass(reply, len(reply.pieces))
            is_over = True
            if reply.error is not None:
                raise reply.error
        finally:
            if not is_over and not is_passed_on():
                self.stopped.append(task.task_id)
        if reply.end is not None:
            yield reply.end

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """Record that the agent was asked to stop."""
        self.cancelled.append((agent.id, remote_task_id))

    async def _pass(self, reply: Reply, index: int) -> None:
        # Like a real agent, this one lets other tasks run between two pieces.
        await asyncio.sleep(0)
        if reply.gate is not None and reply.gate_at == index:
            await reply.gate.wait()

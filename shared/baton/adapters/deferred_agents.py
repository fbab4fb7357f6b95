"""Load the A2A client when it is first used."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.ports.agent_client import AgentChunk, AgentClient, AgentTask


class DeferredAgentClient:
    """``AgentClient`` that is created with the first request, because loading A2A's SDK takes more than a second."""

    def __init__(self, make: Callable[[], AgentClient]) -> None:
        self._make = make
        self._made: AgentClient | None = None

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        """See ``AgentClient``."""
        async with aclosing(self._client.stream(agent, task, is_passed_on=is_passed_on)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """See ``AgentClient``."""
        await self._client.cancel(agent, scope, remote_task_id)

    @property
    def _client(self) -> AgentClient:
        if self._made is None:
            self._made = self._make()
        return self._made

"""Load the A2A client when it is first used."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from baton.domain.agent import AgentDefinition
from baton.ports.agent_client import AgentChunk, AgentClient, AgentTask


class DeferredAgentClient:
    """``AgentClient`` that is created with the first request, because loading A2A's SDK takes more than a second."""

    def __init__(self, make: Callable[[], AgentClient]) -> None:
        self._make = make
        self._client: AgentClient | None = None

    async def stream(self, agent: AgentDefinition, task: AgentTask) -> AsyncGenerator[AgentChunk, None]:
        """See ``AgentClient``."""
        if self._client is None:
            self._client = self._make()
        async with aclosing(self._client.stream(agent, task)) as chunks:
            async for chunk in chunks:
                yield chunk

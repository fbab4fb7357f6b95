"""Adapters that are created on first use: the A2A client, the embedder and the detector of personal data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import cache

from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import Vector
from baton.domain.tenants.identity import Scope
from baton.ports.agents.agent_client import AgentChunk, AgentClient, AgentTask
from baton.ports.documents.search import Embedder, EmbeddingPurpose
from baton.ports.tenants.privacy import PiiDetector, PiiSpan


class DeferredAgentClient:
    """``AgentClient`` that is created with the first request, because loading A2A's SDK takes more than a second."""

    def __init__(self, make: Callable[[], AgentClient]) -> None:
        self._make = cache(make)

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        """See ``AgentClient``."""
        async with aclosing(self._make().stream(agent, task, is_passed_on=is_passed_on)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """See ``AgentClient``."""
        await self._make().cancel(agent, scope, remote_task_id)


class DeferredEmbedder:
    """``Embedder`` that is created by its first use or ``load``, because loading the SDK takes half a second."""

    def __init__(self, make: Callable[[], Embedder], name: str, dimensions: int) -> None:
        self._make = make
        self._name = name
        self._dimensions = dimensions
        self._embedder: Embedder | None = None

    @property
    def name(self) -> str:
        """See ``Embedder``."""
        return self._name

    @property
    def dimensions(self) -> int:
        """See ``Embedder``."""
        return self._dimensions

    def load(self) -> Embedder:
        """Return the embedder, after creating it if necessary. This blocks while the SDK is loaded."""
        embedder = self._embedder
        if embedder is None:
            embedder = self._embedder = self._make()
        return embedder

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        embedder = self._embedder
        if embedder is None:
            embedder = await asyncio.to_thread(self.load)
        return await embedder.embed(texts, purpose=purpose, seconds=seconds, tenant_id=tenant_id)


class DeferredPiiDetector:
    """``PiiDetector`` that is created for the first text. It loads 60 modules, which few runs need."""

    def __init__(self, make: Callable[[], PiiDetector]) -> None:
        self._make = make
        self._detector: PiiDetector | None = None

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        """See ``PiiDetector``."""
        detector = self._detector
        if detector is None:
            detector = self._detector = await asyncio.to_thread(self._make)
        return await detector.detect(text)

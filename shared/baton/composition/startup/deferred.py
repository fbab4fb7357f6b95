"""Adapters that are created on first use: the A2A client, the embedder and the detector of personal data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Generic, TypeVar

from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import Vector
from baton.domain.tenants.identity import Scope
from baton.ports.agents.agent_client import AgentChunk, AgentClient, AgentTask
from baton.ports.documents.search import Embedder, EmbeddingPurpose
from baton.ports.tenants.privacy import PiiDetector, PiiSpan

T = TypeVar("T")


class _Deferred(Generic[T]):
    """An adapter that ``make`` creates on first use. Threads that use it at the same time may call ``make`` each."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._adapter: T | None = None

    def load(self) -> T:
        """Return the adapter, after creating it if necessary. This blocks while its libraries are loaded."""
        adapter = self._adapter
        if adapter is None:
            adapter = self._adapter = self._make()
        return adapter

    async def get(self) -> T:
        """Return the adapter, after creating it in a thread if necessary."""
        return self._adapter if self._adapter is not None else await asyncio.to_thread(self.load)


class DeferredAgentClient:
    """``AgentClient`` that is created with the first request, because loading A2A's SDK takes more than a second."""

    def __init__(self, make: Callable[[], AgentClient]) -> None:
        self._client = _Deferred(make)

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        """See ``AgentClient``."""
        client = await self._client.get()
        async with aclosing(client.stream(agent, task, is_passed_on=is_passed_on)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """See ``AgentClient``."""
        await (await self._client.get()).cancel(agent, scope, remote_task_id)


class DeferredEmbedder:
    """``Embedder`` that is created by its first use or ``load``, because loading the SDK takes half a second."""

    def __init__(self, make: Callable[[], Embedder], name: str, dimensions: int) -> None:
        self._embedder = _Deferred(make)
        self._name = name
        self._dimensions = dimensions

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
        return self._embedder.load()

    async def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: EmbeddingPurpose = EmbeddingPurpose.DOCUMENT,
        seconds: float | None = None,
        tenant_id: str | None = None,
    ) -> Sequence[Vector]:
        """See ``Embedder``."""
        embedder = await self._embedder.get()
        return await embedder.embed(texts, purpose=purpose, seconds=seconds, tenant_id=tenant_id)


class DeferredPiiDetector:
    """``PiiDetector`` that is created for the first text. It loads 60 modules, which few runs need."""

    def __init__(self, make: Callable[[], PiiDetector]) -> None:
        self._detector = _Deferred(make)

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        """See ``PiiDetector``."""
        return await (await self._detector.get()).detect(text)

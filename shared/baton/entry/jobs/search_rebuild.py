"""Rebuild lost search indices from what is stored, tenant by tenant in turn, for as long as a caller has time."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from baton.domain.documents.search import IndexName
from baton.knowledge.index_check import KnowledgeIndexCheck, Position
from baton.memory.episodes.index_check import IndexCheck
from baton.ports.documents.search import Reindexing
from baton.ports.tenants.tenants import SearchedTenants

TENANTS_IN_TURN = 8
"""Tenants that are served in turn. Each takes memory for the sources of its episodes."""
REBUILT = (IndexName.KNOWLEDGE, IndexName.EPISODES)
"""The indices that are used. Procedures are matched in memory."""


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """The work of one call."""

    tenants: tuple[str, ...]
    """The tenants that are not complete. Give them to the next call."""
    positions: Mapping[str, Position]
    """A tenant to the page of documents at which the next call continues."""
    documents_started: int
    """Documents whose indexing was started. It goes on in the pipeline."""
    episodes_indexed: int
    is_complete: bool
    """False if time was over. The next call continues with what is still missing."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """One document or episode that was looked at, or the end of a tenant."""

    tenant: str
    index: IndexName | None
    """None: all of the tenant was looked at."""
    is_done: bool = False
    """Whether it was missing, and was indexed or its indexing started."""
    position: Position | None = None
    """The page of a document."""


@dataclass(slots=True)
class _Call:
    """The work of a call so far."""

    tenants: tuple[str, ...]
    positions: dict[str, Position]
    done: dict[IndexName, int] = field(default_factory=lambda: dict.fromkeys(IndexName, 0))
    has_advanced: bool = False
    """True if a repetition of the call would continue after this one."""

    def add(self, step: _Progress) -> None:
        if step.index is None:
            self.tenants = tuple(tenant for tenant in self.tenants if tenant != step.tenant)
            self.positions.pop(step.tenant, None)
            self.has_advanced = True
            return
        self.done[step.index] += step.is_done
        is_next_page = False
        if step.position is not None:
            before = self.positions.setdefault(step.tenant, step.position)
            is_next_page = before != step.position
            self.positions[step.tenant] = step.position
        self.has_advanced = self.has_advanced or step.is_done or is_next_page

    def result(self) -> RebuildResult:
        documents, episodes = self.done[IndexName.KNOWLEDGE], self.done[IndexName.EPISODES]
        return RebuildResult(self.tenants, self.positions, documents, episodes, is_complete=not self.tenants)


@dataclass(frozen=True, slots=True)
class SearchRebuild:
    """The rebuild of the search indices from the stored episodes and documents.

    Files that cannot be read are discarded first. Episodes are indexed here, one at a time. For documents the pipeline
    is started, which bounds their rate.
    """

    tenants: SearchedTenants
    reindexing: Reindexing
    knowledge: KnowledgeIndexCheck
    episodes: IndexCheck

    async def run(
        self,
        indices: Collection[IndexName],
        tenants: Sequence[str] = (),
        positions: Mapping[str, Position] | None = None,
        *,
        seconds: float,
        most_seconds: float = math.inf,
    ) -> RebuildResult:
        """Rebuild ``indices`` of all tenants, or of the named ones, from ``positions`` on, for ``seconds``.

        It continues beyond that until a repetition would continue after it, for ``most_seconds`` at most. Entries that
        the index has already are left as they are. Raises ``SearchUnavailable``, ``EmbedderUnavailable`` and
        ``StoreUnavailable``.
        """
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        stored = await self.tenants.all()
        call = _Call(tuple(tenants or stored), dict(positions or {}))
        async with aclosing(self._in_turn(stored, call.tenants, indices, dict(call.positions))) as steps:
            async for step in steps:
                call.add(step)
                # Work that earlier calls began comes first: each call must get further than that.
                elapsed = loop.time() - began_at
                if elapsed >= most_seconds or (elapsed >= seconds and call.has_advanced):
                    break
        return call.result()

    async def _in_turn(
        self,
        stored: Mapping[str, Sequence[str]],
        tenants: Sequence[str],
        indices: Collection[IndexName],
        positions: Mapping[str, Position],
    ) -> AsyncGenerator[_Progress]:
        """Yield a step of one tenant after the other."""
        waiting = deque(tenants)
        working: deque[tuple[str, AsyncGenerator[_Progress]]] = deque()
        try:
            while waiting or working:
                while waiting and len(working) < TENANTS_IN_TURN:
                    tenant = waiting.popleft()
                    steps = self._steps(tenant, stored.get(tenant, ()), indices, positions.get(tenant))
                    working.append((tenant, steps))
                step = await anext(working[0][1], None)
                if step is None:
                    tenant, _ = working.popleft()
                    yield _Progress(tenant, None)
                    continue
                working.rotate(-1)
                yield step
        finally:
            for _, steps in working:
                await steps.aclose()

    async def _steps(
        self, tenant: str, agents: Sequence[str], indices: Collection[IndexName], start: Position | None
    ) -> AsyncGenerator[_Progress]:
        if start is None:
            for index in indices:
                await self.reindexing.discard_damaged(tenant, index)
        if IndexName.KNOWLEDGE in indices:
            async for is_started, page in self.knowledge.rebuild(tenant, agents, start):
                yield _Progress(tenant, IndexName.KNOWLEDGE, is_started, page)
        if IndexName.EPISODES in indices:
            async for is_done in self.episodes.rebuild(tenant):
                yield _Progress(tenant, IndexName.EPISODES, is_done)

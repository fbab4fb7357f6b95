"""The job that rebuilds lost search indices from stored items, for several tenants in turn and a limited time."""

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
"""Tenants that are rebuilt in turn. Each needs memory for the sources of its episodes."""
REBUILT = (IndexName.KNOWLEDGE, IndexName.EPISODES)
"""The indices that can be rebuilt. Procedures need none, because they are matched in memory."""


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """The work of one call."""

    tenants: tuple[str, ...]
    """The tenants that are not complete, for the next call."""
    positions: Mapping[str, Position]
    """The pages of documents at which the next call continues, by tenant."""
    documents_started: int
    """The number of documents whose indexing was started. The pipeline completes it."""
    episodes_indexed: int
    is_complete: bool
    """False if the time was over. The next call continues with missing items."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One document or episode that was checked, or the end of a tenant."""

    tenant: str
    index: IndexName | None
    """The index of the item; None at the end of the tenant."""
    is_done: bool = False
    """True if the item was missing, and was indexed or its indexing started."""
    position: Position | None = None
    """The page of a document; None for an episode."""


@dataclass(slots=True)
class _Call:
    """The work of a call so far."""

    tenants: tuple[str, ...]
    positions: dict[str, Position]
    done: dict[IndexName, int] = field(default_factory=lambda: dict.fromkeys(IndexName, 0))
    has_advanced: bool = False
    """True if a repeated call would begin at a later item than this call."""

    def add(self, step: _Step) -> None:
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

    def make_result(self) -> RebuildResult:
        documents, episodes = self.done[IndexName.KNOWLEDGE], self.done[IndexName.EPISODES]
        return RebuildResult(self.tenants, self.positions, documents, episodes, is_complete=not self.tenants)


@dataclass(frozen=True, slots=True)
class SearchRebuild:
    """The rebuild of the search indices from the stored episodes and documents.

    Index files that cannot be read are discarded first. Episodes are indexed here, one at a time. Documents are indexed
    by the pipeline, which limits their rate.
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
        """Rebuild ``indices`` of all tenants, or of ``tenants``, from ``positions`` on, for ``seconds``.

        If the time is over before the call has advanced, it continues until a repeated call would begin at a later
        item, for at most ``most_seconds``. Existing entries of the index are not changed. Raises ``SearchUnavailable``,
        ``EmbedderUnavailable`` and ``StoreUnavailable``.
        """
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        stored = await self.tenants.all()
        call = _Call(tuple(tenants or stored), dict(positions or {}))
        async with aclosing(self._rebuild_in_turn(stored, call.tenants, indices, dict(call.positions))) as steps:
            async for step in steps:
                call.add(step)
                # Each call first checks items of earlier calls again, and must get further than they did.
                elapsed = loop.time() - began_at
                if elapsed >= most_seconds or (elapsed >= seconds and call.has_advanced):
                    break
        return call.make_result()

    async def _rebuild_in_turn(
        self,
        stored: Mapping[str, Sequence[str]],
        tenants: Sequence[str],
        indices: Collection[IndexName],
        positions: Mapping[str, Position],
    ) -> AsyncGenerator[_Step]:
        """Yield one step of each tenant in turn, with at most ``TENANTS_IN_TURN`` tenants at a time."""
        waiting = deque(tenants)
        working: deque[tuple[str, AsyncGenerator[_Step]]] = deque()
        try:
            while waiting or working:
                while waiting and len(working) < TENANTS_IN_TURN:
                    tenant = waiting.popleft()
                    steps = self._rebuild_tenant(tenant, stored.get(tenant, ()), indices, positions.get(tenant))
                    working.append((tenant, steps))
                step = await anext(working[0][1], None)
                if step is None:
                    tenant, _ = working.popleft()
                    yield _Step(tenant, None)
                    continue
                working.rotate(-1)
                yield step
        finally:
            for _, steps in working:
                await steps.aclose()

    async def _rebuild_tenant(
        self, tenant: str, agents: Sequence[str], indices: Collection[IndexName], start: Position | None
    ) -> AsyncGenerator[_Step]:
        if start is None:
            for index in indices:
                await self.reindexing.discard_damaged(tenant, index)
        if IndexName.KNOWLEDGE in indices:
            async for is_started, page in self.knowledge.rebuild(tenant, agents, start):
                yield _Step(tenant, IndexName.KNOWLEDGE, is_started, page)
        if IndexName.EPISODES in indices:
            async for is_done in self.episodes.rebuild(tenant):
                yield _Step(tenant, IndexName.EPISODES, is_done)

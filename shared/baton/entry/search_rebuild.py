"""Rebuild lost search indices from what is stored, tenant by tenant in turn, for as long as a caller has time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from baton.domain.search import IndexName
from baton.knowledge.index_check import KnowledgeIndexCheck
from baton.memory.episodes.index_check import IndexCheck
from baton.ports.tenants import SearchedTenants

TENANTS_IN_TURN = 8
"""Tenants that are served in turn. Each takes memory for the sources of its episodes."""
REBUILT = (IndexName.KNOWLEDGE, IndexName.EPISODES)
"""The indices that are used. Procedures are matched in memory."""


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """The work of one call."""

    tenants: tuple[str, ...]
    """All tenants of the rebuild. Give them to the next call, which then need not look for them."""
    documents_started: int
    """Documents whose indexing was started. It goes on in the pipeline."""
    episodes_indexed: int
    is_complete: bool
    """False if time was over. The next call continues with what is still missing."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """One document or episode that was looked at."""

    index: IndexName
    is_done: bool
    """Whether it was missing, and was indexed or its indexing started."""


@dataclass(frozen=True, slots=True)
class SearchRebuild:
    """Indexes episodes itself, one at a time, and starts the pipeline for documents, which bounds their rate."""

    tenants: SearchedTenants
    knowledge: KnowledgeIndexCheck
    episodes: IndexCheck

    async def run(
        self, indices: Collection[IndexName], tenants: Sequence[str] = (), *, seconds: float
    ) -> RebuildResult:
        """Rebuild ``indices`` of all tenants, or of the named ones, for ``seconds``, but at least one item.

        Whatever is in the index already is left as it is, so a repetition continues. Raises ``SearchUnavailable``,
        ``EmbedderUnavailable`` and ``StoreUnavailable``.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        stored = await self.tenants.all()
        chosen = tuple(tenants or stored)
        done = dict.fromkeys(IndexName, 0)
        is_complete = True
        async with aclosing(self._in_turn(stored, chosen, indices)) as steps:
            async for step in steps:
                done[step.index] += step.is_done
                # What was begun by earlier calls is looked at first: each call must get further than that.
                if loop.time() >= deadline and any(done.values()):
                    is_complete = False
                    break
        return RebuildResult(chosen, done[IndexName.KNOWLEDGE], done[IndexName.EPISODES], is_complete)

    async def _in_turn(
        self, stored: Mapping[str, Sequence[str]], tenants: Sequence[str], indices: Collection[IndexName]
    ) -> AsyncGenerator[_Progress]:
        """Yield a step of one tenant after the other."""
        waiting = deque(tenants)
        working: deque[AsyncGenerator[_Progress]] = deque()
        try:
            while waiting or working:
                while waiting and len(working) < TENANTS_IN_TURN:
                    tenant = waiting.popleft()
                    working.append(self._steps(tenant, stored.get(tenant, ()), indices))
                step = await anext(working[0], None)
                if step is None:
                    working.popleft()
                    continue
                working.rotate(-1)
                yield step
        finally:
            for steps in working:
                await steps.aclose()

    async def _steps(
        self, tenant: str, agents: Sequence[str], indices: Collection[IndexName]
    ) -> AsyncGenerator[_Progress]:
        rebuilds: dict[IndexName, AsyncIterator[bool]] = {
            IndexName.KNOWLEDGE: self.knowledge.rebuild(tenant, agents),
            IndexName.EPISODES: self.episodes.rebuild(tenant),
        }
        for index in REBUILT:
            if index in indices:
                async for is_done in rebuilds[index]:
                    yield _Progress(index, is_done)

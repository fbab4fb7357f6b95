"""Try what a turn would find in an agent's documents, without a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.domain.agent import AgentDefinition
from baton.domain.identity import Scope
from baton.knowledge.knowledge_search import FoundChunk, KnowledgeSearch
from baton.memory.recall.relevance import MAX_QUERY_WORDS, content_words, irrelevance
from baton.memory.recall.retrievals import knowledge_item


@dataclass(frozen=True, slots=True)
class TriedChunk:
    """A chunk, and why a prompt would not get it; None if it would, as far as it has room."""

    chunk: FoundChunk
    reason: str | None


@dataclass(frozen=True, slots=True)
class KnowledgeTrial:
    """What was found, best first."""

    items: Sequence[TriedChunk] = ()
    words_only: str | None = None
    """Why the query was not compared by meaning, if it was not."""


async def try_knowledge(
    search: KnowledgeSearch, scope: Scope, agent: AgentDefinition, query: str, *, limit: int
) -> KnowledgeTrial:
    """Search as a turn does, and judge what is found by the agent's relevance floor.

    Raises ``SearchUnavailable`` and ``StoreUnavailable``.
    """
    found = await search.search(scope, agent.id, query, limit=limit)
    words = frozenset(content_words(query)[:MAX_QUERY_WORDS])
    floor = agent.memory.relevance_floor
    items = [TriedChunk(chunk, irrelevance(knowledge_item(chunk), words, floor)) for chunk in found.chunks]
    return KnowledgeTrial(items, found.words_only)

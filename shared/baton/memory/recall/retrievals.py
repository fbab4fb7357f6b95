"""Search episodes and documents, and name the findings by source and date."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.search import IndexDocument, Ranked, Signal, Vector
from baton.domain.memory.found_item import FoundItem, ItemSource
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role
from baton.knowledge.knowledge_search import FoundChunks, KnowledgeSearch
from baton.memory.episodes.episode_index import DIGEST, FACT, MESSAGE, PAIR, SUMMARY, TURN
from baton.memory.episodes.episode_ranking import EpisodeWeights, rank_episodes
from baton.memory.recall.relevance import MAX_QUERY_WORDS, content_words, irrelevance
from baton.ports.documents.search import SearchIndex

MAX_FOUND = 40
"""Messages, or facts with summaries, from which a prompt's items are chosen. The inspector shows them all."""
FOR_PROMPTS = EpisodeWeights(messages_shown=MAX_FOUND, sessions_shown=0, digests_shown=MAX_FOUND)
"""The weights of a search for a prompt. No document is fetched that no prompt can use."""

MAX_SHORT_CHARS = 25
MAX_SHORT_WORDS = 4
"""A message of at most this many characters and words may have its meaning from the one before it."""


async def find_episodes(
    search: SearchIndex, scope: Scope, query: str, vector: Vector | None, embedder: str
) -> tuple[FoundItem, ...]:
    """Return the findings in past conversations of the user for the message. Raises ``SearchUnavailable``.

    ``embedder`` is the model that made ``vector``. Vectors of another model are not comparable with it.
    """
    ranking = await rank_episodes(search, scope, query, vector, weights=FOR_PROMPTS)
    ranked_texts = [*ranking.messages[:MAX_FOUND], *ranking.digests[:MAX_FOUND]]
    return tuple(_episode_item(ranked, embedder) for ranked in ranked_texts)


async def try_knowledge(
    search: KnowledgeSearch, scope: Scope, agent: AgentDefinition, query: str, *, limit: int
) -> FoundChunks:
    """Return a turn's findings in the agent's documents, best first, each judged by its relevance floor.

    Raises ``SearchUnavailable`` and ``StoreUnavailable``.
    """
    chunks = await search.search(scope, agent.id, query, limit=limit)
    words = frozenset(content_words(query)[:MAX_QUERY_WORDS])
    floor = agent.memory.relevance_floor
    return replace(chunks, chunks=[replace(chunk, reason=irrelevance(chunk, words, floor)) for chunk in chunks.chunks])


def _episode_item(ranked: Ranked, embedder: str) -> FoundItem:
    document = ranked.document
    fields = document.fields
    compared = _select_compared(ranked) if document.embedder == embedder else []
    is_users = fields.get("role") == Role.USER
    speaker = f"the {'user' if is_users else 'assistant'} said" if document.kind == MESSAGE else None
    day, superseded_at = fields.get("day") or fields.get("on"), fields.get("superseded_at")
    ids = [fields["message_id"]] if "message_id" in fields else fields.get("message_ids", ())
    return FoundItem(
        id=fields.get("fact_id") or fields.get("message_id") or document.id,
        kind=document.kind,
        title=speaker or {FACT: "noted", SUMMARY: "summary of a conversation"}.get(document.kind, document.kind),
        text=_text(document),
        at=document.at,
        score=ranked.score,
        signals=ranked.signals,
        cosine=max((ranked.signals[name] for name in compared), default=None),
        by_words=ranked.added.issuperset(compared),
        source=ItemSource(document.thread_id, document.source_id, tuple(ids), agent_id=document.agent_id),
        superseded_at=datetime.fromisoformat(superseded_at) if superseded_at else None,
        superseded_by=fields.get("superseded_by"),
        role=fields.get("role"),
        day=date.fromisoformat(day) if day else None,
    )


def _select_compared(ranked: Ranked) -> list[str]:
    """Return the rankings in which an item's own text was compared with the message by meaning.

    Other views hold its neighbours too, and would make every "Thank you" relevant that stands next to something
    relevant. Only a user's short message counts together with the one before it: an answer such as "Miso." has its
    meaning from the question, and a whole sentence has its own.
    """
    document = ranked.document
    is_users = document.kind == MESSAGE and document.fields.get("role") == Role.USER
    text = _text(document)
    is_short = len(text) <= MAX_SHORT_CHARS and len(text.split()) <= MAX_SHORT_WORDS
    views = [PAIR] if is_users and is_short else []
    names = [f"{view}.{Signal.MEANING}" for view in (TURN, DIGEST, *views)]
    return [name for name in names if name in ranked.signals]


def _text(document: IndexDocument) -> str:
    """Return the text to show: without its date, if the index keeps it so."""
    text = document.fields.get("text")
    if isinstance(text, str) and text:
        return text
    return next((view.text for view in document.views.values()), "")

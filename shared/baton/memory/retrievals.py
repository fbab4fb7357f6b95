"""Retrieve episodes and knowledge: search the index, fuse the signals, and name the hits by source and date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from baton.domain.identity import Scope
from baton.domain.search import (
    IndexDocument,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Signal,
    Vector,
)
from baton.memory.recalled import FoundItem
from baton.ports.search_index import SearchIndex

EPISODE_VIEWS = {"turn": 1.0, "pair": 0.5, "window": 1.0}
"""Views of messages, summaries and facts of past conversations, with their weights."""
KNOWLEDGE_VIEWS = {"chunk": 1.0}
"""The view of a document's chunks."""
MAX_FOUND = 40
"""Items of one retrieval from which a prompt's are chosen. The inspector shows them all."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document with its fused score from 0 to 1, and its raw scores by "view.signal"."""

    document: IndexDocument
    score: float
    signals: Mapping[str, float]

    @property
    def cosine(self) -> float | None:
        """Return its best cosine similarity; None if it was found by words only."""
        suffix = f".{Signal.MEANING}"
        return max((score for name, score in self.signals.items() if name.endswith(suffix)), default=None)


async def find_episodes(
    search: SearchIndex, scope: Scope, query: str, vector: Vector | None, embedder: str
) -> tuple[FoundItem, ...]:
    """Return what past conversations of the user say about the message. Raises ``SearchUnavailable``.

    ``embedder`` is the model that made ``vector``. Vectors of another model are not comparable with it.
    """
    ranked = await _ranked(search, scope, IndexName.EPISODES, query, vector, EPISODE_VIEWS, SearchFilter())
    return tuple(_episode_item(each, embedder) for each in ranked)


async def find_knowledge(
    search: SearchIndex, scope: Scope, agent_id: str, query: str, vector: Vector | None, embedder: str
) -> tuple[FoundItem, ...]:
    """Return what the agent's documents say about the message. Raises ``SearchUnavailable``."""
    chosen = SearchFilter(agent_id=agent_id)
    ranked = await _ranked(search, scope, IndexName.KNOWLEDGE, query, vector, KNOWLEDGE_VIEWS, chosen)
    return tuple(_knowledge_item(each, embedder) for each in ranked)


async def _ranked(
    search: SearchIndex,
    scope: Scope,
    index: IndexName,
    query: str,
    vector: Vector | None,
    views: Mapping[str, float],
    chosen: SearchFilter,
) -> Sequence[Ranked]:
    weights = {SearchClause(view, signal): weight / 2 for view, weight in views.items() for signal in Signal}
    result = await search.search(scope, index, SearchQuery(query, vector, tuple(weights), chosen))
    return fuse(result, weights)[:MAX_FOUND]


def fuse(result: SearchResult, weights: Mapping[SearchClause, float]) -> list[Ranked]:
    """Return the found documents by the weighted mean of their min-max scores, best first."""
    scores: dict[str, float] = {}
    signals: dict[str, dict[str, float]] = {}
    used = sum(weight for clause, weight in weights.items() if result.candidates.get(clause))
    for clause, weight in weights.items():
        candidates = result.candidates.get(clause, ())
        if not candidates:
            continue
        low, high = min(each.score for each in candidates), max(each.score for each in candidates)
        for each in candidates:
            normal = (each.score - low) / (high - low) if high > low else 1.0
            scores[each.id] = scores.get(each.id, 0.0) + weight * normal / used
            signals.setdefault(each.id, {})[f"{clause.view}.{clause.signal}"] = each.score
    ranked = [
        Ranked(result.documents[name], min(1.0, score), signals[name])
        for name, score in scores.items()
        if name in result.documents
    ]
    return sorted(ranked, key=lambda each: (-each.score, each.document.id))


def _episode_item(ranked: Ranked, embedder: str) -> FoundItem:
    document = ranked.document
    fields = document.fields
    ids = [fields["message_id"]] if "message_id" in fields else fields.get("message_ids", ())
    return FoundItem(
        id=document.id,
        kind=document.kind,
        title=_told_by(document.kind, fields),
        text=_text(document),
        at=document.at,
        score=ranked.score,
        signals=ranked.signals,
        cosine=ranked.cosine if document.embedder == embedder else None,
        thread_id=document.thread_id,
        message_ids=tuple(ids),
        superseded_at=_time(fields.get("superseded_at")),
        superseded_by=fields.get("superseded_by"),
        role=fields.get("role"),
    )


def _knowledge_item(ranked: Ranked, embedder: str) -> FoundItem:
    document = ranked.document
    return FoundItem(
        id=document.id,
        kind=document.kind,
        title=str(document.fields.get("title") or document.source_id),
        text=_text(document),
        at=document.at,
        score=ranked.score,
        signals=ranked.signals,
        cosine=ranked.cosine if document.embedder == embedder else None,
    )


def _told_by(kind: str, fields: Mapping[str, Any]) -> str:
    """Return who said it, or what it is."""
    if kind == "message":
        return (
            "the user said" if fields.get("role") == "user" else f"{fields.get('agent_name') or 'the assistant'} said"
        )
    return {"fact": "noted", "summary": "summary of a conversation"}.get(kind, kind)


def _text(document: IndexDocument) -> str:
    """Return the text to show: without its date, if the index keeps it so."""
    text = document.fields.get("text")
    if isinstance(text, str) and text:
        return text
    return next((view.text for view in document.views.values()), "")


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) and value else None

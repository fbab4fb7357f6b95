"""Search a user's episodes, and group the findings by episode."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from aws_lambda_powertools import Logger

from baton.domain.documents.search import MAX_QUERY, Ranked, SearchFilter, Vector
from baton.domain.errors import EmbedderUnavailable, WrongDimension
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.memory.episodes.episode_index import FACT
from baton.memory.episodes.episode_ranking import USUAL_WEIGHTS, EpisodeRanking, rank_episodes
from baton.ports.documents.search import Embedder, EmbeddingPurpose, SearchIndex

MAX_MATCHES = 20
"""Messages of an episode that are shown."""
MAX_FACTS = 20
EMBEDDING_DEADLINE = timedelta(seconds=5)
"""The time after which words decide alone. A request over HTTP is given up long after it."""
EMBEDDER_SHARE = 0.95
"""The part of it that the embedder may use, so that its circuit breaker counts an endpoint that does not answer."""

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class MatchedMessage:
    """A message that matches."""

    message_id: str
    ordinal: int
    text: str
    timestamp: datetime
    score: float
    """Comparable between episodes."""
    role: str


@dataclass(frozen=True, slots=True)
class MatchedFact:
    """A fact that matches. One with ``superseded_at`` is no longer valid."""

    id: str
    text: str
    on: date
    score: float
    superseded_at: datetime | None
    superseded_by: str | None


@dataclass(frozen=True, slots=True)
class FoundEpisode:
    """An episode, with its parts that match."""

    episode_id: str
    thread_id: str
    started_at: datetime
    ended_at: datetime
    score: float
    """From 0 to 1."""
    signals: Mapping[str, float]
    """The best raw score of each ranking, by ``view.signal``."""
    matches: Sequence[MatchedMessage] = ()
    """Best first."""
    facts: Sequence[MatchedFact] = ()
    """Best first."""
    summary: str | None = None
    """The summary if it matches."""


@dataclass(frozen=True, slots=True)
class EpisodeSearch:
    """A search in the episodes of one user at a time, by one request to the search engine."""

    index: SearchIndex
    embedder: Embedder
    embedding_deadline: timedelta = EMBEDDING_DEADLINE

    async def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int,
        since: datetime | None = None,
        until: datetime | None = None,
        vector: Vector | None = None,
    ) -> Sequence[FoundEpisode]:
        """Return at most ``limit`` episodes with messages, facts or a summary from ``since`` until before ``until``.

        The best comes first. ``vector`` is the query's embedding, if it is known already. If it cannot be embedded in
        time, or if the index was made for another embedding model, words decide alone. Raises ``SearchUnavailable``.
        """
        if not query.strip() or limit < 1:
            return []
        if vector is None:
            vector = await self._embed(scope, query)
        chosen = SearchFilter(since=since, until=until)
        try:
            ranking = await rank_episodes(self.index, scope, query, vector, chosen)
        except WrongDimension:
            if vector is None:
                raise
            count(Metric.RECALLS_INCOMPLETE)
            logger.warning("The search index was made for another embedding model; words decide alone")
            ranking = await rank_episodes(self.index, scope, query, None, chosen)
        return group_by_episode(ranking, USUAL_WEIGHTS.digest)[:limit]

    async def _embed(self, scope: Scope, query: str) -> Vector | None:
        if not self.embedder.dimensions:
            return None
        try:
            seconds = self.embedding_deadline.total_seconds()
            async with asyncio.timeout(seconds):
                [vector] = await self.embedder.embed(
                    [query[:MAX_QUERY]],
                    purpose=EmbeddingPurpose.QUERY,
                    seconds=EMBEDDER_SHARE * seconds,
                    tenant_id=scope.tenant_id,
                )
        except (EmbedderUnavailable, TimeoutError):
            count(Metric.RECALLS_INCOMPLETE)
            logger.warning("The query could not be embedded in time; words decide alone")
            return None
        return vector


def group_by_episode(ranking: EpisodeRanking, share: float) -> list[FoundEpisode]:
    """Return the ranked documents by episode, the best first. ``share``: see ``EpisodeWeights.digest``."""
    messages, digests = defaultdict[str, list[Ranked]](list), defaultdict[str, list[Ranked]](list)
    for ranked in ranking.messages:
        messages[ranked.document.source_id].append(ranked)
    for ranked in ranking.digests:
        digests[ranked.document.source_id].append(ranked)
    if not digests:
        share = 0.0  # a session's score is its episode's
    episodes = [
        _episode(id_, ranking.sessions.get(id_, 0.0), messages[id_], digests[id_], share)
        for id_ in dict.fromkeys([*messages, *digests])
    ]
    return sorted(episodes, key=lambda episode: (-episode.score, episode.episode_id))


def _episode(
    id_: str, session: float, messages: Sequence[Ranked], digests: Sequence[Ranked], share: float
) -> FoundEpisode:
    best_digest = digests[0].score if digests else 0.0
    signals: dict[str, float] = {}
    for ranked in (*messages, *digests):
        for name, score in ranked.signals.items():
            signals[name] = max(score, signals.get(name, score))
    any_document = (*messages, *digests)[0].document
    return FoundEpisode(
        episode_id=id_,
        thread_id=any_document.thread_id or "",
        started_at=datetime.fromisoformat(any_document.fields["started_at"]),
        ended_at=datetime.fromisoformat(any_document.fields["ended_at"]),
        score=(session + share * best_digest) / (1 + share),
        signals=signals,
        matches=[_message(message) for message in messages[:MAX_MATCHES]],
        facts=[_fact(digest) for digest in digests if digest.document.kind == FACT][:MAX_FACTS],
        summary=next((digest.document.fields["text"] for digest in digests if digest.document.kind != FACT), None),
    )


def _message(ranked: Ranked) -> MatchedMessage:
    fields = ranked.document.fields
    return MatchedMessage(
        message_id=fields["message_id"],
        ordinal=fields["ordinal"],
        text=fields["text"],
        timestamp=datetime.fromisoformat(fields["timestamp"]),
        score=ranked.score,
        role=fields["role"],
    )


def _fact(ranked: Ranked) -> MatchedFact:
    fields = ranked.document.fields
    superseded_at = fields["superseded_at"]
    return MatchedFact(
        id=fields["fact_id"],
        text=fields["text"],
        on=date.fromisoformat(fields["on"]),
        score=ranked.score,
        superseded_at=datetime.fromisoformat(superseded_at) if superseded_at else None,
        superseded_by=fields["superseded_by"],
    )

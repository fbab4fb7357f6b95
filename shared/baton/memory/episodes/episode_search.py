"""Search a user's episodes, rank their parts by a text, and group the findings by episode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import Any

from aws_lambda_powertools import Logger

from baton.domain.desks.desk_session import Person
from baton.domain.documents.search import (
    MAX_QUERY,
    Candidates,
    IndexName,
    Ranked,
    SearchClause,
    SearchFilter,
    SearchQuery,
    Signal,
    Vector,
    compute_clause_weights,
    fuse_scores,
    make_rank_key,
    rank,
    weigh_rankings,
)
from baton.domain.tenants.identity import Scope
from baton.memory.early_recall import MessageEmbedding, cancel_all
from baton.memory.episodes.episode_index import DIGEST, FACT, PAIR, TURN, WINDOW
from baton.ports.documents.search import Embedder, SearchIndex


@dataclass(frozen=True, slots=True)
class EpisodeWeights:
    """The weights of the signals of episodes. The defaults were measured on long chat histories."""

    messages: Mapping[str, float] = field(default_factory=lambda: {TURN: 1.0, PAIR: 0.5, WINDOW: 1.0})
    """The weights of messages, by view."""
    session: float = 0.45
    """The share of the session's best messages that is added to the session and to each of its messages."""
    session_messages: int = 3
    """The number of a session's best messages that count for its share."""
    digest: float = 0.3
    """The share of an episode's best fact or summary that is added to its session's score."""
    superseded: float = 0.5
    """The factor for the score of a fact that is no longer valid."""
    candidates: int = 100
    """Documents of each ranking that are fused. With fewer, recall drops; with more, it does not rise."""
    sessions_shown: int = 50
    """The number of sessions whose best message is always among the results."""
    messages_shown: int = 80
    """The most messages that are returned, besides the best message of each session."""
    digests_shown: int = 40
    """The most facts and summaries that are returned."""


USUAL_WEIGHTS = EpisodeWeights()
EVERYTHING = SearchFilter()


@dataclass(frozen=True, slots=True)
class EpisodeRanking:
    """The results of a search, best first, with scores from 0 to 1."""

    messages: Sequence[Ranked] = ()
    digests: Sequence[Ranked] = ()
    """Facts and summaries."""
    sessions: Mapping[str, float] = field(default_factory=dict)
    """The score of each session by its messages, by the episode's id."""


@dataclass(frozen=True, slots=True)
class MessageScores:
    """The scores of messages and of their sessions, from 0 to 1."""

    messages: Mapping[str, float]
    """The scores of messages, by the document's id."""
    sessions: Mapping[str, float]
    """The scores of sessions, by the episode's id."""


async def rank_episodes(
    search: SearchIndex,
    scope: Scope,
    text: str,
    vector: Vector | None,
    chosen: SearchFilter = EVERYTHING,
    weights: EpisodeWeights = USUAL_WEIGHTS,
) -> EpisodeRanking:
    """Return the ranked documents of the user's episodes, by one search.

    Raises ``SearchUnavailable``, and ``WrongDimension`` if the index was made for another embedding model.
    """
    of_messages = compute_clause_weights(weights.messages)
    of_digests = compute_clause_weights({DIGEST: 1.0})

    last: tuple[Candidates, MessageScores, dict[str, float]] | None = None

    def score(candidates: Candidates) -> tuple[Candidates, MessageScores, dict[str, float]]:
        """Return the scores of messages and digests. They are cached: both the choice and the order need them."""
        nonlocal last
        if last is None or last[0] is not candidates:
            messages = score_messages(candidates, of_messages, weights)
            last = candidates, messages, fuse_scores(candidates, of_digests)
        return last

    def choose(candidates: Candidates) -> set[str]:
        _, own_scores, digests = score(candidates)
        best_digests = sorted(digests, key=lambda id_: (-digests[id_], id_))[: weights.digests_shown]
        return {*_select_shown_messages(own_scores, _map_sessions(candidates, of_messages), weights), *best_digests}

    query = SearchQuery(text[:MAX_QUERY], vector, (*of_messages, *of_digests), chosen, weights.candidates, choose)
    result = await search.search(scope, IndexName.EPISODES, query)
    _, message_scores, digests = score(result.candidates)
    return EpisodeRanking(
        rank(result, of_messages, message_scores.messages),
        rank_by_validity(rank(result, of_digests, digests), weights),
        message_scores.sessions,
    )


def _select_shown_messages(scores: MessageScores, sessions: Mapping[str, str], weights: EpisodeWeights) -> set[str]:
    """Return the ids of the best messages, and of the best message of each of the best sessions."""
    best_first = sorted(scores.messages, key=lambda id_: (-scores.messages[id_], id_))
    best_of_session: dict[str, str] = {}
    for id_ in best_first:
        best_of_session.setdefault(sessions[id_], id_)
    best_sessions = sorted(best_of_session, key=lambda id_: (-scores.sessions[id_], id_))[: weights.sessions_shown]
    return {*best_first[: weights.messages_shown], *(best_of_session[id_] for id_ in best_sessions)}


def score_messages(
    candidates: Candidates, of_messages: Mapping[SearchClause, float], weights: EpisodeWeights
) -> MessageScores:
    """Return the scores of the found messages and of their sessions.

    The score of a message is its fused score plus a share of its session's best scores. The score of a session is the
    sum of its scores by words and by meaning, because one message may match the words and another the meaning.
    """
    scores, sessions = fuse_scores(candidates, of_messages), _map_sessions(candidates, of_messages)
    of_session: dict[str, list[float]] = defaultdict(list)
    for id_, score in scores.items():
        of_session[sessions[id_]].append(score)
    shares = {name: _compute_share_of_best(session_scores, weights) for name, session_scores in of_session.items()}
    by_signal: dict[tuple[Signal, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for clause, ranking in weigh_rankings(candidates, of_messages).items():
        for candidate, score in ranking:
            by_signal[clause.signal, candidate.source_id][candidate.id] += score
    sums: dict[str, float] = defaultdict(float)
    for (_, name), signal_scores in by_signal.items():
        sums[name] += max(signal_scores.values()) + _compute_share_of_best(signal_scores.values(), weights)
    greatest = 1 + weights.session
    return MessageScores(
        {id_: (score + shares[sessions[id_]]) / greatest for id_, score in scores.items()},
        {name: min(score / greatest, 1.0) for name, score in sums.items()},
    )


def _compute_share_of_best(scores: Iterable[float], weights: EpisodeWeights) -> float:
    # Missing messages count as 0, so that a session with one found message scores less than one with three.
    return weights.session * sum(sorted(scores)[-weights.session_messages :]) / weights.session_messages


def _map_sessions(candidates: Candidates, of_messages: Mapping[SearchClause, float]) -> dict[str, str]:
    return {candidate.id: candidate.source_id for clause in of_messages for candidate in candidates.get(clause, ())}


def rank_by_validity(digests: Sequence[Ranked], weights: EpisodeWeights) -> list[Ranked]:
    """Return the digests ranked, superseded facts below the facts that superseded them and below equally good ones."""
    scores = {digest.document.fields.get("fact_id"): digest.score for digest in digests if is_valid(digest)}

    def score(ranked: Ranked) -> float:
        if is_valid(ranked):
            return ranked.score
        successor = scores.get(ranked.document.fields.get("superseded_by"), 1.0)
        return min(ranked.score * weights.superseded, successor * 0.99)

    return sorted((replace(digest, score=score(digest)) for digest in digests), key=make_rank_key)


def is_valid(ranked: Ranked) -> bool:
    """Return False for a fact that another fact has superseded, and True for all other documents."""
    return ranked.document.kind != FACT or ranked.document.fields.get("superseded_at") is None


MAX_MATCHES = 20
"""Messages of an episode that are shown."""
MAX_FACTS = 20
EMBEDDING_SECONDS = 5.0
"""Seconds after which words decide alone. HTTP requests time out much later."""

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class MatchedMessage:
    """A message that matches."""

    message_id: str
    ordinal: int
    text: str
    timestamp: datetime
    score: float
    """The score from 0 to 1, which is comparable between episodes."""
    role: str
    author: Person | None = None
    """The person of a desk who wrote it."""


@dataclass(frozen=True, slots=True)
class MatchedFact:
    """A fact that matches. A fact with ``superseded_at`` is no longer valid."""

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
    """The score of the episode, from 0 to 1."""
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
    embedding_seconds: float = EMBEDDING_SECONDS

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
        """Return at most ``limit`` episodes, best first, with messages, facts or a summary from ``since`` to ``until``.

        ``until`` is excluded. ``vector`` is the query's embedding, if it is known already. If the query cannot be
        embedded in time, or if the index was made for another embedding model, words decide alone.

        Returns none for a blank query. Raises ``SearchUnavailable``.
        """
        if not query.strip() or limit < 1:
            return []
        embedding = MessageEmbedding(
            self.embedder, query[:MAX_QUERY], tenant_id=scope.tenant_id, seconds=self.embedding_seconds, vector=vector
        )
        chosen = SearchFilter(since=since, until=until)
        try:
            ranking = await embedding.find(partial(rank_episodes, self.index, scope, query, chosen=chosen))
        finally:
            await cancel_all(embedding.tasks)
        if embedding.words_only is not None:
            logger.warning("Words decide alone", reason=embedding.words_only)
        return group_by_episode(ranking, USUAL_WEIGHTS.digest)[:limit]


def group_by_episode(ranking: EpisodeRanking, share: float) -> list[FoundEpisode]:
    """Return the ranked documents grouped by episode, best first. ``share``: see ``EpisodeWeights.digest``."""
    messages, digests = defaultdict[str, list[Ranked]](list), defaultdict[str, list[Ranked]](list)
    for ranked in ranking.messages:
        messages[ranked.document.source_id].append(ranked)
    for ranked in ranking.digests:
        digests[ranked.document.source_id].append(ranked)
    if not digests:
        share = 0.0  # without digests, the episode's score is its session's
    episodes = [
        _make_episode(id_, ranking.sessions.get(id_, 0.0), messages[id_], digests[id_], share)
        for id_ in dict.fromkeys([*messages, *digests])
    ]
    return sorted(episodes, key=lambda episode: (-episode.score, episode.episode_id))


def _make_episode(
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
        matches=[_make_matched_message(message) for message in messages[:MAX_MATCHES]],
        facts=[_make_matched_fact(digest) for digest in digests if digest.document.kind == FACT][:MAX_FACTS],
        summary=next((digest.document.fields["text"] for digest in digests if digest.document.kind != FACT), None),
    )


def _make_matched_message(ranked: Ranked) -> MatchedMessage:
    fields = ranked.document.fields
    return MatchedMessage(
        message_id=fields["message_id"],
        ordinal=fields["ordinal"],
        text=fields["text"],
        timestamp=datetime.fromisoformat(fields["timestamp"]),
        score=ranked.score,
        role=fields["role"],
        author=find_author(fields),
    )


def find_author(fields: Mapping[str, Any]) -> Person | None:
    """Return the person who wrote the message of a document; None for messages of users and agents."""
    author = fields.get("author")
    return Person(author["id"], author["name"]) if author is not None else None


def _make_matched_fact(ranked: Ranked) -> MatchedFact:
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

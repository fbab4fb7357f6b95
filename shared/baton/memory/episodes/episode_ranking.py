"""Rank what a user's episodes say about a text: messages, and facts and summaries if there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from baton.domain.fusion import Ranked, by_score, clause_weights, fuse, fused_scores
from baton.domain.identity import Scope
from baton.domain.search import Candidates, IndexName, SearchClause, SearchFilter, SearchQuery, SearchResult, Vector
from baton.memory.episodes.episode_documents import DIGEST, FACT, PAIR, TURN, WINDOW
from baton.ports.search_index import SearchIndex

MAX_QUERY = 8_000
"""Characters of a query that are searched."""


@dataclass(frozen=True, slots=True)
class EpisodeWeights:
    """How the signals of episodes are weighed. The defaults were measured on long chat histories."""

    messages: Mapping[str, float] = field(default_factory=lambda: {TURN: 1.0, PAIR: 0.5, WINDOW: 1.0})
    """By view."""
    session: float = 0.45
    """The share of the session's best messages that is added to each of its messages."""
    session_messages: int = 3
    """How many of its best messages speak for a session."""
    digest: float = 0.3
    """The share of its best fact or summary that is added to an episode's best message."""
    superseded: float = 0.5
    """What is left of the score of a fact that is no longer valid."""
    candidates: int = 100
    """Documents of each ranking that are fused. Fewer cost recall, more gain nothing."""
    sessions_shown: int = 50
    """The best message of so many sessions is always among what was found."""
    messages_shown: int = 80
    """Messages that are returned at most, apart from those."""
    digests_shown: int = 40


USUAL_WEIGHTS = EpisodeWeights()
EVERYTHING = SearchFilter()


@dataclass(frozen=True, slots=True)
class EpisodeRanking:
    """What was found, best first, with scores from 0 to 1."""

    messages: Sequence[Ranked] = ()
    digests: Sequence[Ranked] = ()
    """Facts and summaries."""


async def rank_episodes(
    search: SearchIndex,
    scope: Scope,
    text: str,
    vector: Vector | None,
    chosen: SearchFilter = EVERYTHING,
    weights: EpisodeWeights = USUAL_WEIGHTS,
) -> EpisodeRanking:
    """Return the ranked documents of the user's episodes, by one search. Raises ``SearchUnavailable``."""
    of_messages = clause_weights(weights.messages)
    of_digests = clause_weights({DIGEST: 1.0})

    def choose(candidates: Candidates) -> set[str]:
        digests = fused_scores(candidates, of_digests)
        best_digests = sorted(digests, key=lambda id_: (-digests[id_], id_))[: weights.digests_shown]
        return {*_shown_messages(candidates, of_messages, weights), *best_digests}

    query = SearchQuery(text[:MAX_QUERY], vector, (*of_messages, *of_digests), chosen, weights.candidates, choose)
    result = await search.search(scope, IndexName.EPISODES, query)
    return EpisodeRanking(rank_messages(result, of_messages, weights), with_validity(fuse(result, of_digests), weights))


def rank_messages(
    result: SearchResult, of_messages: Mapping[SearchClause, float], weights: EpisodeWeights
) -> list[Ranked]:
    """Return the messages, best first: what is talked about in several messages of a session ranks higher."""
    scores = _with_sessions(result.candidates, of_messages, weights)
    return sorted((replace(each, score=scores[each.document.id]) for each in fuse(result, of_messages)), key=by_score)


def _shown_messages(
    candidates: Candidates, of_messages: Mapping[SearchClause, float], weights: EpisodeWeights
) -> set[str]:
    scores = _with_sessions(candidates, of_messages, weights)
    sessions = _sessions(candidates, of_messages)
    best_first = sorted(scores, key=lambda id_: (-scores[id_], id_))
    best_of_session: dict[str, str] = {}
    for id_ in best_first:
        best_of_session.setdefault(sessions[id_], id_)
    return {*best_first[: weights.messages_shown], *[*best_of_session.values()][: weights.sessions_shown]}


def _with_sessions(
    candidates: Candidates, of_messages: Mapping[SearchClause, float], weights: EpisodeWeights
) -> dict[str, float]:
    """Return the fused score of each message with a share of its session's best ones."""
    scores, sessions = fused_scores(candidates, of_messages), _sessions(candidates, of_messages)
    of_session: dict[str, list[float]] = defaultdict(list)
    for id_, score in scores.items():
        of_session[sessions[id_]].append(score)
    # A session with a single message found is not as strong as one with three.
    best = {name: sum(sorted(each)[-weights.session_messages :]) for name, each in of_session.items()}
    return {
        id_: (score + weights.session * best[sessions[id_]] / weights.session_messages) / (1 + weights.session)
        for id_, score in scores.items()
    }


def _sessions(candidates: Candidates, of_messages: Mapping[SearchClause, float]) -> dict[str, str]:
    return {each.id: each.source_id for clause in of_messages for each in candidates.get(clause, ())}


def with_validity(digests: Sequence[Ranked], weights: EpisodeWeights) -> list[Ranked]:
    """Let a superseded fact rank below the fact that superseded it, and below valid facts that match as well."""
    scores = {each.document.fields.get("fact_id"): each.score for each in digests if is_valid(each)}

    def score(each: Ranked) -> float:
        if is_valid(each):
            return each.score
        successor = scores.get(each.document.fields.get("superseded_by"), 1.0)
        return min(each.score * weights.superseded, successor * 0.99)

    return sorted((replace(each, score=score(each)) for each in digests), key=by_score)


def is_valid(ranked: Ranked) -> bool:
    """Return whether it is no fact that another one superseded."""
    return ranked.document.kind != FACT or ranked.document.fields.get("superseded_at") is None

"""Rank the parts of a user's episodes by a text: messages, and facts and summaries if there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    by_score,
    clause_weights,
    fuse_scores,
    rank,
    weigh_rankings,
)
from baton.domain.tenants.identity import Scope
from baton.memory.episodes.episode_index import DIGEST, FACT, PAIR, TURN, WINDOW
from baton.ports.documents.search import SearchIndex


@dataclass(frozen=True, slots=True)
class EpisodeWeights:
    """The weights of the signals of episodes. The defaults were measured on long chat histories."""

    messages: Mapping[str, float] = field(default_factory=lambda: {TURN: 1.0, PAIR: 0.5, WINDOW: 1.0})
    """The weights of messages, by view."""
    session: float = 0.45
    """The share of the session's best messages that is added to the session and to each of its messages."""
    session_messages: int = 3
    """The number of a session's best messages that count for it."""
    digest: float = 0.3
    """The share of an episode's best fact or summary that is added to its session's score."""
    superseded: float = 0.5
    """The factor for the score of a fact that is no longer valid."""
    candidates: int = 100
    """Documents of each ranking that are fused. Fewer cost recall, more gain nothing."""
    sessions_shown: int = 50
    """The number of sessions whose best message is always among the results."""
    messages_shown: int = 80
    """Messages that are returned at most, apart from those."""
    digests_shown: int = 40


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
    """By the document's id."""
    sessions: Mapping[str, float]
    """By the episode's id."""


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

    last: tuple[Candidates, MessageScores, dict[str, float]] | None = None

    def score(candidates: Candidates) -> tuple[Candidates, MessageScores, dict[str, float]]:
        """Return the scores of messages, and of digests, computed once for the choice of documents and their order."""
        nonlocal last
        if last is None or last[0] is not candidates:
            messages = score_messages(candidates, of_messages, weights)
            last = candidates, messages, fuse_scores(candidates, of_digests)
        return last

    def choose(candidates: Candidates) -> set[str]:
        _, own_scores, digests = score(candidates)
        best_digests = sorted(digests, key=lambda id_: (-digests[id_], id_))[: weights.digests_shown]
        return {*_shown_messages(own_scores, _sessions(candidates, of_messages), weights), *best_digests}

    query = SearchQuery(text[:MAX_QUERY], vector, (*of_messages, *of_digests), chosen, weights.candidates, choose)
    result = await search.search(scope, IndexName.EPISODES, query)
    _, message_scores, digests = score(result.candidates)
    return EpisodeRanking(
        rank(result, of_messages, message_scores.messages),
        rank_by_validity(rank(result, of_digests, digests), weights),
        message_scores.sessions,
    )


def _shown_messages(scores: MessageScores, sessions: Mapping[str, str], weights: EpisodeWeights) -> set[str]:
    best_first = sorted(scores.messages, key=lambda id_: (-scores.messages[id_], id_))
    best_of_session: dict[str, str] = {}
    for id_ in best_first:
        best_of_session.setdefault(sessions[id_], id_)
    best_sessions = sorted(best_of_session, key=lambda id_: (-scores.sessions[id_], id_))[: weights.sessions_shown]
    return {*best_first[: weights.messages_shown], *(best_of_session[id_] for id_ in best_sessions)}


def score_messages(
    candidates: Candidates, of_messages: Mapping[SearchClause, float], weights: EpisodeWeights
) -> MessageScores:
    """Return the scores of the messages found, and of their sessions.

    A message's is its fused score with a share of its session's best ones. A session has the sum of its scores by words
    and by meaning, because a question's words may be in one message and its meaning in another.
    """
    scores, sessions = fuse_scores(candidates, of_messages), _sessions(candidates, of_messages)
    of_session: dict[str, list[float]] = defaultdict(list)
    for id_, score in scores.items():
        of_session[sessions[id_]].append(score)
    shares = {name: _share_of_best(session_scores, weights) for name, session_scores in of_session.items()}
    by_signal: dict[tuple[Signal, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for clause, ranking in weigh_rankings(candidates, of_messages).items():
        for candidate, score in ranking:
            by_signal[clause.signal, candidate.source_id][candidate.id] += score
    sums: dict[str, float] = defaultdict(float)
    for (_, name), signal_scores in by_signal.items():
        sums[name] += max(signal_scores.values()) + _share_of_best(signal_scores.values(), weights)
    whole = 1 + weights.session
    return MessageScores(
        {id_: (score + shares[sessions[id_]]) / whole for id_, score in scores.items()},
        {name: min(score / whole, 1.0) for name, score in sums.items()},
    )


def _share_of_best(scores: Iterable[float], weights: EpisodeWeights) -> float:
    # A session with a single message found is not as strong as one with three.
    return weights.session * sum(sorted(scores)[-weights.session_messages :]) / weights.session_messages


def _sessions(candidates: Candidates, of_messages: Mapping[SearchClause, float]) -> dict[str, str]:
    return {candidate.id: candidate.source_id for clause in of_messages for candidate in candidates.get(clause, ())}


def rank_by_validity(digests: Sequence[Ranked], weights: EpisodeWeights) -> list[Ranked]:
    """Let a superseded fact rank below the fact that superseded it, and below valid facts that match as well."""
    scores = {digest.document.fields.get("fact_id"): digest.score for digest in digests if is_valid(digest)}

    def score(ranked: Ranked) -> float:
        if is_valid(ranked):
            return ranked.score
        successor = scores.get(ranked.document.fields.get("superseded_by"), 1.0)
        return min(ranked.score * weights.superseded, successor * 0.99)

    return sorted((replace(digest, score=score(digest)) for digest in digests), key=by_score)


def is_valid(ranked: Ranked) -> bool:
    """Return whether it is not a fact that another one superseded."""
    return ranked.document.kind != FACT or ranked.document.fields.get("superseded_at") is None

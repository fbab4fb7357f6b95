"""Rank what a user's episodes say about a text: messages, and facts and summaries if there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from baton.domain.fusion import Ranked, by_score, clause_weights, fuse
from baton.domain.identity import Scope
from baton.domain.search import IndexName, SearchFilter, SearchQuery, Vector
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
    query = SearchQuery(text[:MAX_QUERY], vector, (*of_messages, *of_digests), chosen, weights.candidates)
    result = await search.search(scope, IndexName.EPISODES, query)
    return EpisodeRanking(
        with_sessions(fuse(result, of_messages), weights), with_validity(fuse(result, of_digests), weights)
    )


def with_sessions(messages: Sequence[Ranked], weights: EpisodeWeights) -> list[Ranked]:
    """Add to each message a share of its session's best ones: what is talked about in several ranks higher."""
    of_session: dict[str, list[float]] = defaultdict(list)
    for each in messages:  # best first
        of_session[each.document.source_id].append(each.score)
    # A session with a single message found is not as strong as one with three.
    best = {name: sum(scores[: weights.session_messages]) for name, scores in of_session.items()}
    return sorted(
        (
            replace(
                each,
                score=(each.score + weights.session * best[each.document.source_id] / weights.session_messages)
                / (1 + weights.session),
            )
            for each in messages
        ),
        key=by_score,
    )


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

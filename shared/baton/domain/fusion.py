"""Fuse the rankings of a search into one, for every engine alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from baton.domain.search import Candidate, Candidates, IndexDocument, SearchClause, SearchResult, Signal

SIGNAL_WEIGHTS: Mapping[Signal, float] = {Signal.WORDS: 0.5, Signal.MEANING: 0.5}
LEAST_SPREAD = 0.1
"""The difference between the best and the worst similarity of a ranking by which it is scaled at least.

Where similarities hardly differ, they say little about which document is meant.
"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A found document."""

    document: IndexDocument
    score: float
    """The weighted mean of its scores in all rankings, from 0 to 1. The best document of a ranking has 1 there."""
    signals: Mapping[str, float]
    """The raw score of each ranking that it is in, by ``view.signal``."""
    added: frozenset[str] = frozenset()
    """Those of them that it was added to."""


def clause_weights(
    views: Mapping[str, float], signals: Mapping[Signal, float] = SIGNAL_WEIGHTS
) -> dict[SearchClause, float]:
    """Return a clause for each view and signal, with the product of their weights."""
    return {
        SearchClause(view, signal): weight * share
        for view, weight in views.items()
        for signal, share in signals.items()
        if weight * share > 0
    }


def fused_scores(
    candidates: Candidates, weights: Mapping[SearchClause, float], least_spread: float = LEAST_SPREAD
) -> dict[str, float]:
    """Return the score of each candidate of the weighted rankings, from 0 to 1, by its id.

    The scores of a ranking are scaled so that its best candidate has 1 and its worst 0; by meaning it has more if they
    differ by less than ``least_spread``. One that was added to a ranking is scaled alike, to 0 at least; one that a
    ranking does not have has 0 there. Rankings that found nothing do not count: without an embedding, words count
    alone.
    """
    used = {clause: weight for clause, weight in weights.items() if candidates.get(clause)}
    whole = sum(used.values())
    scores: dict[str, float] = {}
    for clause, weight in used.items():
        ranking = candidates[clause]
        least = least_spread if clause.signal is Signal.MEANING else 0.0
        for candidate, scaled in zip(ranking, _scaled(ranking, least), strict=True):
            scores[candidate.id] = scores.get(candidate.id, 0.0) + weight * scaled / whole
    return {id_: min(score, 1.0) for id_, score in scores.items()}


def fuse(
    result: SearchResult, weights: Mapping[SearchClause, float], least_spread: float = LEAST_SPREAD
) -> list[Ranked]:
    """Return the documents of the weighted rankings, best first; documents of equal scores by their ids."""
    return ranked(result, weights, fused_scores(result.candidates, weights, least_spread))


def ranked(result: SearchResult, clauses: Iterable[SearchClause], scores: Mapping[str, float]) -> list[Ranked]:
    """Return the documents that have a score, best first, with what the ``clauses`` say about them."""
    signals: dict[str, dict[str, float]] = {id_: {} for id_ in scores if id_ in result.documents}
    added: dict[str, set[str]] = {id_: set() for id_ in signals}
    for clause in clauses:
        name = f"{clause.view}.{clause.signal}"
        for candidate in result.candidates.get(clause, ()):
            if candidate.id in signals:
                signals[candidate.id][name] = candidate.score
                if candidate.is_added:
                    added[candidate.id].add(name)
    found = (Ranked(result.documents[id_], scores[id_], each, frozenset(added[id_])) for id_, each in signals.items())
    return sorted(found, key=by_score)


def by_score(ranked: Ranked) -> tuple[float, str]:
    """Return the key that sorts the best first."""
    return -ranked.score, ranked.document.id


def _scaled(candidates: Sequence[Candidate], least_spread: float) -> list[float]:
    found = [each.score for each in candidates if not each.is_added] or [each.score for each in candidates]
    lowest, highest = min(found), max(found)
    spread = max(highest - lowest, least_spread)
    if spread <= 0:
        return [1.0 if each.score >= highest else 0.0 for each in candidates]
    return [max(0.0, 1.0 - (highest - each.score) / spread) for each in candidates]

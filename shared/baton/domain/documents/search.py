"""Documents of the search indices, and the fusion of a search's rankings, for all engines."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

Vector = Sequence[float]

_DATE_IN_WORDS = re.compile(r"\A(\d{4}-\d\d-\d\d) \([A-Z][a-z]+day, \d{1,2} [A-Z][a-z]+ \d{4}\): ")

MAX_QUERY = 8_000
"""Characters of a query that are embedded and searched. The beginning of a message names its subject."""


class IndexName(StrEnum):
    """The indices. Documents of ``EPISODES`` belong to a user, those of the others to an agent."""

    EPISODES = "episodes"
    KNOWLEDGE = "knowledge"
    PROCEDURES = "procedures"


class Signal(StrEnum):
    """The ways in which a document can match a query."""

    WORDS = "words"
    """BM25 of the query's words."""
    MEANING = "meaning"
    """Cosine similarity of the vectors, from -1 to 1."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """One text of a document, searched by words and, if it has a vector, by meaning."""

    text: str
    """The text. A date precedes it if it has one ("2026-03-14: ..."), in words too if questions may name the date."""
    vector: Vector | None = None
    """The embedding of ``text_to_embed``; None if it is not embedded yet."""

    @property
    def text_to_embed(self) -> str:
        """The text without the date in words, which helps the search by words but blurs the meaning."""
        return _DATE_IN_WORDS.sub(r"\1: ", self.text, count=1)


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """A document of an index. Its tenant is the scope's; in ``EPISODES``, its user too."""

    id: str
    """Derived from the ids of its sources, so that writing twice changes nothing."""
    source_id: str
    """The episode, document or procedure that it is a part of."""
    kind: str
    """The kind of part, such as ``summary``, ``fact``, ``message`` or ``chunk``."""
    views: Mapping[str, IndexedText]
    """Its searchable texts by name. Views of one name compete with each other."""
    at: datetime
    """The time of the event or text that it describes."""
    agent_id: str | None = None
    thread_id: str | None = None
    required_permission: str | None = None
    """The permission that a reader needs, if any."""
    embedder: str | None = None
    """The model of its vectors; None without vectors."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """JSON values that a search returns with it. They are not searched."""


@dataclass(frozen=True, slots=True)
class SearchClause:
    """One ranking: the documents that have a view, by one signal."""

    view: str
    signal: Signal


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Conditions of the documents to search, delete or list, within the scope's tenant (and user, in ``EPISODES``)."""

    agent_id: str | None = None
    thread_id: str | None = None
    source_id: str | None = None
    kinds: tuple[str, ...] = ()
    """All kinds if empty."""
    since: datetime | None = None
    until: datetime | None = None
    """Documents ``at`` a time from ``since`` (inclusive) to ``until`` (exclusive)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document found by a clause."""

    id: str
    score: float
    """The raw score of the clause's signal; higher is better."""
    source_id: str
    """The document's ``source_id``."""
    is_added: bool = False
    """True if it is not one of the clause's best, but was scored because a clause by words has found it."""


Candidates = Mapping[SearchClause, Sequence[Candidate]]
"""The candidates of each clause, best first; those that are added come last."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A search: the same text or vector in each clause."""

    text: str
    vector: Vector | None
    """None if the query could not be embedded. Clauses by meaning then find nothing."""
    clauses: tuple[SearchClause, ...]
    filter: SearchFilter = SearchFilter()
    candidates: int = 100
    """The most documents of a clause. A clause by meaning also scores documents that clauses by words have found."""
    choose: Callable[[Candidates], Collection[str]] | None = None
    """Returns the ids of the candidates to fetch, because fetching takes longer than finding; None: all are fetched."""

    def select_ids(self, candidates: Candidates) -> set[str]:
        """Return the ids of the candidates whose documents are to be fetched."""
        ids = {candidate.id for ranking in candidates.values() for candidate in ranking}
        return ids if self.choose is None else ids.intersection(self.choose(candidates))


def find_unscored(query: SearchQuery, candidates: Candidates) -> dict[SearchClause, list[Candidate]]:
    """Return, for each clause by meaning, the candidates by words that its ranking has not scored, if there are any.

    A ranking that is not full contains every document that has a vector of its view, so it lacks none.
    """
    by_words = {
        candidate.id: candidate
        for clause, ranking in candidates.items()
        if clause.signal is Signal.WORDS
        for candidate in ranking
    }
    unscored = {}
    for clause, ranking in candidates.items():
        if clause.signal is Signal.MEANING and len(ranking) >= query.candidates:
            ids = {candidate.id for candidate in ranking}
            unscored[clause] = [candidate for id_, candidate in by_words.items() if id_ not in ids]
    return {clause: candidates for clause, candidates in unscored.items() if candidates}


def add_scored(
    ranking: Sequence[Candidate], scores: Mapping[str, float], unscored: Sequence[Candidate]
) -> Sequence[Candidate]:
    """Return a ranking followed by its ``unscored`` candidates that have an entry in ``scores``, by id."""
    scored_candidates = [
        replace(candidate, score=scores[candidate.id], is_added=True)
        for candidate in unscored
        if candidate.id in scores
    ]
    return [*ranking, *sorted(scored_candidates, key=lambda candidate: (-candidate.score, candidate.id))]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    candidates: Candidates
    documents: Mapping[str, IndexDocument]
    """The documents of the fetched candidates, by id. Their views have no vectors."""


SIGNAL_WEIGHTS: Mapping[Signal, float] = {Signal.WORDS: 0.5, Signal.MEANING: 0.5}
LEAST_SPREAD = 0.1
"""The least spread of similarities by which a ranking is scaled, because small differences mean little."""
LEAST_WORDS_SPREAD = 0.3
"""The least spread of scores by words (BM25). A word that nearly every document has scores close to 0 in all."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A found document."""

    document: IndexDocument
    score: float
    """The weighted mean of its scores in all rankings, from 0 to 1. The best document of a ranking has 1 there."""
    signals: Mapping[str, float]
    """The raw score of each ranking that it is in, by ``view.signal``."""
    added: frozenset[str] = frozenset()
    """The rankings to which it was added, as ``view.signal``."""


def compute_clause_weights(views: Mapping[str, float]) -> dict[SearchClause, float]:
    """Return a clause for each view and signal, with the product of the two weights if that is greater than 0."""
    return {
        SearchClause(view, signal): weight * share
        for view, weight in views.items()
        for signal, share in SIGNAL_WEIGHTS.items()
        if weight * share > 0
    }


def fuse_scores(
    candidates: Candidates, weights: Mapping[SearchClause, float], least_spread: float = LEAST_SPREAD
) -> dict[str, float]:
    """Return each candidate's score in all weighted rankings, from 0 to 1, by id: the sum of ``weigh_rankings``."""
    scores: dict[str, float] = {}
    for ranking in weigh_rankings(candidates, weights, least_spread).values():
        for candidate, score in ranking:
            scores[candidate.id] = scores.get(candidate.id, 0.0) + score
    return {id_: min(score, 1.0) for id_, score in scores.items()}


def weigh_rankings(
    candidates: Candidates, weights: Mapping[SearchClause, float], least_spread: float = LEAST_SPREAD
) -> dict[SearchClause, list[tuple[Candidate, float]]]:
    """Return the candidates of each ranking with their scaled scores, times the ranking's share of the weights.

    The scores of a ranking are scaled so that its best candidate has 1 and its worst 0, or more if they differ by less
    than ``least_spread`` by meaning, or ``LEAST_WORDS_SPREAD`` by words. An added candidate is scaled in the same way,
    but never below 0. A candidate has 0 in a ranking that lacks it. Rankings that found nothing do not count: without
    an embedding, words count alone.
    """
    used = {clause: weight for clause, weight in weights.items() if candidates.get(clause)}
    total_weight = sum(used.values())
    weighed = {}
    for clause, weight in used.items():
        ranking = candidates[clause]
        least = least_spread if clause.signal is Signal.MEANING else LEAST_WORDS_SPREAD
        scaled = (weight * score / total_weight for score in _scale(ranking, least))
        weighed[clause] = list(zip(ranking, scaled, strict=True))
    return weighed


def fuse(
    result: SearchResult, weights: Mapping[SearchClause, float], least_spread: float = LEAST_SPREAD
) -> list[Ranked]:
    """Return the documents of the weighted rankings, best first; documents of equal scores by their ids."""
    return rank(result, weights, fuse_scores(result.candidates, weights, least_spread))


def rank(result: SearchResult, clauses: Iterable[SearchClause], scores: Mapping[str, float]) -> list[Ranked]:
    """Return the fetched documents that have a score, best first, with their raw scores in ``clauses``' rankings."""
    signals: dict[str, dict[str, float]] = {id_: {} for id_ in scores if id_ in result.documents}
    added: dict[str, set[str]] = {id_: set() for id_ in signals}
    for clause in clauses:
        name = f"{clause.view}.{clause.signal}"
        for candidate in result.candidates.get(clause, ()):
            if candidate.id in signals:
                signals[candidate.id][name] = candidate.score
                if candidate.is_added:
                    added[candidate.id].add(name)
    ranking = (
        Ranked(result.documents[id_], scores[id_], raw_scores, frozenset(added[id_]))
        for id_, raw_scores in signals.items()
    )
    return sorted(ranking, key=make_rank_key)


def make_rank_key(ranked: Ranked) -> tuple[float, str]:
    """Return the key that sorts the best first."""
    return -ranked.score, ranked.document.id


def _scale(candidates: Sequence[Candidate], least_spread: float) -> list[float]:
    scores = [candidate.score for candidate in candidates if not candidate.is_added] or [
        candidate.score for candidate in candidates
    ]
    lowest, highest = min(scores), max(scores)
    spread = max(highest - lowest, least_spread)
    if spread <= 0:
        return [1.0 if candidate.score >= highest else 0.0 for candidate in candidates]
    return [max(0.0, 1.0 - (highest - candidate.score) / spread) for candidate in candidates]

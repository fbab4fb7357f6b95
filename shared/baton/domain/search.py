"""What the search indices hold, and what a search returns before it is ranked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

Vector = Sequence[float]


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
    """With its date in front, where it has one ("2026-03-14: ...")."""
    vector: Vector | None = None
    """None if it could not be embedded yet."""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """A document of an index. Its tenant is the scope's; in ``EPISODES``, its user too."""

    id: str
    """Derived from the ids of its sources, so that writing twice changes nothing."""
    source_id: str
    """The episode, document or procedure that it is a part of."""
    kind: str
    """What part it is, such as ``summary``, ``fact``, ``message`` or ``chunk``."""
    views: Mapping[str, IndexedText]
    """Its searchable texts by name. Views of one name compete with each other."""
    at: datetime
    """The time that it is about."""
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
    """Which documents are searched, deleted or listed, within the scope's tenant (and user, in ``EPISODES``)."""

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
    """The document's."""
    is_added: bool = False
    """True if it is none of the clause's best, and only has its score because a clause by words has found it."""


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
    """Documents that a clause returns at most.

    A clause by meaning has those too that the clauses by words return, if they have a vector of its view.
    """
    choose: Callable[[Candidates], Collection[str]] | None = None
    """Returns the ids of the candidates whose documents are wanted; None for all.

    To fetch a document takes an engine longer than to find it.
    """

    def wanted(self, candidates: Candidates) -> set[str]:
        """Return the ids of the candidates whose documents are wanted."""
        found = {each.id for ranking in candidates.values() for each in ranking}
        return found if self.choose is None else found.intersection(self.choose(candidates))


def missing_scores(query: SearchQuery, candidates: Candidates) -> dict[SearchClause, list[Candidate]]:
    """Return the candidates by words whose scores the clauses by meaning lack, by clause.

    A ranking that is not full has all documents that have a vector of its view.
    """
    by_words = {
        each.id: each for clause, ranking in candidates.items() if clause.signal is Signal.WORDS for each in ranking
    }
    missing = {}
    for clause, ranking in candidates.items():
        if clause.signal is Signal.MEANING and len(ranking) >= query.candidates:
            known = {each.id for each in ranking}
            missing[clause] = [each for id_, each in by_words.items() if id_ not in known]
    return {clause: lacking for clause, lacking in missing.items() if lacking}


def with_added(
    ranking: Sequence[Candidate], scored: Mapping[str, float], lacking: Sequence[Candidate]
) -> Sequence[Candidate]:
    """Return a ranking with the candidates that it lacks, as far as they have a score of its clause."""
    added = [replace(each, score=scored[each.id], is_added=True) for each in lacking if each.id in scored]
    return [*ranking, *sorted(added, key=lambda each: (-each.score, each.id))]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found."""

    candidates: Candidates
    documents: Mapping[str, IndexDocument]
    """The wanted documents of the candidates, by id. Views have no vectors here."""

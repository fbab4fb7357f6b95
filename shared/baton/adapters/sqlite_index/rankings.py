"""The rankings of one search in an open file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from baton.adapters.sqlite_index.conditions import make_filter_condition
from baton.adapters.sqlite_index.owner_file import OwnerFile
from baton.adapters.sqlite_index.stored_forms import to_vector_blob
from baton.adapters.sqlite_index.words import make_match_expression
from baton.domain.documents.search import (
    Candidate,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Signal,
    add_scored,
    find_unscored,
)
from baton.domain.tenants.identity import Scope

# Vectors of another length come from an earlier embedding model, so they are not compared. Zeros have no cosine.
_COSINE = "coalesce(1 - vec_distance_cosine(vec_int8(vector), vec_int8(?)), 0.0)"
_COMPARABLE = "length(vector) = ?"

Ranking = Sequence[tuple[int, float]]


def search_file(file: OwnerFile, scope: Scope, query: SearchQuery) -> SearchResult:
    """Return the candidates of each clause, and their documents. All vectors are compared, which is exact."""
    rankings = _Rankings(file, scope, query)
    ranked = {clause: rankings.rank(clause) for clause in dict.fromkeys(query.clauses)}
    names = file.read_names(list({number for ranking in ranked.values() for number, _ in ranking}))
    candidates: dict[SearchClause, Sequence[Candidate]] = {
        clause: [Candidate(names[number].id, score, names[number].source_id) for number, score in ranking]
        for clause, ranking in ranked.items()
    }
    numbers = {name.id: number for number, name in names.items()}
    for clause, unscored in find_unscored(query, candidates).items():
        similarities = dict(rankings.compute_similarities(clause, [numbers[candidate.id] for candidate in unscored]))
        scores = {id_: similarities[number] for id_, number in numbers.items() if number in similarities}
        candidates[clause] = add_scored(candidates[clause], scores, unscored)
    ids = query.select_ids(candidates)
    documents = file.read_documents([number for id_, number in numbers.items() if id_ in ids])
    return SearchResult(candidates, {document.id: document for document in documents.values()})


class _Rankings:
    """The rankings of one query in a file. Documents have the numbers of their rows."""

    def __init__(self, file: OwnerFile, scope: Scope, query: SearchQuery) -> None:
        self._file = file
        self._query = query
        self._views = file.read_views()
        self._match = make_match_expression(query.text)
        self._vector = to_vector_blob(query.vector) if query.vector is not None else None
        is_filtered = query.filter != SearchFilter() or file.has_permissions()
        condition, self._values = make_filter_condition(query.filter, scope.permissions) if is_filtered else ("", [])
        self._chosen = f"IN (SELECT number FROM documents WHERE {condition})" if is_filtered else "IS NOT NULL"
        """The SQL condition that a document's number must meet."""

    def rank(self, clause: SearchClause) -> Ranking:
        """Return the numbers and scores of the best documents of a clause, best first."""
        view = self._views.get(clause.view)
        if view is None:
            return []
        return self._rank_by_words(view) if clause.signal is Signal.WORDS else self._rank_by_meaning(view)

    def compute_similarities(self, clause: SearchClause, numbers: Sequence[int]) -> Ranking:
        """Return the scores in a clause by meaning, for those documents that have a vector of the clause's view."""
        view = self._views.get(clause.view)
        if view is None or self._vector is None:
            return []
        return self._file.select_rows(
            f"SELECT number, {_COSINE} FROM vectors_{view}"
            f" WHERE {_COMPARABLE} AND number IN (SELECT value FROM json_each(?))",
            (self._vector, len(self._vector), json.dumps(numbers)),
        )

    def _rank_by_words(self, view: int) -> Ranking:
        if self._match is None:
            return []
        # The plus keeps SQLite from searching the full-text table once for each chosen document.
        return self._file.select_rows(
            f"SELECT rowid, -rank FROM words_{view} WHERE words_{view} MATCH ? AND +rowid {self._chosen}"
            " ORDER BY rank, rowid LIMIT ?",
            (self._match, *self._values, self._query.candidates),
        )

    def _rank_by_meaning(self, view: int) -> Ranking:
        if self._vector is None:
            return []
        return self._file.select_rows(
            f"SELECT number, {_COSINE} AS score FROM vectors_{view} WHERE {_COMPARABLE} AND number {self._chosen}"
            " ORDER BY score DESC, number LIMIT ?",
            (self._vector, len(self._vector), *self._values, self._query.candidates),
        )

"""The search of one clause in OpenSearch's query language, and its hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton.adapters.opensearch.documents import round_vector, to_search_text
from baton.adapters.opensearch.engine import check_is_complete, to_engine_error
from baton.domain.documents.search import SearchClause, SearchQuery, Signal
from baton.domain.documents.search_words import index_words, to_search_form
from baton.domain.errors import WrongDimension
from baton.domain.text import find_codes

QUERY_WORDS = 900
"""The number of a query's words that are searched. OpenSearch allows 1,024, including the words of phrases."""

Conditions = Sequence[dict[str, Any]]


def build_clause_search(
    clause: SearchClause, text: str, query: SearchQuery, conditions: Conditions, *, embedder: str | None, seconds: float
) -> dict[str, Any] | None:
    """Return the body of a clause's search; None if the clause can find nothing.

    ``seconds`` is the time limit of the search. Only vectors of the model ``embedder`` are compared; None compares all.
    """
    body: dict[str, Any] = {
        "size": query.candidates,
        "_source": False,
        "sort": [{"_score": "desc"}, {"id": "asc"}, {"source_id": "asc"}],
        "track_total_hits": False,
        "timeout": f"{int(seconds * 1000)}ms",
    }
    if clause.signal is Signal.WORDS:
        terms = _build_word_conditions(clause.view, text)
        matching = {"should": terms, "minimum_should_match": 1, "filter": [*conditions]}
        return {**body, "query": {"bool": matching}}
    if query.vector is None or not any(query.vector):
        return None
    same_model = [{"term": {"embedder": embedder}}] if embedder else []
    knn = {
        "vector": round_vector(query.vector),
        "k": query.candidates,
        "filter": {"bool": {"filter": [*conditions, *same_model]}},
    }
    return {**body, "query": {"knn": {f"views.{clause.view}.vector": knn}}}


def _build_word_conditions(view: str, text: str) -> list[dict[str, Any]]:
    """Return the conditions of a search by words, of which one must be true.

    They search ``words``, and ``text`` in versions of an earlier release, which lack ``words`` until they are rebuilt.
    """
    words = " ".join(list(dict.fromkeys(index_words(text)))[:QUERY_WORDS])
    codes = [to_search_text(code) for code in find_codes(to_search_form(text))]
    queries = ((f"views.{view}.words", words, codes), (f"views.{view}.text", text, find_codes(text)))
    return [
        condition
        for field, query, phrases in queries
        for condition in ({"match": {field: query}}, *({"match_phrase": {field: phrase}} for phrase in phrases))
    ]


def read_hits(response: dict[str, Any], clause: SearchClause) -> list[dict[str, Any]]:
    """Return the hits of a search; none if no document has ever had the view of a clause by meaning.

    Raises ``WrongDimension`` if the query's vector has another length than the stored ones, ``EngineError`` for other
    errors of OpenSearch, and ``SearchUnavailable`` if the search was incomplete.
    """
    if "error" in response:
        problem = to_engine_error(response.get("status"), response["error"])
        if clause.signal is Signal.MEANING and problem.engine_status == 400:
            if "is not knn_vector type" in problem.reason:  # because no document has had this view
                return []
            if "dimension" in problem.reason.lower():
                raise WrongDimension from problem
        raise problem
    check_is_complete(response)
    hits: list[dict[str, Any]] = response["hits"]["hits"]
    return hits


def convert_score(clause: SearchClause, score: float) -> float:
    """Return the score of a clause by words unchanged, or the cosine behind the score of a clause by meaning."""
    # OpenSearch returns (1 + cosine) / 2.
    return score if clause.signal is Signal.WORDS else 2 * score - 1

"""Rankings of several clauses become one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.documents.search import (
    Candidate,
    IndexDocument,
    SearchClause,
    SearchResult,
    Signal,
    compute_clause_weights,
    fuse,
    fuse_scores,
)

WORDS = SearchClause("turn", Signal.WORDS)
MEANING = SearchClause("turn", Signal.MEANING)
HALVES = {WORDS: 0.5, MEANING: 0.5}


def result(**rankings: dict[str, float]) -> SearchResult:
    """Candidates by ``words`` and ``meaning``."""
    clauses = {"words": WORDS, "meaning": MEANING}
    candidates = {
        clauses[name]: [
            Candidate(id_, score, "s") for id_, score in sorted(scores.items(), key=lambda entry: -entry[1])
        ]
        for name, scores in rankings.items()
    }
    ids = {id_ for scores in rankings.values() for id_ in scores}
    at = datetime(2026, 3, 14, tzinfo=UTC)
    return SearchResult(candidates, {id_: IndexDocument(id_, "s", "message", {}, at) for id_ in ids})


def scores(results: SearchResult, weights: dict[SearchClause, float] | None = None) -> dict[str, float]:
    return {item.document.id: item.score for item in fuse(results, weights or HALVES)}


def test_each_ranking_is_scaled_from_its_worst_to_its_best() -> None:
    match = result(words={"a": 12.0, "b": 7.0, "c": 2.0}, meaning={"b": 0.9, "c": 0.5, "d": 0.1})
    assert scores(match) == pytest.approx({"b": 0.75, "a": 0.5, "c": 0.25, "d": 0.0})
    assert list(scores(match)) == ["b", "a", "c", "d"]


def test_weights_decide_between_rankings() -> None:
    match = result(words={"a": 2.0, "b": 1.0}, meaning={"b": 0.9, "a": 0.1})
    assert next(iter(scores(match, {WORDS: 0.6, MEANING: 0.4}))) == "a"
    assert next(iter(scores(match, {WORDS: 0.4, MEANING: 0.6}))) == "b"


def test_a_ranking_that_found_nothing_does_not_count() -> None:
    assert scores(result(words={"a": 2.0, "b": 1.0}, meaning={})) == pytest.approx({"a": 1.0, "b": 0.0})


def test_candidates_of_equal_scores_are_all_the_best() -> None:
    assert scores(result(words={"b": 3.0, "a": 3.0})) == {"a": 1.0, "b": 1.0}
    assert list(scores(result(words={"b": 3.0, "a": 3.0}))) == ["a", "b"]


def test_a_word_that_every_document_has_does_not_decide() -> None:
    match = result(words={"a": 1.9e-6, "b": 1.6e-6, "c": 1.8e-6}, meaning={"b": 0.67, "a": 0.52, "c": 0.47})
    assert list(scores(match)) == ["b", "a", "c"]


def test_similarities_that_hardly_differ_count_less_than_words_that_do() -> None:
    alike = {f"other-{n}": 0.78 - n / 1000 for n in range(80)}
    match = result(words={"code": 5.0, **dict.fromkeys(alike, 0.01)}, meaning=alike | {"code": 0.70})
    assert fuse(match, {WORDS: 0.4, MEANING: 0.6}, 0.25)[0].document.id == "code"


def test_similarities_that_differ_are_spread_over_the_whole_scale() -> None:
    match = result(words={}, meaning={"a": 0.6, "b": 0.4, "c": 0.1})
    assert scores(match) == pytest.approx({"a": 1.0, "b": 0.6, "c": 0.0})


def test_a_smaller_difference_than_the_least_spread_leaves_the_worst_above_0() -> None:
    match = result(words={}, meaning={"a": 0.75, "b": 0.70})
    assert fuse_scores(match.candidates, HALVES, 0.25) == pytest.approx({"a": 1.0, "b": 0.8})


def add_candidate(item: SearchResult, id_: str, score: float) -> SearchResult:
    """The result with a candidate that only words have found."""
    meaning = [*item.candidates[MEANING], Candidate(id_, score, "s", is_added=True)]
    return SearchResult({**item.candidates, MEANING: meaning}, item.documents)


def test_an_added_candidate_is_scaled_like_the_others_and_does_not_change_the_scale() -> None:
    match = result(words={"code": 5.0, "b": 1.0}, meaning={"a": 0.75, "b": 0.71})
    [first, *_] = fuse(add_candidate(match, "code", 0.70), HALVES)
    assert (first.document.id, first.score) == ("code", pytest.approx(0.75))
    assert first.added == {"turn.meaning"}
    far = add_candidate(result(words={"code": 5.0, "b": 1.0}, meaning={"a": 0.9, "b": 0.3}), "code", -0.9)
    assert scores(far) == pytest.approx({"a": 0.5, "code": 0.5, "b": 0.0})


def test_raw_scores_are_kept_by_view_and_signal() -> None:
    [first, _] = fuse(result(words={"a": 12.0}, meaning={"a": 0.9, "b": -0.2}), HALVES)
    assert first.signals == {"turn.words": 12.0, "turn.meaning": 0.9}


def test_nothing_found_is_nothing_ranked() -> None:
    assert fuse(result(words={}, meaning={}), HALVES) == []
    assert fuse(SearchResult({}, {}), HALVES) == []


def test_views_have_a_clause_for_each_signal() -> None:
    assert compute_clause_weights({"turn": 1.0, "pair": 0.5, "off": 0.0}) == {
        SearchClause("turn", Signal.WORDS): 0.5,
        SearchClause("turn", Signal.MEANING): 0.5,
        SearchClause("pair", Signal.WORDS): 0.25,
        SearchClause("pair", Signal.MEANING): 0.25,
    }


RANKINGS = st.dictionaries(st.sampled_from("abcdef"), st.floats(-1e6, 1e6), max_size=6)


@given(words=RANKINGS, meaning=RANKINGS, share=st.floats(0.01, 0.99))
def test_scores_are_from_0_to_1_and_everything_found_is_ranked(
    words: dict[str, float], meaning: dict[str, float], share: float
) -> None:
    match = result(words=words, meaning=meaning)
    ranked = scores(match, {WORDS: share, MEANING: 1 - share})
    assert ranked.keys() == words.keys() | meaning.keys()
    assert all(0.0 <= score <= 1.0 for score in ranked.values())
    assert list(ranked.values()) == sorted(ranked.values(), reverse=True)

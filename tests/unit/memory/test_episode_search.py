"""Episodes are found by what was said in them, and ranked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from baton.adapters.switched_off import NoEmbedder
from baton.composition.app import build
from baton.domain.documents.search import Candidate, SearchClause, Signal, compute_clause_weights
from baton.domain.errors import EmbedderUnavailable, SearchUnavailable
from baton.domain.tenants.identity import Scope
from baton.memory.episodes.episode_search import (
    MAX_MATCHES,
    USUAL_WEIGHTS,
    EpisodeSearch,
    rank_episodes,
    score_messages,
)
from baton.ports.documents.search import Embedder
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.fakes.ports import FakePorts
from tests.unit.memory.episodes import ADA, MARCH, episode, fact, store

BIKE = ["My bicycle is green", "Nice colour", "I bought it in Ghent", "A fine town for cycling"]
BOAT = ["The boat needs paint", "Which paint", "Blue paint for the boat", "Good choice"]


BY_WORDS = {"turn.words", "pair.words", "window.words"}


@pytest.fixture
def index() -> FakeSearchIndex:
    return FakeSearchIndex()


def make_search(index: FakeSearchIndex, embedder: Embedder) -> EpisodeSearch:
    """Return the search of a deployment with this index and this model."""
    return build(FakePorts(search=index, embedder=embedder)).memory.episode_search


@pytest.fixture
def search(index: FakeSearchIndex) -> EpisodeSearch:
    return make_search(index, FakeEmbedder())


async def test_an_episode_is_found_with_its_dates_and_its_messages(
    index: FakeSearchIndex, search: EpisodeSearch
) -> None:
    bike = episode("bike")
    await store(index, bike, BIKE)
    await store(index, episode("boat"), BOAT)
    best, *_ = await search.search(ADA, "what colour was the green bicycle", limit=5)
    assert (best.episode_id, best.thread_id) == (bike.ref.id, bike.ref.thread_id)
    assert (best.started_at, best.ended_at) == (MARCH, MARCH + timedelta(hours=1))
    first = best.matches[0]
    assert (first.message_id, first.ordinal, first.text, first.timestamp) == ("m0", 0, "My bicycle is green", MARCH)
    assert 0 < first.score <= 1
    assert 0 < best.score <= 1
    assert {"turn.words", "turn.meaning", "pair.words", "window.meaning"} <= best.signals.keys()


async def test_matches_are_ordered_by_scores_that_are_comparable_between_episodes(
    index: FakeSearchIndex, search: EpisodeSearch
) -> None:
    for name, texts in (("bike", BIKE), ("boat", BOAT)):
        await store(index, episode(name), texts)
    points = await search.search(ADA, "blue paint", limit=5)
    for point in points:
        scores = [match.score for match in point.matches]
        assert scores == sorted(scores, reverse=True)
    assert [point.score for point in points] == sorted((point.score for point in points), reverse=True)


async def test_a_session_that_talks_about_it_more_than_once_ranks_higher(
    index: FakeSearchIndex, search: EpisodeSearch
) -> None:
    await store(index, episode("once"), ["paint", "yes", "milk", "bread", "eggs", "tea", "salt", "rice", "nuts"])
    often = episode("often")
    await store(index, often, ["paint", "yes", "milk", "bread", "paint", "tea", "salt", "rice", "paint"])
    first, second = await search.search(ADA, "paint", limit=2)
    assert first.episode_id == often.ref.id
    assert first.score > second.score


def test_a_session_is_found_by_the_words_of_one_message_and_the_meaning_of_another() -> None:
    words, meaning = SearchClause("turn", Signal.WORDS), SearchClause("turn", Signal.MEANING)
    candidates = {
        words: [Candidate("named", 9.0, "both"), Candidate("half", 6.0, "one"), Candidate("other", 0.0, "none")],
        meaning: [Candidate("meant", 0.9, "both"), Candidate("half", 0.6, "one"), Candidate("other", 0.0, "none")],
    }
    result = score_messages(candidates, compute_clause_weights({"turn": 1.0}), USUAL_WEIGHTS)
    assert result.sessions["both"] > result.sessions["one"] > result.sessions["none"] == 0
    assert max(result.messages, key=lambda id_: result.messages[id_]) == "half"


async def test_a_long_session_that_matches_throughout_hides_no_other(
    index: FakeSearchIndex, search: EpisodeSearch
) -> None:
    painter, boat = episode("painter"), episode("boat")
    await store(index, painter, [f"paint {number}" for number in range(USUAL_WEIGHTS.messages_shown + 10)])
    await store(index, boat, ["Once there was a long tale about an old boat that wanted some paint"])
    results = await search.search(ADA, "paint", limit=5)
    assert {item.episode_id for item in results} == {painter.ref.id, boat.ref.id}


async def test_one_request_answers_a_search(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    await store(index, episode(), BIKE)
    await search.search(ADA, "bicycle", limit=5)
    [(_, _, query)] = index.searches
    assert query.candidates >= 100
    assert {clause.view for clause in query.clauses} == {"turn", "pair", "window", "digest"}


async def test_times_limit_what_is_found(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    for day in range(3):
        await store(index, episode(f"day {day}", MARCH + timedelta(days=day)), BIKE)
    results = await search.search(
        ADA, "bicycle", limit=5, since=MARCH + timedelta(days=1), until=MARCH + timedelta(days=2)
    )
    assert [item.started_at for item in results] == [MARCH + timedelta(days=1)]


async def test_at_most_the_limit_is_found(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    for number in range(5):
        await store(index, episode(f"{number}"), ["bicycle"] * 50)
    for limit in (0, 1, 3, 10):
        results = await search.search(ADA, "bicycle", limit=limit)
        assert len(results) == min(limit, 5)
        assert all(len(item.matches) <= MAX_MATCHES for item in results)


async def test_a_fact_lifts_its_episode_and_is_shown(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    await store(index, episode("boat"), BOAT)
    with_fact = episode("bike")
    await store(
        index,
        with_fact,
        ["We talked", "about things"],
        summary="Ada talked about her velocipede",
        facts=[fact("f1", "The velocipede of Ada is green", date(2026, 3, 1)), fact("f2", "Ada likes tea")],
    )
    best, *_ = await search.search(ADA, "velocipede green", limit=5)
    assert best.episode_id == with_fact.ref.id
    assert best.summary == "Ada talked about her velocipede"
    assert (best.facts[0].id, best.facts[0].text, best.facts[0].on) == (
        "f1",
        "The velocipede of Ada is green",
        date(2026, 3, 1),
    )


async def test_a_superseded_fact_ranks_below_the_one_that_superseded_it_and_is_marked(
    index: FakeSearchIndex, search: EpisodeSearch
) -> None:
    new = fact("new", "Since April the place where Ada works is somewhere in Ghent")
    old = fact("old", "Ada works in Bruges", superseded_by=new)
    await store(index, episode("old"), ["hello"], facts=[old])
    await store(index, episode("new"), ["hello"], facts=[new])
    await store(index, episode("other"), ["hello"], facts=[fact("other", "The cat is black")])
    results = await search.search(ADA, "Ada works in", limit=5)
    facts = sorted((item for of in results for item in of.facts), key=lambda entry: -entry.score)
    assert [item.id for item in facts if item.id != "other"] == ["new", "old"]
    superseded = next(item for item in facts if item.id == "old")
    assert (superseded.superseded_by, superseded.superseded_at) == ("new", MARCH + timedelta(days=3))
    assert results[0].facts[0].id == "new"


@pytest.mark.parametrize("text", ["", "  ", "\n"])
async def test_an_empty_query_finds_nothing(index: FakeSearchIndex, search: EpisodeSearch, text: str) -> None:
    await store(index, episode(), BIKE)
    assert (await search.search(ADA, text, limit=5)) == []
    assert index.searches == []


@pytest.mark.parametrize("embedder", [FakeEmbedder(failure=EmbedderUnavailable()), NoEmbedder()])
async def test_without_an_embedding_words_decide_alone(
    index: FakeSearchIndex, embedder: FakeEmbedder | NoEmbedder
) -> None:
    await store(index, episode(), BIKE)
    results = await make_search(index, embedder).search(ADA, "bicycle", limit=5)
    assert results[0].signals.keys() == BY_WORDS
    assert results[0].matches[0].text == "My bicycle is green"


async def test_an_embedding_that_takes_too_long_is_given_up(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    await store(index, episode(), BIKE)
    hasty = replace(search, embedder=FakeEmbedder(seconds=60), embedding_seconds=0.01)
    results = await hasty.search(ADA, "bicycle", limit=5)
    assert results[0].signals.keys() == BY_WORDS
    assert results[0].matches[0].text == "My bicycle is green"


async def test_an_index_of_another_embedding_model_is_searched_by_words(index: FakeSearchIndex) -> None:
    await store(index, episode(), BIKE)
    results = await make_search(index, FakeEmbedder(dimensions=32)).search(ADA, "bicycle", limit=5)
    [best] = results
    assert best.signals.keys() == BY_WORDS


async def test_what_is_searched_for_is_embedded_as_a_query(index: FakeSearchIndex) -> None:
    embedder = FakeEmbedder()
    await make_search(index, embedder).search(ADA, "bicycle", limit=5)
    assert embedder.queries == ["bicycle"]


async def test_an_embedding_that_is_known_is_not_made_again(index: FakeSearchIndex) -> None:
    await store(index, episode(), BIKE)
    embedder = FakeEmbedder()
    vector = embedder.vector("bicycle")
    [best] = await make_search(index, embedder).search(ADA, "bicycle", limit=5, vector=vector)
    assert "turn.meaning" in best.signals
    assert embedder.embedded == []


async def test_a_search_that_fails_is_reported(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    index.failure = SearchUnavailable()
    with pytest.raises(SearchUnavailable):
        await search.search(ADA, "bicycle", limit=5)


async def test_nobody_finds_anothers_episodes(index: FakeSearchIndex, search: EpisodeSearch) -> None:
    await store(index, episode(), BIKE)
    for stranger in (Scope("acme", "bob"), Scope("other", "ada")):
        assert (await search.search(stranger, "bicycle", limit=5)) == []


@pytest.mark.parametrize("question", ["What did I do in June?", "What did I do on Sunday?"])
async def test_a_question_that_names_a_month_or_a_weekday_finds_what_was_said_then(question: str) -> None:
    index = FakeSearchIndex()
    await store(index, episode("march"), ["I went swimming"])
    june = episode("june", datetime(2026, 6, 14, 9, 30, tzinfo=UTC))
    await store(index, june, ["I went swimming"])
    ranking = await rank_episodes(index, ADA, question, None)
    first, second = ranking.messages
    assert first.document.source_id == june.ref.id
    assert first.score > second.score

"""Search indices: what every engine does alike.

A test class inherits ``SearchContract`` and has a fixture ``index``: a ``SearchIndex`` for vectors of
``baton_testing.fakes.documents.embedder.DIMENSIONS``. Tests make separate tenants, so that they can share an engine.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.adapters.opensearch import index as opensearch_index
from baton.adapters.sqlite_index import index as sqlite_index
from baton.domain.documents.search import (
    Candidates,
    IndexDocument,
    IndexedText,
    IndexName,
    SearchClause,
    SearchFilter,
    SearchQuery,
    SearchResult,
    Signal,
)
from baton.domain.errors import WrongDimension
from baton.domain.tenants.identity import Scope
from baton.ports.documents.search import SearchIndex
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.languages import LANGUAGES
from tests.examples import examples

EPISODES, KNOWLEDGE, PROCEDURES = IndexName.EPISODES, IndexName.KNOWLEDGE, IndexName.PROCEDURES
MARCH = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
WORDS = SearchClause("turn", Signal.WORDS)
MEANING = SearchClause("turn", Signal.MEANING)
EMBEDDER = FakeEmbedder()
EVERYTHING = SearchFilter()


def new_scope(user: str = "ada", *permissions: str) -> Scope:
    """Return a user of a new tenant."""
    return Scope(f"t{uuid.uuid4().hex[:16]}", user, frozenset(permissions))


def document(id_: str, text: str, **overrides: Any) -> IndexDocument:
    """Return a document with a vector and one view, ``turn``, unless ``given`` says otherwise."""
    return IndexDocument(
        **{
            "id": id_,
            "source_id": f"source-of-{id_}",
            "kind": "message",
            "views": {"turn": make_indexed_text(text)},
            "at": MARCH,
            "embedder": EMBEDDER.name,
        }
        | overrides
    )


def make_indexed_text(text: str) -> IndexedText:
    """Return a text with its vector."""
    return IndexedText(text, EMBEDDER.vector(text))


def in_views(text: str) -> dict[str, IndexedText]:
    """Return two views of one text."""
    return {"turn": make_indexed_text(text), "pair": make_indexed_text(f"{text} again")}


def query(text: str, *clauses: SearchClause, candidates: int = 100, **chosen: Any) -> SearchQuery:
    """Return a search by words and meaning of the view ``turn``, unless clauses are given."""
    return SearchQuery(text, EMBEDDER.vector(text), clauses or (WORDS, MEANING), SearchFilter(**chosen), candidates)


def ids(result: SearchResult, clause: SearchClause = WORDS) -> list[str]:
    """Return the ids that a clause found, best first."""
    return [candidate.id for candidate in result.candidates[clause]]


def collect_ids(result: SearchResult) -> set[str]:
    """Return the ids that any clause found."""
    return {candidate.id for candidates in result.candidates.values() for candidate in candidates}


async def list_ids(index: SearchIndex, scope: Scope, name: IndexName, chosen: SearchFilter = EVERYTHING) -> list[str]:
    """Return the ids of the chosen documents, in their order."""
    return [item.id async for item in index.list(scope, name, chosen)]


async def count_of_tenant(index: SearchIndex, scope: Scope) -> int:
    """The number of all documents of a tenant, part by part."""
    count, position = await index.count_of_tenant(scope, None)
    while position is not None:
        number, position = await index.count_of_tenant(scope, position)
        count += number
    return count


async def sweep_tenant(index: SearchIndex, scope: Scope) -> int:
    """Delete all documents of a tenant, part by part. Returns their number."""
    count, is_empty = await index.sweep_tenant(scope)
    while not is_empty:
        number, is_empty = await index.sweep_tenant(scope)
        count += number
    return count


class SearchContract:
    """The contract of every search index."""

    async def test_a_document_is_found_by_a_word_and_by_its_meaning(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "My bicycle is green"), document("b", "The train was late")])
        result = await index.search(ada, EPISODES, query("what colour is the bicycle"))
        assert ids(result)[0] == "a"
        assert ids(result, MEANING)[0] == "a"

    async def test_an_agent_without_documents_uses_no_room(self, index: SearchIndex) -> None:
        assert await index.fill_percent(new_scope(), "cook") is None

    async def test_a_word_that_no_document_has_finds_nothing_by_words(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "My bicycle is green")])
        result = await index.search(ada, EPISODES, query("zeppelin"))
        assert ids(result) == []
        assert ids(result, MEANING) == ["a"]

    async def test_words_of_another_form_are_found(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "She was riding BICYCLES in Zürich")])
        if not self.stems:
            pytest.skip("this index compares whole words")
        assert ids(await index.search(ada, EPISODES, query("bicycle ride"))) == ["a"]

    stems = True
    """Whether words are found in other forms."""

    async def test_the_better_match_comes_first_and_scores_higher(self, index: SearchIndex) -> None:
        ada = new_scope()
        texts = {
            "a": "The boat needs new green paint",
            "b": "green paint",
            "c": "A boat is a boat",
            "d": "Nothing here",
        }
        await index.put(ada, EPISODES, [document(name, text) for name, text in texts.items()])
        result = await index.search(ada, EPISODES, query("green paint"))
        for clause in (WORDS, MEANING):
            assert ids(result, clause)[:2] == ["b", "a"]
            scores = [candidate.score for candidate in result.candidates[clause]]
            assert scores == sorted(scores, reverse=True)
            assert scores[0] > scores[1]

    async def test_the_score_by_meaning_is_the_cosine(self, index: SearchIndex) -> None:
        ada = new_scope()
        one, minus = EMBEDDER.vector("paint"), [-location for location in EMBEDDER.vector("paint")]
        await index.put(
            ada,
            EPISODES,
            [
                document("same", "", views={"turn": IndexedText("paint", one)}),
                document("opposite", "", views={"turn": IndexedText("paint", minus)}),
            ],
        )
        result = await index.search(ada, EPISODES, query("paint", MEANING))
        scores = {candidate.id: candidate.score for candidate in result.candidates[MEANING]}
        assert scores == pytest.approx({"same": 1.0, "opposite": -1.0}, abs=self.precision)

    precision = 1e-3
    """The largest difference between a cosine and the exact one."""

    async def test_each_view_is_a_ranking_of_its_own(self, index: SearchIndex) -> None:
        ada = new_scope()
        window = SearchClause("window", Signal.WORDS)
        window_meaning = SearchClause("window", Signal.MEANING)
        await index.put(
            ada,
            EPISODES,
            [
                document(
                    "a", "", views={"turn": make_indexed_text("green"), "window": make_indexed_text("red and blue")}
                ),
                document("b", "", views={"window": make_indexed_text("green and red")}),
                document("c", "", views={"turn": make_indexed_text("red")}),
            ],
        )
        clauses = (WORDS, MEANING, window, window_meaning)
        result = await index.search(ada, EPISODES, query("green", *clauses))
        assert set(result.candidates) == set(clauses)
        assert (ids(result, WORDS), ids(result, window)) == (["a"], ["b"])
        assert sorted(ids(result, MEANING)) == ["a", "c"]
        assert sorted(ids(result, window_meaning)) == ["a", "b"]

    async def test_what_was_never_indexed_finds_nothing(self, index: SearchIndex) -> None:
        ada = new_scope()
        clause = SearchClause("unheard_of", Signal.WORDS)
        meaning = SearchClause("unheard_of", Signal.MEANING)
        result = await index.search(ada, PROCEDURES, query("anything", clause, meaning))
        assert result == SearchResult({clause: [], meaning: []}, {}) or collect_ids(result) == set()
        await index.put(ada, PROCEDURES, [document("a", "anything")])
        assert collect_ids(await index.search(ada, PROCEDURES, query("anything", clause, meaning))) == set()

    async def test_a_query_without_a_vector_is_answered_by_words(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "green paint")])
        result = await index.search(ada, EPISODES, replace(query("paint"), vector=None))
        assert (ids(result), ids(result, MEANING)) == (["a"], [])

    async def test_a_document_without_a_vector_is_found_by_words(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(
            ada,
            EPISODES,
            [document("a", "", views={"turn": IndexedText("green paint")}, embedder=None), document("b", "red paint")],
        )
        result = await index.search(ada, EPISODES, query("green paint"))
        assert (ids(result)[0], ids(result, MEANING)) == ("a", ["b"])

    async def test_a_result_has_the_documents_it_names_whole_but_for_vectors(self, index: SearchIndex) -> None:
        ada = new_scope("ada", "notes:read")
        options = document(
            "a/1#ü",
            "",
            source_id="episode-7",
            kind="fact",
            views={
                "turn": make_indexed_text("green paint"),
                "window": make_indexed_text("2026-03-14: green paint, 🎨"),
            },
            at=MARCH + timedelta(milliseconds=123),
            agent_id="assistant",
            thread_id="thread-1",
            required_permission="notes:read",
            fields={"text": "Grün 🎨", "ordinal": 7, "nested": {"list": [1, None, 2.5, True]}},
        )
        await index.put(ada, EPISODES, [options, document("b", "else")])
        result = await index.search(ada, EPISODES, query("green", WORDS))
        whole = replace(options, views={name: IndexedText(view.text) for name, view in options.views.items()})
        assert result.documents == {"a/1#ü": whole}
        assert [item async for item in index.list(ada, EPISODES, SearchFilter(kinds=("fact",)))] == [whole]

    async def test_only_the_documents_that_a_query_chooses_come_with_it(self, index: SearchIndex) -> None:
        ada = new_scope()
        texts = [document(id_, f"{id_} paint", source_id=f"episode-{id_}") for id_ in ("a", "b", "c")]
        await index.put(ada, EPISODES, texts)
        seen: list[Candidates] = []

        def choose(candidates: Candidates) -> set[str]:
            seen.append(candidates)
            return {"b", "not a candidate"}

        result = await index.search(ada, EPISODES, replace(query("paint"), choose=choose))
        assert set(result.documents) == {"b"}
        assert seen == [result.candidates]
        for clause in (WORDS, MEANING):
            assert {candidate.id: candidate.source_id for candidate in result.candidates[clause]} == {
                id_: f"episode-{id_}" for id_ in ("a", "b", "c")
            }

    async def test_writing_twice_changes_nothing(self, index: SearchIndex) -> None:
        ada = new_scope()
        texts = [document("a", "green paint"), document("b", "red paint")]
        await index.put(ada, EPISODES, texts)
        once = await index.search(ada, EPISODES, query("green paint"))
        for _ in range(3):
            await index.put(ada, EPISODES, texts)
        again = await index.search(ada, EPISODES, query("green paint"))
        assert await index.count(ada, EPISODES, EVERYTHING) == 2
        assert again.documents == once.documents
        for clause in (WORDS, MEANING):
            assert ids(again, clause) == ids(once, clause)

    async def test_a_document_replaces_the_one_with_its_id(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(
            ada,
            EPISODES,
            [document("a", "", views={"turn": make_indexed_text("green"), "pair": make_indexed_text("green")})],
        )
        await index.put(ada, EPISODES, [document("a", "red", kind="fact"), document("a", "blue", kind="fact")])
        pair = SearchClause("pair", Signal.WORDS)
        assert ids(await index.search(ada, EPISODES, query("green red", WORDS, pair))) == []
        assert ids(await index.search(ada, EPISODES, query("green red", pair)), pair) == []
        result = await index.search(ada, EPISODES, query("blue"))
        assert (ids(result), ids(result, MEANING)) == (["a"], ["a"])
        assert await index.count(ada, EPISODES, EVERYTHING) == 1
        assert await list_ids(index, ada, EPISODES, SearchFilter(kinds=("message",))) == []

    async def test_ids_belong_to_their_owner(self, index: SearchIndex) -> None:
        ada, stranger = new_scope(), new_scope()
        bob = replace(ada, user_id="bob")
        for scope, text in ((ada, "green"), (bob, "red"), (stranger, "blue")):
            await index.put(scope, EPISODES, [document("same", text)])
        for scope, text in ((ada, "green"), (bob, "red"), (stranger, "blue")):
            result = await index.search(scope, EPISODES, query("green red blue"))
            assert [document.views["turn"].text for document in result.documents.values()] == [text]
        assert await index.delete(bob, EPISODES, EVERYTHING) == 1
        assert [await index.count(scope, EPISODES, EVERYTHING) for scope in (ada, bob, stranger)] == [1, 0, 1]

    @pytest.mark.parametrize("name", [KNOWLEDGE, PROCEDURES])
    async def test_other_indices_belong_to_the_tenant(self, index: SearchIndex, name: IndexName) -> None:
        ada, stranger = new_scope(), new_scope()
        bob = replace(ada, user_id="bob")
        await index.put(ada, name, [document("a", "green paint", agent_id="painter")])
        assert collect_ids(await index.search(bob, name, query("paint"))) == {"a"}
        assert collect_ids(await index.search(bob, name, query("paint", agent_id="painter"))) == {"a"}
        assert collect_ids(await index.search(bob, name, query("paint", agent_id="cook"))) == set()
        assert collect_ids(await index.search(stranger, name, query("paint"))) == set()
        assert await index.count(ada, EPISODES, EVERYTHING) == 0

    async def test_odd_user_ids_are_kept_apart(self, index: SearchIndex) -> None:
        tenant = new_scope().tenant_id
        users = ["a", "A", "a/b", "a%2Fb", "../a", "a b", "ä", "a'; --", "*", "a:b", "~", "a" * 256]
        scopes = [Scope(tenant, user) for user in users]
        for number, scope in enumerate(scopes):
            await index.put(scope, EPISODES, [document(f"d{number}", "green paint")])
        for number, scope in enumerate(scopes):
            assert collect_ids(await index.search(scope, EPISODES, query("green paint"))) == {f"d{number}"}
            assert await list_ids(index, scope, EPISODES) == [f"d{number}"]

    async def test_a_document_with_a_permission_is_found_only_by_who_has_it(self, index: SearchIndex) -> None:
        ada = new_scope()
        reader = replace(ada, permissions=frozenset({"notes:read", "other"}))
        await index.put(
            ada,
            KNOWLEDGE,
            [document("open", "green paint"), document("closed", "green paint", required_permission="notes:read")],
        )
        assert collect_ids(await index.search(ada, KNOWLEDGE, query("green"))) == {"open"}
        assert collect_ids(await index.search(reader, KNOWLEDGE, query("green"))) == {"open", "closed"}
        assert collect_ids(
            await index.search(replace(ada, permissions=frozenset({"notes"})), KNOWLEDGE, query("green"))
        ) == {"open"}

    async def test_listing_counting_and_deleting_need_no_permission(self, index: SearchIndex) -> None:
        ada = new_scope()
        closed = document("closed", "green", required_permission="notes:read")
        await index.put(ada, EPISODES, [document("open", "green"), closed])
        assert await list_ids(index, ada, EPISODES) == ["closed", "open"]
        assert await index.count(ada, EPISODES, EVERYTHING) == 2
        assert await index.delete(ada, EPISODES, EVERYTHING) == 2

    async def test_what_a_reader_may_not_see_takes_no_place_among_the_candidates(self, index: SearchIndex) -> None:
        ada = new_scope()
        closed = [document(f"c{n}", "green paint", required_permission="notes:read") for n in range(20)]
        await index.put(ada, KNOWLEDGE, [*closed, document("open", "some green paint for the old boat")])
        result = await index.search(ada, KNOWLEDGE, query("green paint", candidates=5))
        assert (ids(result), ids(result, MEANING)) == (["open"], ["open"])

    async def test_a_filter_holds_in_every_method(self, index: SearchIndex) -> None:
        ada = new_scope()
        documents = [
            document(
                f"{agent}-{thread}-{kind}-{day}",
                "green paint",
                source_id=f"{thread}-{day}",
                agent_id=agent,
                thread_id=thread,
                kind=kind,
                at=MARCH + timedelta(days=day),
            )
            for agent in ("x", "y")
            for thread in ("t1", "t2")
            for kind in ("message", "fact", "summary")
            for day in (0, 1, 2)
        ]
        await index.put(ada, EPISODES, documents)
        day = [MARCH + timedelta(days=number) for number in range(4)]
        for chosen in (
            EVERYTHING,
            SearchFilter(agent_id="x"),
            SearchFilter(thread_id="t2"),
            SearchFilter(source_id="t1-2"),
            SearchFilter(kinds=("fact", "summary")),
            SearchFilter(since=day[1]),
            SearchFilter(until=day[1]),
            SearchFilter(since=day[1], until=day[2]),
            SearchFilter(since=day[2], until=day[1]),
            SearchFilter("y", "t1", "t1-0", ("message",), day[0], day[1]),
            SearchFilter(agent_id="z"),
        ):
            expected = sorted(document.id for document in documents if matches(document, chosen))
            result = await index.search(ada, EPISODES, replace(query("green"), filter=chosen))
            assert sorted(ids(result)) == expected
            assert sorted(ids(result, MEANING)) == expected
            assert await list_ids(index, ada, EPISODES, chosen) == expected
            assert await index.count(ada, EPISODES, chosen) == len(expected)
        gone = SearchFilter(thread_id="t1", kinds=("fact",))
        assert await index.delete(ada, EPISODES, gone) == 6
        remaining = sorted(document.id for document in documents if not matches(document, gone))
        assert await list_ids(index, ada, EPISODES) == remaining
        result = await index.search(ada, EPISODES, query("green"))
        assert sorted(ids(result)) == remaining
        assert sorted(ids(result, MEANING)) == remaining

    async def test_deleting_again_deletes_nothing(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "green"), document("b", "red", source_id="other")])
        chosen = SearchFilter(source_id="other")
        assert [await index.delete(ada, EPISODES, chosen) for _ in range(2)] == [1, 0]
        assert await list_ids(index, ada, EPISODES) == ["a"]
        await index.put(ada, EPISODES, [document("b", "red again", source_id="other")])
        assert collect_ids(await index.search(ada, EPISODES, query("red"))) >= {"b"}

    async def test_all_documents_of_a_tenant_are_deleted_part_by_part_and_no_others(
        self, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite_index, "COUNTED_AT_ONCE", 2)
        monkeypatch.setattr(sqlite_index, "DELETED_AT_ONCE", 2)
        monkeypatch.setattr(opensearch_index, "DELETED_AT_ONCE", 2)
        ada = new_scope()
        bob, similar = Scope(ada.tenant_id, "bob"), Scope(f"{ada.tenant_id}2", "ada")
        for scope in (ada, bob, similar):
            await index.put(scope, EPISODES, [document("a", "green")])
        for scope in (ada, similar):
            await index.put(scope, KNOWLEDGE, [document("k", "green", agent_id="cook")])
            await index.put(scope, PROCEDURES, [document("p", "green")])
        number, others = await count_of_tenant(index, ada), await count_of_tenant(index, similar)
        assert number >= 4  # notes of a move to another engine count, too
        assert [await sweep_tenant(index, ada) for _ in range(2)] == [number, 0]
        assert await count_of_tenant(index, ada) == 0
        assert [await list_ids(index, scope, EPISODES) for scope in (ada, bob, similar)] == [[], [], ["a"]]
        assert await list_ids(index, ada, KNOWLEDGE, SearchFilter(agent_id="cook")) == []
        assert await count_of_tenant(index, similar) == others
        await index.put(ada, EPISODES, [document("a", "green")])
        assert await list_ids(index, ada, EPISODES) == ["a"]

    async def test_a_clause_returns_at_most_its_candidates(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document(f"d{n:03}", "green " * (1 + n % 7) + f"w{n}") for n in range(30)])
        for candidates in (1, 7, 100):
            result = await index.search(ada, EPISODES, query("green", candidates=candidates))
            assert len(ids(result)) == min(candidates, 30)
            nearest = [candidate for candidate in result.candidates[MEANING] if not candidate.is_added]
            assert len(nearest) == min(candidates, 30)
            assert set(result.documents) == collect_ids(result)

    async def test_what_only_words_have_found_has_its_similarity_behind_the_most_similar(
        self, index: SearchIndex
    ) -> None:
        ada, request = new_scope(), "green paint B137"
        pair = SearchClause("pair", Signal.MEANING)
        alike = [document(f"d{n:02}", f"green paint {n}", views=in_views(f"green paint {n}")) for n in range(30)]
        code = document("code", "", views=in_views("valves close, says B137"))
        bare = document("bare", "", views={"turn": IndexedText("B137 B137 B137")}, embedder=None)
        one_view = document("one", "", views={"turn": make_indexed_text("B137 on a list")})
        await index.put(ada, EPISODES, [*alike, code, bare, one_view])
        result = await index.search(ada, EPISODES, query(request, WORDS, MEANING, pair, candidates=5))
        assert {"code", "bare", "one"} <= set(ids(result))
        expected = EMBEDDER.vector(request)
        for clause, added in ((MEANING, {"code", "one"}), (pair, {"code"})):
            ranking = result.candidates[clause]
            assert [item.is_added for item in ranking] == [False] * 5 + [True] * (len(ranking) - 5)
            assert added <= {item.id for item in ranking[5:]} <= set(ids(result))
            scores = [item.score for item in ranking[5:]]
            assert scores == sorted(scores, reverse=True)
            for item in ranking[5:]:
                text = result.documents[item.id].views[clause.view].text
                cosine = sum(a * b for a, b in zip(expected, EMBEDDER.vector(text), strict=True))
                assert item.score == pytest.approx(cosine, abs=self.precision)
                assert item.source_id == f"source-of-{item.id}"

    async def test_nothing_is_added_to_a_ranking_that_has_all_documents(self, index: SearchIndex) -> None:
        ada = new_scope()
        bare = document("bare", "", views={"turn": IndexedText("B137")}, embedder=None)
        await index.put(ada, EPISODES, [*(document(f"d{n}", f"green paint B{n}") for n in range(9)), bare])
        result = await index.search(ada, EPISODES, query("green paint B137 B3"))
        assert len(ids(result, MEANING)) == 9
        assert not any(candidate.is_added for candidate in result.candidates[MEANING])

    @pytest.mark.parametrize(
        "code", ["PN-173", "pn-173", "ISO 9001:2015", "v2.3.1", "1,250.75", "F-12/B", "2026-03-14"]
    )
    async def test_a_code_of_several_parts_is_more_than_its_parts(self, index: SearchIndex, code: str) -> None:
        ada = new_scope()
        parts = " and ".join(re.findall(r"\w+", code)[::-1])
        texts = {f"d{n}": f"Boat {n} has {parts} on its list" for n in range(8)}
        texts["code"] = f"Boat 9 has {code} on its list of old things"
        await index.put(ada, KNOWLEDGE, [document(name, text) for name, text in texts.items()])
        assert ids(await index.search(ada, KNOWLEDGE, query(f"What is {code}?")))[0] == "code"

    async def test_the_best_are_among_the_candidates(self, index: SearchIndex) -> None:
        ada = new_scope()
        texts = [f"word{n} filler{n % 5} more{n % 11}" for n in range(300)]
        await index.put(ada, EPISODES, [document(f"d{n:03}", text) for n, text in enumerate(texts)])
        for n in (0, 150, 299):
            result = await index.search(ada, EPISODES, query(texts[n], candidates=10))
            assert ids(result)[0] == f"d{n:03}"
            assert result.candidates[MEANING][0].score == pytest.approx(1.0, abs=self.precision)

    @pytest.mark.parametrize("length", [1, 63, 65, 1536])
    async def test_a_vector_of_another_length_is_refused(self, index: SearchIndex, length: int) -> None:
        ada = new_scope()
        wrong = document("b", "", views={"turn": IndexedText("red", (1.0,) + (0.0,) * (length - 1))})
        with pytest.raises(WrongDimension):
            await index.put(ada, EPISODES, [document("a", "green"), wrong])
        with pytest.raises(WrongDimension):
            await index.search(ada, EPISODES, replace(query("red"), vector=(1.0,) + (0.0,) * (length - 1)))
        assert "b" not in await list_ids(index, ada, EPISODES)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " \n\t ",
            '"',
            "'",
            '"green" AND',
            "green OR",
            "NOT green",
            "NEAR(green paint, 2)",
            "green*",
            "*",
            "^green",
            "turn:green",
            "text:green -paint +boat",
            "(((green",
            "green)",
            "{green} : paint",
            "a/b\\c [x TO y] ~2 ^3",
            '{"query": {"match_all": {}}}',
            "green; DROP TABLE documents; --",
            "%_green%",
            "\x00green\x00",
            "\ud800green",
            "the of and what when who did",
            "green " * 1_700,
            "".join(f"w{n} " for n in range(2_000)) + "green",
            "绿色的油漆 在哪里",
            "зелёная краска",
            "טיוח ירוק",
            "สีเขียว",
            "🎨🖌️",
            "e\u0301" * 50,
        ],
        ids=range(31),
    )
    async def test_no_text_is_an_error(self, index: SearchIndex, text: str) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "green paint"), document("b", "red")])
        result = await index.search(ada, EPISODES, query(text))
        assert collect_ids(result) <= {"a", "b"}

    async def test_operators_are_words(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document("a", "green paint"), document("b", "red boat")])
        assert set(ids(await index.search(ada, EPISODES, query("green AND boat")))) == {"a", "b"}
        assert ids(await index.search(ada, EPISODES, query('-green "paint"'))) == ["a"]
        assert ids(await index.search(ada, EPISODES, query("NOT boat"))) == ["b"]
        assert ids(await index.search(ada, EPISODES, query("gre*"))) == []

    async def test_words_are_found_in_every_script_however_they_are_typed(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, KNOWLEDGE, [document(case.language, case.text) for case in LANGUAGES])
        answers = {
            (case.language, question): ids(await index.search(ada, KNOWLEDGE, query(question, WORDS)))[:1]
            for case in LANGUAGES
            for question in case.questions
        }
        assert {request: first for request, first in answers.items() if first != [request[0]]} == {}

    async def test_odd_texts_are_stored(self, index: SearchIndex) -> None:
        ada = new_scope()
        texts = ["", " ", "\x00", '"', "🎨", "a" * 100_000, "word " * 20_000]
        await index.put(ada, EPISODES, [document(f"d{n}", text) for n, text in enumerate(texts)])
        assert await index.count(ada, EPISODES, EVERYTHING) == len(texts)
        assert [item.views["turn"].text async for item in index.list(ada, EPISODES, EVERYTHING)] == texts

    async def test_a_large_put_is_stored_whole(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [document(f"d{n:04}", f"number{n} green") for n in range(1_200)])
        assert await index.count(ada, EPISODES, EVERYTHING) == 1_200
        assert await list_ids(index, ada, EPISODES) == [f"d{n:04}" for n in range(1_200)]
        assert ids(await index.search(ada, EPISODES, query("number777")))[0] == "d0777"
        assert await index.delete(ada, EPISODES, EVERYTHING) == 1_200

    async def test_nothing_is_put_without_an_error(self, index: SearchIndex) -> None:
        ada = new_scope()
        await index.put(ada, EPISODES, [])
        assert await list_ids(index, ada, EPISODES) == []

    @settings(
        max_examples=examples(20),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(moves=st.lists(st.deferred(lambda: MOVES), min_size=1, max_size=12))
    async def test_nobody_reaches_anothers_documents(self, index: SearchIndex, moves: Sequence[Move]) -> None:
        world = World()
        for move in moves:
            await world.make(index, move)
        for tenant in world.tenants:
            for user in USERS:
                await world.check(index, Scope(tenant, user, frozenset({"p:a"})))
                await world.check(index, Scope(tenant, user))


def matches(entry: IndexDocument, chosen: SearchFilter) -> bool:
    """Return whether a filter chooses the document."""
    return (
        chosen.agent_id in (None, entry.agent_id)
        and chosen.thread_id in (None, entry.thread_id)
        and chosen.source_id in (None, entry.source_id)
        and (not chosen.kinds or entry.kind in chosen.kinds)
        and (chosen.since is None or entry.at >= chosen.since)
        and (chosen.until is None or entry.at < chosen.until)
    )


USERS = ("ada", "bob", "ada#bob")


@dataclass(frozen=True)
class Move:
    """A put, or a delete if there are no documents."""

    tenant: int
    user: str
    index: IndexName
    documents: tuple[tuple[str, str | None, str | None], ...] = ()
    """Id, agent and required permission of each."""
    gone: SearchFilter = EVERYTHING


AGENTS = st.sampled_from([None, "x", "y"])
PLACES = {"tenant": st.integers(0, 2), "user": st.sampled_from(USERS), "index": st.sampled_from(list(IndexName))}
PUTS = st.builds(
    Move,
    **PLACES,
    documents=st.lists(
        st.tuples(st.sampled_from("abcdef"), AGENTS, st.sampled_from([None, "p:a", "p:b"])), min_size=1, max_size=4
    ).map(tuple),
)
DELETES = st.builds(Move, **PLACES, gone=st.builds(SearchFilter, agent_id=AGENTS))
MOVES = st.one_of(PUTS, PUTS, DELETES)


@dataclass
class World:
    """The expected documents of every owner. The tenants are new."""

    tenants: list[str] = field(default_factory=lambda: [new_scope().tenant_id for _ in range(3)])
    documents: dict[tuple[IndexName, str, str], dict[str, IndexDocument]] = field(default_factory=dict)

    def owned(self, name: IndexName, scope: Scope) -> dict[str, IndexDocument]:
        owner = (name, scope.tenant_id, scope.user_id if name is EPISODES else "")
        return self.documents.setdefault(owner, {})

    async def make(self, index: SearchIndex, move: Move) -> None:
        scope = Scope(self.tenants[move.tenant], move.user)
        owned = self.owned(move.index, scope)
        if not move.documents:
            gone = [name for name, item in owned.items() if matches(item, move.gone)]
            assert await index.delete(scope, move.index, move.gone) == len(gone)
            for name in gone:
                del owned[name]
            return
        items = [  # an id stays with its agent
            document(
                f"{name}-{agent}",
                f"green {scope.tenant_id} {move.user} {name}",
                agent_id=agent,
                required_permission=permission,
            )
            for name, agent, permission in move.documents
        ]
        await index.put(scope, move.index, items)
        owned.update({item.id: item for item in items})

    async def check(self, index: SearchIndex, scope: Scope) -> None:
        for name in IndexName:
            owned = self.owned(name, scope)
            for agent in (None, "x"):
                chosen = SearchFilter(agent_id=agent)
                expected = {item.id: item for item in owned.values() if matches(item, chosen)}
                readable = {
                    document.id: document.views["turn"].text
                    for document in expected.values()
                    if document.required_permission is None or scope.has(document.required_permission)
                }
                # The words of every owner are asked for.
                everybody = " ".join(("green", *self.tenants, *USERS))
                result = await index.search(scope, name, query(everybody, agent_id=agent))
                assert set(ids(result)) == set(ids(result, MEANING)) == set(readable)
                assert _texts(result.documents) == readable
                assert await list_ids(index, scope, name, chosen) == sorted(expected)
                assert await index.count(scope, name, chosen) == len(expected)


def _texts(documents: Mapping[str, IndexDocument] | Iterable[IndexDocument]) -> dict[str, str]:
    values = documents.values() if isinstance(documents, Mapping) else documents
    return {value.id: value.views["turn"].text for value in values}

"""Making and rebuilding the indices of OpenSearch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.adapters.opensearch.administration import OpenSearchAdministration
from baton.adapters.opensearch.definitions import EmbeddingModel, Layout, make_index_body, make_view_mapping
from baton.adapters.opensearch.engine import Engine
from baton.adapters.opensearch.index import OpenSearchIndex
from baton.adapters.opensearch.reindexing import Pace
from baton.domain.documents.search import IndexedText, IndexName, SearchClause, SearchFilter, Signal
from baton.domain.errors import EmbedderUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.clock import SystemClock
from baton.ports.documents.search import IndexedSource
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.search import EMBEDDER, EPISODES, EVERYTHING, MEANING, document, ids, list_ids, new_scope, query

pytestmark = pytest.mark.nightly

AT_ONCE = Pace(texts_per_second=1e9, writers_seconds=0.2)


@pytest.fixture
def administration(engine: Engine, layout: Layout) -> OpenSearchAdministration:
    return OpenSearchAdministration(engine, layout, AT_ONCE)


@pytest.fixture
async def index(engine: Engine, layout: Layout, administration: OpenSearchAdministration) -> OpenSearchIndex:
    """Indices for ``EMBEDDER``."""
    await administration.migrate(EMBEDDER)
    return OpenSearchIndex(engine, SystemClock(), layout, EMBEDDER.name, search_seconds=30)


def with_embedder(index: OpenSearchIndex, embedder: FakeEmbedder) -> OpenSearchIndex:
    """Return the index as a function sees it that was deployed with another model."""
    return OpenSearchIndex(index.engine, SystemClock(), index.layout, embedder.name, search_seconds=30)


async def names(engine: Engine, layout: Layout) -> set[str]:
    return set(await engine.request("GET", f"/{layout.prefix}-*"))


async def test_migrating_twice_and_at_once_makes_each_index_once(
    engine: Engine, layout: Layout, administration: OpenSearchAdministration
) -> None:
    several = await asyncio.gather(*(administration.migrate(EMBEDDER) for _ in range(3)))
    again = await administration.migrate(EMBEDDER)
    assert [list(states) for states in several] == [list(again)] * 3
    assert [state.is_current for state in again] == [True] * 3
    assert await names(engine, layout) == {layout.make_version_name(index, 1) for index in IndexName}


async def test_migrating_keeps_documents_and_reports_another_model(
    administration: OpenSearchAdministration, index: OpenSearchIndex
) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green")])
    states = await administration.migrate(FakeEmbedder("larger", 96))
    assert [(state.embedder, state.is_current) for state in states] == [(EMBEDDER.name, False)] * 3
    assert await list_ids(index, ada, EPISODES) == ["a"]


async def test_indices_without_an_embedder_are_searched_by_words(
    engine: Engine, layout: Layout, administration: OpenSearchAdministration
) -> None:
    await administration.migrate(FakeEmbedder("", 0))
    index = OpenSearchIndex(engine, SystemClock(), layout, search_seconds=30)
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    result = await index.search(ada, EPISODES, query("green"))
    assert (ids(result), ids(result, MEANING)) == (["a"], [])


async def test_a_reindex_gives_every_document_vectors_of_the_new_model(
    engine: Engine, layout: Layout, administration: OpenSearchAdministration, index: OpenSearchIndex
) -> None:
    scopes = [new_scope() for _ in range(3)]
    for scope in scopes:
        await index.put(scope, EPISODES, [document(f"d{n:03}", f"word{n} green") for n in range(120)])
    larger = FakeEmbedder("larger", 96)
    done = await administration.reindex(EPISODES, larger)
    assert (done.version, done.copied, done.embedded) == (layout.make_version_name(EPISODES, 2), 360, 360)
    for scope in scopes:
        assert await index.count(scope, EPISODES, EVERYTHING) == 120
    result = await with_embedder(index, larger).search(scopes[0], EPISODES, _query("word7 green", larger))
    assert (ids(result)[0], ids(result, MEANING)[0]) == ("d007", "d007")
    assert layout.make_version_name(EPISODES, 1) not in await names(engine, layout)
    assert (await administration.reindex(EPISODES, larger)).copied == 0


async def test_vectors_are_copied_if_only_the_mapping_is_new(
    administration: OpenSearchAdministration, index: OpenSearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document(f"d{n}", f"word{n} green") for n in range(20)])
    before = await index.search(ada, EPISODES, query("word7"))
    for module in ("administration", "definitions"):
        monkeypatch.setattr(f"baton.adapters.opensearch.{module}.MAPPING_VERSION", 3)
    embedder = FakeEmbedder(failure=EmbedderUnavailable())
    done = await administration.reindex(EPISODES, embedder)
    assert (done.copied, done.embedded, embedder.embedded) == (20, 0, [])
    after = await index.search(ada, EPISODES, query("word7"))
    assert after.candidates[MEANING][0].id == "d7"
    assert after.candidates[MEANING][0].score == pytest.approx(before.candidates[MEANING][0].score, abs=1e-3)


async def test_a_reindex_goes_on_where_it_was_interrupted(
    administration: OpenSearchAdministration, index: OpenSearchIndex
) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document(f"d{n:03}", f"word{n}") for n in range(250)])
    larger = Interrupted("larger", 96, calls=1)
    with pytest.raises(EmbedderUnavailable):
        await administration.reindex(EPISODES, larger)
    assert ids(await index.search(ada, EPISODES, query("word7"))) == ["d007"]
    larger.calls = 1_000
    done = await administration.reindex(EPISODES, larger)
    assert (done.copied, done.embedded) == (150, 150)
    assert await index.count(ada, EPISODES, EVERYTHING) == 250


async def test_what_is_written_and_deleted_meanwhile_is_in_the_new_version(
    administration: OpenSearchAdministration, index: OpenSearchIndex
) -> None:
    ada, bob = new_scope(), new_scope()
    await index.put(ada, EPISODES, [document(f"d{n:03}", f"word{n} old") for n in range(250)])
    await index.put(bob, EPISODES, [document(f"d{n:03}", "secret") for n in range(50)])
    larger = FakeEmbedder("larger", 96, seconds=0.05)
    newer = with_embedder(index, larger)

    async def write() -> None:
        for n in range(0, 250, 10):
            writer = newer if n % 20 else index  # functions of both deployments
            model = larger if n % 20 else EMBEDDER
            await writer.put(ada, EPISODES, [_document(f"d{n:03}", f"word{n} new", model)])
            await writer.put(ada, EPISODES, [_document(f"e{n:03}", f"word{n} more", model)])
        await index.delete(bob, EPISODES, EVERYTHING)
        await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-d001"))

    await asyncio.gather(administration.reindex(EPISODES, larger), write())
    result = await newer.search(ada, EPISODES, _query("new", larger, candidates=200))
    assert sorted(ids(result)) == [f"d{n:03}" for n in range(0, 250, 10)]
    expected = sorted({f"d{n:03}" for n in range(250)} - {"d001"} | {f"e{n:03}" for n in range(0, 250, 10)})
    assert await list_ids(newer, ada, EPISODES) == expected
    assert await newer.count(bob, EPISODES, EVERYTHING) == 0
    # Functions of the old deployment may have written after the end. Another run embeds that.
    await administration.reindex(EPISODES, larger)
    assert [source.without_vectors async for source in administration.list_sources(EPISODES)] == [0] * len(expected)


async def test_what_is_deleted_while_it_is_embedded_stays_deleted(
    engine: Engine, layout: Layout, administration: OpenSearchAdministration, index: OpenSearchIndex
) -> None:
    ada, bob = new_scope(), new_scope()
    for scope in (ada, bob):
        await index.put(scope, EPISODES, [document(f"d{n}", f"word{n}", embedder="earlier") for n in range(3)])
    # OpenSearch remembers deletions for a minute, and an embedder that is throttled takes longer.
    await engine.request("PUT", f"/{layout.prefix}-*/_settings", {"index": {"gc_deletes": "0ms"}})
    embedder = Deleting(index, ada)
    done = await administration.reindex(EPISODES, embedder)
    assert await list_ids(index, ada, EPISODES) == []
    assert await list_ids(index, bob, EPISODES) == ["d0", "d1", "d2"]
    assert done.version == layout.make_version_name(EPISODES, 1)
    assert [source.without_vectors async for source in administration.list_sources(EPISODES)] == [0] * 3


async def test_reindexing_twice_at_once_ends_with_one_whole_version(
    engine: Engine, layout: Layout, administration: OpenSearchAdministration, index: OpenSearchIndex
) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document(f"d{n:03}", f"word{n}") for n in range(150)])
    larger = FakeEmbedder("larger", 96)
    results = await asyncio.gather(
        *(administration.reindex(EPISODES, larger) for _ in range(2)), return_exceptions=True
    )
    assert any(not isinstance(result, BaseException) for result in results)
    done = await administration.reindex(EPISODES, larger)
    assert await index.count(ada, EPISODES, EVERYTHING) == 150
    assert {name for name in await names(engine, layout) if "episodes" in name} == {done.version}


async def test_sources_are_counted_by_owner(administration: OpenSearchAdministration, index: OpenSearchIndex) -> None:
    ada, bob = new_scope("ada"), new_scope("bob")
    plain = document("c", "", source_id="s2", views={"turn": IndexedText("green")}, embedder=None)
    await index.put(ada, EPISODES, [document("a", "x", source_id="s1"), document("b", "y", source_id="s1"), plain])
    await index.put(bob, EPISODES, [document("a", "x", source_id="s1")])
    results = [source async for source in administration.list_sources(EPISODES)]
    expected = [
        IndexedSource(ada.tenant_id, "ada", "s1", 2, 0),
        IndexedSource(ada.tenant_id, "ada", "s2", 1, 1),
        IndexedSource(bob.tenant_id, "bob", "s1", 1, 0),
    ]
    assert results == sorted(expected, key=lambda source: (source.tenant_id, source.user_id, source.source_id))
    of_ada = [source async for source in administration.list_sources(EPISODES, ada.tenant_id)]
    assert of_ada == [source for source in results if source.tenant_id == ada.tenant_id]
    assert len(of_ada) == 2


class Interrupted(FakeEmbedder):
    """An embedder that fails after a number of calls."""

    def __init__(self, name: str, dimensions: int, calls: int) -> None:
        super().__init__(name, dimensions)
        self.calls = calls

    async def embed(self, texts, **_):  # type: ignore[no-untyped-def]
        if self.calls <= 0:
            raise EmbedderUnavailable
        self.calls -= 1
        return await super().embed(texts)


class Deleting(FakeEmbedder):
    """``EMBEDDER``, during whose calls the user's documents are deleted."""

    def __init__(self, index: OpenSearchIndex, scope: Scope) -> None:
        super().__init__(EMBEDDER.name, EMBEDDER.dimensions)
        self._index, self._scope = index, scope

    async def embed(self, texts, **_):  # type: ignore[no-untyped-def]
        await self._index.delete(self._scope, EPISODES, EVERYTHING)
        await asyncio.sleep(1)
        return await super().embed(texts)


def _document(id_: str, text: str, model: FakeEmbedder):  # type: ignore[no-untyped-def]
    return document(id_, "", views={"turn": IndexedText(text, model.vector(text))}, embedder=model.name)


def _query(text: str, model: FakeEmbedder, **overrides):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(query(text, **overrides), vector=model.vector(text))


async def test_an_index_of_an_earlier_release_is_searched_written_and_rebuilt(
    engine: Engine, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier release searched the texts themselves, with an analyser of OpenSearch."""
    administration = OpenSearchAdministration(engine, layout, AT_ONCE)
    with monkeypatch.context() as earlier:
        earlier.setattr("baton.adapters.opensearch.administration.MAPPING_VERSION", 1)
        earlier.setattr("baton.adapters.opensearch.administration.make_index_body", _earlier_body)
        await administration.migrate(FakeEmbedder("", 0))
    index = OpenSearchIndex(engine, SystemClock(), layout, search_seconds=30)
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint"), document("b", "Tromsø ٤٢", views={"later": BARE})])
    assert ids(await index.search(ada, EPISODES, query("green"))) == ["a"]

    done = await administration.reindex(EPISODES, FakeEmbedder("", 0))
    assert (done.version, done.copied) == (layout.make_version_name(EPISODES, 2), 2)
    assert ids(await index.search(ada, EPISODES, query("green"))) == ["a"]
    later = SearchClause("later", Signal.WORDS)
    assert ids(await index.search(ada, EPISODES, query("42", later)), later) == ["b"]
    stored = await engine.request("GET", f"/{layout.make_version_name(EPISODES, 2)}/_search")
    assert all("words" not in view for hit in stored["hits"]["hits"] for view in hit["_source"]["views"].values())


def _earlier_body(index: IndexName, layout: Layout, model: EmbeddingModel | None) -> dict[str, Any]:
    body = make_index_body(index, layout, model)
    body["settings"]["index"]["analysis"] = {"analyzer": {"baton_text": {"type": "standard"}}}
    body["settings"].pop("analysis")
    body["mappings"]["_meta"]["mapping_version"] = 1
    views = body["mappings"]["properties"]["views"]["properties"]
    views.update({view: make_view_mapping(model, mapping_version=1) for view in views})
    return body


BARE = IndexedText("Tromsø ٤٢")

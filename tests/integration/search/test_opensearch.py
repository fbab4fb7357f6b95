"""The adapter of OpenSearch against a real OpenSearch with k-NN."""

from __future__ import annotations

import asyncio
import math
import random
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.opensearch.administration import OpenSearchAdministration
from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine
from baton.adapters.opensearch.index import OpenSearchIndex
from baton.domain.documents.search import IndexedText
from baton.domain.errors import SearchUnavailable
from baton.ports.clock import SystemClock
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.knowledge import KnowledgeContract
from tests.contracts.search import (
    EMBEDDER,
    EPISODES,
    EVERYTHING,
    MEANING,
    WORDS,
    SearchContract,
    document,
    ids,
    list_ids,
    make_indexed_text,
    new_scope,
    query,
)

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
async def index(engine: Engine) -> AsyncIterator[OpenSearchIndex]:
    """Indices of this module's own."""
    layout = Layout(prefix=f"test-{uuid.uuid4().hex[:12]}", refresh_interval="50ms")
    await OpenSearchAdministration(engine, layout).migrate(EMBEDDER)
    yield OpenSearchIndex(engine, SystemClock(), layout, EMBEDDER.name, search_seconds=30)
    await engine.request("DELETE", f"/{layout.prefix}-*")


class TestOpenSearch(SearchContract):
    """OpenSearch fulfils the contract of search indices."""


class TestKnowledgeInOpenSearch(KnowledgeContract):
    """Documents in it are found as in every other."""

    examples = 8


async def test_vectors_are_not_in_the_stored_documents(engine: Engine, index: OpenSearchIndex) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    stored = await engine.request("GET", f"/{index.layout.make_read_alias(EPISODES)}/_settings")
    [settings] = stored.values()
    assert settings["settings"]["index"]["knn"] == "true"
    assert settings["settings"]["index"]["knn.derived_source"]["enabled"] == "true"


async def test_vectors_of_another_model_are_left_out(index: OpenSearchIndex) -> None:
    ada = new_scope()
    other = document("a", "", views={"turn": IndexedText("green paint", (1.0, 0.0))}, embedder="other")
    await index.put(ada, EPISODES, [other, document("b", "red paint")])
    result = await index.search(ada, EPISODES, query("green paint"))
    assert (ids(result), ids(result, MEANING)) == (["a", "b"], ["b"])
    assert result.documents["a"].embedder is None


@pytest.mark.parametrize(("candidates", "requests"), [(100, 1), (5, 2)])
async def test_similarities_are_looked_up_by_one_request_and_only_where_they_are_missing(
    engine: Engine, index: OpenSearchIndex, monkeypatch: pytest.MonkeyPatch, candidates: int, requests: int
) -> None:
    ada = new_scope()
    texts = [*(f"green paint {n}" for n in range(20)), "valves close, says B137"]
    await index.put(ada, EPISODES, [document(f"d{n}", text) for n, text in enumerate(texts)])
    searched, lines = list[str](), engine.post_lines

    async def record_path(path: str, *rest: Any, **options: Any) -> Any:
        searched.append(path)
        return await lines(path, *rest, **options)

    monkeypatch.setattr(engine, "post_lines", record_path)
    result = await index.search(ada, EPISODES, query("green paint B137", candidates=candidates))
    assert "d20" in ids(result, MEANING)
    assert len(searched) == requests


async def test_a_query_of_another_model_is_compared_with_no_vector(engine: Engine, index: OpenSearchIndex) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    other = OpenSearchIndex(engine, SystemClock(), index.layout, "another model", search_seconds=30)
    result = await other.search(ada, EPISODES, query("green paint"))
    assert (ids(result), ids(result, MEANING)) == (["a"], [])


async def test_a_failing_document_is_reported_and_the_others_are_stored(index: OpenSearchIndex) -> None:
    ada = new_scope()
    impossible = document("b", "red", source_id="x" * 40_000)  # longer than a term may be
    with pytest.raises(SearchUnavailable):
        await index.put(ada, EPISODES, [document("a", "green"), impossible])
    await index.put(ada, EPISODES, [document("c", "blue")])
    assert await list_ids(index, ada, EPISODES) == ["a", "c"]


async def test_a_blocked_index_refuses_writes_and_answers_searches(engine: Engine, index: OpenSearchIndex) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green")])
    settings = f"/{index.layout.make_version_name(EPISODES, 1)}/_settings"
    await engine.request("PUT", settings, {"index.blocks.write": True})
    try:
        with pytest.raises(SearchUnavailable):
            await index.put(ada, EPISODES, [document("b", "red")])
        with pytest.raises(SearchUnavailable):
            await index.delete(ada, EPISODES, EVERYTHING)
        assert ids(await index.search(ada, EPISODES, query("green"))) == ["a"]
    finally:
        await engine.request("PUT", settings, {"index.blocks.write": False})
    await index.put(ada, EPISODES, [document("b", "red")])
    assert await list_ids(index, ada, EPISODES) == ["a", "b"]


async def test_a_red_index_is_unavailable_and_not_empty(engine: Engine, layout: Layout) -> None:
    layout = replace(layout, prefix=layout.prefix + "-red")
    await OpenSearchAdministration(engine, layout).migrate(EMBEDDER)
    name = layout.make_version_name(EPISODES, 1)
    # Made again, so that no node may ever hold its shard.
    response = (await engine.request("GET", f"/{name}"))[name]
    own = {"uuid", "creation_date", "version", "provided_name"}
    settings = {key: value for key, value in response["settings"]["index"].items() if key not in own}
    settings["routing.allocation.require._name"] = "nobody"
    await engine.request("DELETE", f"/{name}")
    body = {"mappings": response["mappings"], "aliases": response["aliases"], "settings": {"index": settings}}
    await engine.request("PUT", f"/{name}", body, wait_for_active_shards=0)
    index = OpenSearchIndex(engine, SystemClock(), layout, search_seconds=5)
    ada = new_scope()
    with pytest.raises(SearchUnavailable):
        await index.search(ada, EPISODES, query("green", WORDS))
    with pytest.raises(SearchUnavailable):
        await index.count(ada, EPISODES, EVERYTHING)
    with pytest.raises(SearchUnavailable):
        await list_ids(index, ada, EPISODES)


async def test_no_indices_are_a_clear_error(engine: Engine) -> None:
    index = OpenSearchIndex(engine, SystemClock(), Layout(prefix="never-made"))
    ada = new_scope()
    with pytest.raises(SearchUnavailable):
        await index.put(ada, EPISODES, [document("a", "green")])
    with pytest.raises(SearchUnavailable):
        await index.search(ada, EPISODES, query("green"))
    with pytest.raises(SearchUnavailable):
        await index.delete(ada, EPISODES, EVERYTHING)


async def test_views_that_are_new_are_added_by_writers_at_once(index: OpenSearchIndex) -> None:
    ada = new_scope()
    views = [f"new{number}" for number in range(4)]
    await asyncio.gather(
        *(index.put(ada, EPISODES, [document(view, "", views={view: make_indexed_text("green")})]) for view in views)
    )
    assert await list_ids(index, ada, EPISODES) == views


async def test_deletions_at_once_both_end(index: OpenSearchIndex) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document(f"d{number}", "green") for number in range(300)])
    counts = await asyncio.gather(*(index.delete(ada, EPISODES, EVERYTHING) for _ in range(3)))
    assert sum(counts) == 300
    assert await index.count(ada, EPISODES, EVERYTHING) == 0


async def test_documents_written_while_they_are_deleted_are_gone_or_there(index: OpenSearchIndex) -> None:
    ada = new_scope()
    documents = [document(f"d{number}", "green") for number in range(50)]
    await index.put(ada, EPISODES, documents)
    await asyncio.gather(index.delete(ada, EPISODES, EVERYTHING), index.put(ada, EPISODES, documents))
    await index.delete(ada, EPISODES, EVERYTHING)
    assert await list_ids(index, ada, EPISODES) == []


async def test_vectors_of_a_real_models_length_are_quantized_and_still_rank(engine: Engine, layout: Layout) -> None:
    embedder = FakeEmbedder("real", 384)
    await OpenSearchAdministration(engine, layout).migrate(embedder)
    index = OpenSearchIndex(engine, SystemClock(), layout, embedder.name, search_seconds=30)
    ada = new_scope()
    chance = random.Random(7)  # noqa: S311  an example, not a secret
    vectors = [_direction(chance, 384) for _ in range(300)]
    await index.put(
        ada,
        EPISODES,
        [
            document(f"d{number}", "", views={"turn": IndexedText("x", vector)}, embedder="real")
            for number, vector in enumerate(vectors)
        ],
    )
    request = replace(query("x", MEANING, candidates=10), vector=vectors[7])
    results = (await index.search(ada, EPISODES, request)).candidates[MEANING]
    assert results[0].id == "d7"
    for candidate in results:
        exact = sum(a * b for a, b in zip(vectors[7], vectors[int(candidate.id[1:])], strict=True))
        assert candidate.score == pytest.approx(exact, abs=0.02)


def _direction(chance: random.Random, dimensions: int) -> list[float]:
    places = [chance.gauss(0, 1) for _ in range(dimensions)]
    length = math.hypot(*places)
    return [location / length for location in places]

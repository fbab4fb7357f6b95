"""The search engine and the embedder of a deployment, by its settings."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from baton.adapters.opensearch.index import OpenSearchIndex
from baton.adapters.routed_search import RoutedIndex
from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.switched_off import NoEmbedder, NoSearch
from baton.composition import search_commands
from baton.composition.ports import Ports
from baton.composition.startup.deferred import DeferredEmbedder
from baton.domain.documents.search import SearchFilter
from baton.domain.errors import EmbedderUnavailable, InvalidRequest
from baton.ports.documents.search import EmbeddingPurpose
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.clients import client
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints
from baton_testing.fakes.documents.embedder import DIMENSIONS, FakeEmbedder
from tests.contracts.search import EPISODES, collect_ids, document, list_ids, new_scope, query
from tests.embedded_index import new_bucket

NOWHERE = Endpoints(gateway="", sockets="", connections="", queues="http://queues.invalid")
VARIABLES = (
    "BATON_SEARCH_URL",
    "BATON_SEARCH_BUCKET",
    "BATON_EMBEDDING_MODEL",
    "BATON_EMBEDDING_DIMENSIONS",
    "BATON_EMBEDDING_BASE_URL",
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


async def test_without_a_url_and_a_bucket_search_is_off_and_nothing_fails() -> None:
    search, ada = Ports().search, new_scope()
    assert isinstance(search, NoSearch)
    await search.put(ada, EPISODES, [document("a", "green")])
    result = await search.search(ada, EPISODES, query("green"))
    assert collect_ids(result) == set()
    assert set(result.candidates) == set(query("green").clauses)
    assert await list_ids(search, ada, EPISODES) == []
    assert await search.count(ada, EPISODES, SearchFilter()) == await search.delete(ada, EPISODES, SearchFilter()) == 0


async def test_a_bucket_is_the_embedded_index(monkeypatch: pytest.MonkeyPatch, moto_server: str) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL_S3": moto_server,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_REGION": REGION,
        "BATON_SEARCH_BUCKET": new_bucket(client("s3", moto_server)),
        "BATON_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
    }.items():
        monkeypatch.setenv(name, value)
    search, ada = Ports().search, new_scope()
    assert isinstance(search, SqliteIndex)
    await search.put(ada, EPISODES, [document("a", "green")])
    assert collect_ids(await search.search(ada, EPISODES, query("green"))) == {"a"}


@pytest.mark.parametrize("stage", ["local", "prod"])
def test_the_local_cloud_and_deployments_search_by_the_same_code(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = read_stack(ROOT / "template.yaml", {"Stage": stage}, NOWHERE, default_cache_dir())
    searching = {name for name, function in stack.functions.items() if function.variables.get("BATON_SEARCH_BUCKET")}
    assert searching >= {"TurnsFunction", "HttpFunction", "IngestionFunction", "ClosingFunction", "SearchFunction"}
    for name in searching:
        for variable in VARIABLES:
            monkeypatch.setenv(variable, stack.functions[name].variables.get(variable, ""))
        ports = Ports()
        assert (type(ports.search), ports.searches_files_only) == (SqliteIndex, True), name
        assert type(ports.owner_files.objects) is IndexObjects


def test_an_opensearch_is_used_alone_or_beside_the_embedded_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_SEARCH_URL", "https://search.example.com")
    assert (isinstance(Ports().search, OpenSearchIndex), Ports().search_move) == (True, None)
    monkeypatch.setenv("BATON_SEARCH_BUCKET", "search")
    ports = Ports()
    assert isinstance(ports.search, RoutedIndex)
    assert ports.search_move is not None
    assert ports.complete_administration is None, "it does not know what is in files"


async def test_without_two_engines_there_is_nothing_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_commands, "deployed_ports", Ports)
    with pytest.raises(InvalidRequest, match="OpenSearchEndpoint or CreateSearchDomain"):
        await search_commands.move()
    monkeypatch.setenv("BATON_SEARCH_URL", "https://search.example.com")
    monkeypatch.setenv("BATON_SEARCH_BUCKET", "search")
    with pytest.raises(InvalidRequest, match="Name the one tenant"):
        await search_commands.move(users=["ada"])


@pytest.mark.parametrize("url", ["ftp://example.com", "sqlite:///search", "search.example.com", "https://"])
def test_another_url_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("BATON_SEARCH_URL", url)
    with pytest.raises(ValidationError, match="BATON_SEARCH_URL"):
        _ = Ports().search


async def test_without_a_model_texts_have_no_embedding() -> None:
    embedder = Ports().embedder
    assert isinstance(embedder, NoEmbedder)
    assert (embedder.name, embedder.dimensions, list(await embedder.embed([]))) == ("", 0, [])
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["green"])


def test_a_model_is_loaded_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_EMBEDDING_MODEL", "text-embedding-3-small")
    embedder = Ports().embedder
    assert isinstance(embedder, DeferredEmbedder)
    assert (embedder.name, embedder.dimensions) == ("text-embedding-3-small", 1536)


async def test_a_deferred_embedder_is_made_once() -> None:
    calls = []

    def make() -> FakeEmbedder:
        calls.append(FakeEmbedder())
        return calls[-1]

    embedder = DeferredEmbedder(make, "fake-embedder", DIMENSIONS)
    query = EmbeddingPurpose.QUERY
    assert await embedder.embed(["green"]) == await embedder.embed(["green"], purpose=query)
    assert embedder.load() is calls[0]
    assert (calls[0].embedded, calls[0].queries) == (["green", "green"], ["green"])
    assert len(calls) == 1

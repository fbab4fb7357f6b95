"""Requests to the domain are allowed by the roles of those who send them, and no others are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from baton.adapters.opensearch.administration import OpenSearchAdministration, grant
from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine, EngineError
from baton.adapters.opensearch.index import OpenSearchIndex
from baton.adapters.opensearch.reindexing import Pace
from baton.domain.documents.search import IndexedText, IndexName
from baton.ports.clock import SystemClock
from baton_local.account import ACCOUNT, REGION
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.search import EMBEDDER, EPISODES, EVERYTHING, document, list_ids, new_scope, query
from tests.grants.declared import DOMAIN, roles, searching
from tests.grants.simulator import Asked, Grant, decide, grants

pytestmark = pytest.mark.nightly

SEARCHING = ("TurnsRole", "StreamsRole", "HttpRole", "ClosingRole", "IngestionRole", "ForgettingRole")
PLACE = f"arn:aws:es:{REGION}:{ACCOUNT}:domain/{DOMAIN}"


class NotedEngine(Engine):
    """An engine that notes each request as IAM sees it."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.requests: set[tuple[str, str]] = set()

    async def _request(self, method: str, path: str, *rest: Any) -> Any:
        self.requests.add((f"es:ESHttp{method.capitalize()}", f"{PLACE}{path.replace('*', '1')}"))
        return await super()._request(method, path, *rest)


@pytest.fixture
async def noted(opensearch: str) -> AsyncIterator[NotedEngine]:
    engine = NotedEngine(opensearch)
    yield engine
    await engine.close()


async def search_and_write(engine: Engine, layout: Layout) -> None:
    index, ada = OpenSearchIndex(engine, SystemClock(), layout, EMBEDDER.name, search_seconds=30), new_scope()
    await index.put(ada, EPISODES, [document("a", "green"), document("b", "blue", views={"new": IndexedText("blue")})])
    await index.search(ada, EPISODES, query("green"))
    await list_ids(index, ada, EPISODES)
    await index.count(ada, EPISODES, EVERYTHING)
    await index.delete(ada, EPISODES, EVERYTHING)


async def administer(engine: Engine, layout: Layout) -> None:
    administration = OpenSearchAdministration(engine, layout, Pace(texts_per_second=1e9, writers_seconds=0))
    with pytest.raises(EngineError):  # the test's engine has no security plugin
        await grant(engine, layout, ["arn:aws:iam::123456789012:role/turns"])
    with pytest.raises(EngineError):
        await engine.request("PUT", f"/_plugins/_security/api/rolesmapping/{layout.prefix}", {})
    await administration.migrate(EMBEDDER)
    await administration.reindex(IndexName.EPISODES, FakeEmbedder("larger", 96))
    assert [source async for source in administration.list_sources(IndexName.EPISODES)] == []


def list_used(questions: set[tuple[str, str]], *names: str) -> set[Grant]:
    """Return the grants that these requests of the roles use. Each request must be allowed."""
    documents = roles(searching())
    requests = [Asked("", role, action, location) for role in names for action, location in sorted(questions)]
    decisions = decide(requests, documents)
    assert [
        str(request) for request, decision in zip(requests, decisions, strict=True) if decision.result != "Allowed"
    ] == []
    return set().union(*(decision.uses for decision in decisions))


def list_granted(*names: str) -> set[Grant]:
    """Return what the roles may do in the domain."""
    return {item for item in grants(roles(searching())) if item.role in names and item.action.startswith("es:")}


async def test_functions_that_search_may_send_what_they_send_and_nothing_else(
    engine: Engine, noted: NotedEngine, layout: Layout
) -> None:
    await OpenSearchAdministration(engine, layout).migrate(EMBEDDER)
    await search_and_write(noted, layout)
    assert list_used(noted.requests, *SEARCHING) == list_granted(*SEARCHING)


async def test_the_function_that_administers_the_domain_may_send_what_it_sends_and_nothing_else(
    noted: NotedEngine, layout: Layout
) -> None:
    await administer(noted, layout)
    assert list_used(noted.requests, "SearchRole") == list_granted("SearchRole")


@pytest.mark.parametrize("action", ["es:ESHttpGet", "es:ESHttpPost", "es:ESHttpPut"])
def test_a_policy_without_an_action_refuses_its_requests(action: str) -> None:
    documents = roles(searching())
    for policy in documents["TurnsRole"]:
        for statement in policy["Statement"]:
            if statement.get("Sid") == "Search":
                statement["Action"] = [item for item in statement["Action"] if item != action]
    [decision] = decide([Asked("", "TurnsRole", action, f"{PLACE}/baton-episodes/_search")], documents)
    assert decision.result == "ImplicitlyDenied"

"""OpenSearch's adapter with an engine that is down, slow, overloaded or broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from baton.adapters.opensearch.engine import MAX_ATTEMPTS, MAX_BYTES, Engine, EngineError, find_region
from baton.adapters.opensearch.index import MAX_FRUITLESS_PASSES, OpenSearchIndex
from baton.domain.errors import SearchUnavailable, WrongDimension
from baton.domain.metrics import Metric, collect_counts
from baton.ports.clock import SystemClock
from baton_local.engines.process import find_free_port
from tests.contracts.search import EMBEDDER, EPISODES, EVERYTHING, MEANING, WORDS, document, ids, new_scope, query

VERSION = {
    "baton-episodes-v1": {
        "aliases": {"baton-episodes": {}, "baton-episodes-writes-v1": {}},
        "mappings": {
            "_meta": {"mapping_version": 2, "embedder": EMBEDDER.name, "dimensions": EMBEDDER.dimensions},
            "properties": {"views": {"properties": {"turn": {"properties": {"text": {"type": "text"}}}}}},
        },
    }
}
NOTHING = {"took": 1, "timed_out": False, "_shards": {"total": 1, "failed": 0}, "hits": {"hits": []}}


class Scripted:
    """An HTTP server that answers paths as a test says, one answer after the other; the last one stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[int, Any]]] = {"/baton-episodes-v*": [(200, VERSION)]}
        self.requests: list[str] = []
        self.bodies: list[str] = []
        self.refreshes: list[str] = []
        """The contents of each bulk request."""
        self.authorization = ""
        self.seconds = 0.0
        """The duration of each answer."""

    def on(self, path: str, *answers: tuple[int, Any]) -> None:
        self.answers[path] = list(answers)

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append(request.path)
        if "refresh" in request.query:
            self.refreshes.append(request.query["refresh"])
        self.authorization = request.headers.get("authorization", "")
        await asyncio.sleep(self.seconds)
        self.bodies.append(await request.text())
        answers = self.answers.get(request.path, [(200, {})])
        status, body = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(body, str):
            return web.Response(status=status, text=body, content_type="text/html")
        return web.json_response(body, status=status)


@pytest.fixture
async def engine() -> AsyncIterator[tuple[Scripted, OpenSearchIndex]]:
    """A scripted engine, and the index on it, whose pauses take no time."""
    scripted = Scripted()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", scripted.handle)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    port = find_free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    client = Engine(f"http://127.0.0.1:{port}", pause_seconds=0)
    yield scripted, OpenSearchIndex(client, SystemClock(), embedder=EMBEDDER.name, search_seconds=0.2)
    await client.close()
    await runner.cleanup()


async def put(index: OpenSearchIndex, *names: str) -> None:
    await index.put(new_scope(), EPISODES, [document(name, "green") for name in names])


async def test_an_engine_that_is_down_is_unavailable() -> None:
    client = Engine(f"http://127.0.0.1:{find_free_port()}")
    index = OpenSearchIndex(client, SystemClock())
    for call in (
        lambda: index.search(new_scope(), EPISODES, query("green")),
        lambda: put(index, "a"),
        lambda: index.delete(new_scope(), EPISODES, EVERYTHING),
        lambda: index.count(new_scope(), EPISODES, EVERYTHING),
    ):
        with pytest.raises(SearchUnavailable):
            await call()
    await client.close()


async def test_an_engine_that_is_slow_is_unavailable(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    scripted.seconds = 5.0
    with pytest.raises(SearchUnavailable):
        await index.search(new_scope(), EPISODES, query("green"))


@pytest.mark.parametrize(
    "response",
    [
        NOTHING | {"timed_out": True},
        NOTHING | {"_shards": {"total": 2, "failed": 1}},
        {"status": 503, "error": {"type": "search_phase_execution_exception", "reason": "all shards failed"}},
        {"status": 429, "error": {"type": "circuit_breaking_exception", "reason": "data too large"}},
    ],
    ids=["timed out", "a shard failed", "all shards failed", "overloaded"],
)
async def test_an_incomplete_answer_is_no_answer(engine: tuple[Scripted, OpenSearchIndex], response: Any) -> None:
    scripted, index = engine
    scripted.on("/_msearch", (200, {"responses": [NOTHING, response]}))
    with pytest.raises(SearchUnavailable) as caught:
        await index.search(new_scope(), EPISODES, query("green"))
    assert caught.value.retryable


async def test_a_refused_request_is_repeated_within_a_bound(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    busy = (429, {"error": {"type": "rejected_execution_exception", "reason": "queue is full"}})
    scripted.on("/_msearch", busy, busy, (200, {"responses": [NOTHING]}))
    assert ids(await index.search(new_scope(), EPISODES, query("green", WORDS))) == []
    scripted.requests.clear()
    scripted.on("/_msearch", busy)
    with pytest.raises(SearchUnavailable):
        await index.search(new_scope(), EPISODES, query("green", WORDS))
    assert scripted.requests == ["/_msearch"] * MAX_ATTEMPTS


REFUSED = {"error": {"type": "security_exception", "reason": "no permissions for [indices:data/read/msearch]"}}


@pytest.mark.parametrize(
    "answer",
    [
        (403, REFUSED),
        (429, {"error": {"type": "rejected_execution_exception", "reason": "queue is full"}}),
        (503, "<html>"),
        (200, {"responses": [NOTHING | {"timed_out": True}]}),
        (200, {"responses": [{"status": 503, **REFUSED}]}),
    ],
    ids=["without permission", "overloaded", "behind a proxy", "late", "in a part"],
)
async def test_a_refused_search_is_counted_once(engine: tuple[Scripted, OpenSearchIndex], answer: Any) -> None:
    scripted, index = engine
    scripted.on("/_msearch", answer)
    counted: list[Any] = []
    with collect_counts(counted.append), pytest.raises(SearchUnavailable):
        await index.search(new_scope(), EPISODES, query("green", WORDS))
    assert counted == [{Metric.SEARCHES_FAILED: 1}]


async def test_what_an_index_expects_is_no_failure(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    gone = (404, {"error": {"type": "index_not_found_exception", "reason": "no such index"}})
    scripted.on("/_bulk", gone, (200, {"items": [{"index": {"status": 201}}]}))
    counted: list[Any] = []
    with collect_counts(counted.append):
        await put(index, "a")
    assert counted == []


async def test_a_vector_of_another_models_length_is_no_failure(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    error = {"type": "query_shard_exception", "reason": "Query vector has invalid dimension: 3"}
    scripted.on("/_msearch", (200, {"responses": [{"status": 400, "error": error}]}))
    counted: list[Any] = []
    with collect_counts(counted.append), pytest.raises(WrongDimension):
        await index.search(new_scope(), EPISODES, query("green", MEANING))
    assert counted == []


async def test_a_put_in_several_requests_waits_for_one_refresh(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    scripted.on("/_bulk", (200, {"items": [{"index": {"status": 201}}]}))
    large = "green " * (MAX_BYTES // 16)  # it is sent as a text and as words
    await index.put(new_scope(), EPISODES, [document(name, large) for name in "abc"])
    assert scripted.refreshes == ["false", "false", "wait_for"]


async def test_only_refused_documents_are_sent_again(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    done = {"index": {"status": 201}}
    busy = {"index": {"status": 429, "error": {"type": "rejected_execution_exception", "reason": "queue is full"}}}
    scripted.on(
        "/_bulk", (200, {"items": [done, busy, busy]}), (200, {"items": [busy, done]}), (200, {"items": [done]})
    )
    await put(index, "a", "b", "c")
    sent = [
        [json.loads(line)["id"] for line in body.splitlines()[1::2]]
        for path, body in zip(scripted.requests, scripted.bodies, strict=True)
        if path == "/_bulk"
    ]
    assert sent == [["a", "b", "c"], ["b", "c"], ["b"]]


async def test_documents_that_stay_refused_are_an_error(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    busy = {"index": {"status": 429, "error": {"type": "rejected_execution_exception", "reason": "queue is full"}}}
    scripted.on("/_bulk", (200, {"items": [busy]}))
    with pytest.raises(SearchUnavailable) as caught:
        await put(index, "a")
    assert caught.value.retryable
    assert scripted.requests.count("/_bulk") == MAX_ATTEMPTS


async def test_a_mapping_conflict_is_not_repeated_and_a_wrong_dimension_is_named(
    engine: tuple[Scripted, OpenSearchIndex],
) -> None:
    scripted, index = engine

    def make_failure(reason: str) -> tuple[int, Any]:
        error = {"type": "mapper_parsing_exception", "reason": "failed to parse", "caused_by": {"reason": reason}}
        return 200, {"items": [{"index": {"status": 400, "error": error}}]}

    scripted.on("/_bulk", make_failure("object mapping tried to parse field as object, but found a concrete value"))
    with pytest.raises(SearchUnavailable):
        await put(index, "a")
    assert scripted.requests.count("/_bulk") == 1  # the same document would be refused again
    scripted.on("/_bulk", make_failure("Vector dimension mismatch. Expected: 3, Given: 64"))
    with pytest.raises(WrongDimension):
        await put(index, "a")


async def test_a_version_that_is_retired_during_a_write_is_read_again(engine: tuple[Scripted, OpenSearchIndex]) -> None:
    scripted, index = engine
    gone = {"index": {"status": 404, "error": {"type": "index_not_found_exception", "reason": "no such index"}}}
    scripted.on("/_bulk", (200, {"items": [gone]}), (200, {"items": [{"index": {"status": 201}}]}))
    await put(index, "a")
    assert scripted.requests.count("/baton-episodes-v*") == 2


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, {"error": {"type": "security_exception", "reason": "no permissions for [indices:admin/get]"}}),
        (403, {"message": "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: es:ESHttpGet"}),
        (502, "<html>Bad Gateway</html>"),
        (503, {"error": {"type": "cluster_block_exception", "reason": "state not recovered"}, "status": 503}),
        (200, "<html>Sign in</html>"),
    ],
    ids=["not mapped", "not allowed", "a proxy", "not recovered", "no json"],
)
async def test_any_other_answer_is_unavailable(
    engine: tuple[Scripted, OpenSearchIndex], status: int, body: Any
) -> None:
    scripted, index = engine
    scripted.on("/baton-episodes-v*", (status, body))
    scripted.on("/_msearch", (status, body))
    with pytest.raises(SearchUnavailable):
        await put(index, "a")
    with pytest.raises(SearchUnavailable):
        await index.search(new_scope(), EPISODES, query("green"))


def test_an_error_names_its_cause_for_the_log() -> None:
    assert "no such index" in str(EngineError(404, "index_not_found_exception", "no such index"))


@pytest.mark.parametrize(
    ("url", "region"),
    [
        ("https://search-baton-abc123.eu-central-1.es.amazonaws.com", "eu-central-1"),
        ("https://search-baton-abc123.us-gov-west-1.es.amazonaws.com/", "us-gov-west-1"),
        ("https://search-baton-abc123.cn-north-1.es.amazonaws.com.cn", "cn-north-1"),
        ("https://search-baton-abc123.aos.us-east-1.on.aws", "us-east-1"),
        ("http://127.0.0.1:9200", None),
        ("https://search.example.com", None),
        ("https://search-baton.eu-central-1.es.amazonaws.com.example.com", None),
        ("http://search-baton.eu-central-1.es.amazonaws.com", None),
    ],
)
def test_requests_are_signed_for_domains_of_aws_and_for_nobody_else(url: str, region: str | None) -> None:
    assert find_region(url) == region


async def test_requests_to_a_domain_of_aws_carry_a_signature(
    engine: tuple[Scripted, OpenSearchIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted, index = engine
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setattr("baton.adapters.opensearch.engine.find_region", lambda url: "eu-central-1")
    scripted.on("/_msearch", (200, {"responses": [NOTHING]}))
    await index.search(new_scope(), EPISODES, query("gr\u00fcn", WORDS))
    assert "/eu-central-1/es/aws4_request" in scripted.authorization


async def test_a_removal_of_a_tenant_whose_documents_others_always_change_fails(
    engine: tuple[Scripted, OpenSearchIndex],
) -> None:
    scripted, index = engine
    conflicts = {"deleted": 0, "version_conflicts": 2}
    scripted.on("/baton-episodes-v1/_delete_by_query", (200, conflicts), (200, {**conflicts, "deleted": 1}))
    assert await index.sweep_tenant(new_scope()) == (1, False)
    scripted.on("/baton-episodes-v1/_delete_by_query", (200, conflicts))
    scripted.requests.clear()
    with pytest.raises(SearchUnavailable):
        await index.sweep_tenant(new_scope())
    assert scripted.requests.count("/baton-episodes-v1/_delete_by_query") == MAX_FRUITLESS_PASSES

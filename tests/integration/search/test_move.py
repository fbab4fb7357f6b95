"""Owners move from a bucket to an OpenSearch by the function and by the operators' command."""

from __future__ import annotations

import asyncio
import json
import runpy
import subprocess
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from baton.adapters.opensearch.administration import OpenSearchAdministration
from baton.adapters.opensearch.definitions import Layout
from baton.adapters.opensearch.engine import Engine
from baton.adapters.opensearch.index import OpenSearchIndex
from baton.adapters.routed_search import RoutedIndex
from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.moving import SqliteFiles
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.composition import search_commands
from baton.composition.startup import environment, event_loop
from baton.domain.documents.search import IndexDocument, SearchFilter
from baton.domain.tenants.identity import Scope
from baton.ports.clock import SystemClock
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.root import ROOT
from baton_testing.fakes.documents.embedder import DIMENSIONS
from tests.contracts.search import (
    EMBEDDER,
    EPISODES,
    KNOWLEDGE,
    MEANING,
    SearchContract,
    document,
    ids,
    list_ids,
    new_scope,
    query,
)
from tests.embedded_index import make_embedded_index, new_bucket
from tests.environment import INITIAL_ENVIRONMENT

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

pytestmark = pytest.mark.nightly


@pytest.fixture
def bucket(s3: S3Client) -> str:
    return new_bucket(s3)


@pytest.fixture
async def routed(engine: Engine, layout: Layout, s3: S3Client, bucket: str) -> RoutedIndex:
    """The index of a deployment with both engines."""
    await OpenSearchAdministration(engine, layout).migrate(EMBEDDER)
    files = OwnerFiles(IndexObjects(s3, bucket), is_alone=False)
    opensearch_index = OpenSearchIndex(engine, SystemClock(), layout, EMBEDDER.name, search_seconds=30)
    return RoutedIndex(SqliteFiles(files), SqliteIndex(files, DIMENSIONS), opensearch_index)


@pytest.fixture
async def deployment(
    opensearch: str, layout: Layout, bucket: str, moto_server: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[dict[str, str]]:
    """The variables of a function that knows both."""
    variables = {
        "BATON_SEARCH_URL": opensearch,
        "BATON_SEARCH_BUCKET": bucket,
        "BATON_SEARCH_PREFIX": layout.prefix,
        "BATON_EMBEDDING_MODEL": EMBEDDER.name,
        "BATON_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
        "POWERTOOLS_SERVICE_NAME": "baton",
        "AWS_ENDPOINT_URL": moto_server,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    token = environment.current.set(layout.prefix)
    yield variables
    await asyncio.to_thread(event_loop.run, search_commands.close())
    environment.current.reset(token)


class TestRoutedToOpenSearch(SearchContract):
    """Owners without a file are served by OpenSearch as by every index."""

    @pytest.fixture
    def index(self, routed: RoutedIndex) -> RoutedIndex:
        return routed


def invoke(**event: Any) -> dict[str, Any]:
    context = SimpleNamespace(
        function_name="search",
        memory_limit_in_mb=512,
        invoked_function_arn="arn",
        aws_request_id="id",
        log_stream_name="stream",
        get_remaining_time_in_millis=lambda: 900_000,
    )
    answer: dict[str, Any] = runpy.run_path(str(ROOT / "functions/search/app.py"))["handler"](event, context)
    return answer


def chunks(agent_id: str, *names: str) -> list[IndexDocument]:
    return [document(f"{agent_id}-{name}", f"The {name} is green", agent_id=agent_id) for name in names]


async def test_the_function_moves_an_agent_and_the_command_moves_the_rest(
    routed: RoutedIndex, s3: S3Client, bucket: str, deployment: dict[str, str]
) -> None:
    ada = new_scope()
    operator = Scope(ada.tenant_id, "operator")
    embedded = make_embedded_index(s3, bucket)
    many = [document(f"message-{number:03}", f"Message {number} about a boat") for number in range(250)]
    await embedded.put(ada, EPISODES, many)
    await embedded.put(operator, KNOWLEDGE, [*chunks("rental", "boat", "house"), *chunks("quotes", "car")])
    before = await routed.search(ada, EPISODES, query("message 17 boat"))

    moved = await asyncio.to_thread(invoke, command="move", tenants=[ada.tenant_id], agents=["rental"])
    assert moved == {"owners_moved": 1, "documents_copied": 2, "owners_left": 0, "is_complete": True}
    assert await list_ids(routed, operator, KNOWLEDGE) == ["quotes-car", "rental-boat", "rental-house"]

    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "baton.composition.admin", "search", "move"],
        env={**INITIAL_ENVIRONMENT, **deployment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [result] = json.loads(done.stdout)
    assert (result["owners_moved"], result["documents_copied"], result["is_complete"]) == (2, 251, True)
    assert "SearchEngine=opensearch" in result["next"]

    after = await routed.search(ada, EPISODES, query("message 17 boat"))
    assert ids(after, MEANING)[:5] == ids(before, MEANING)[:5]
    assert len(await list_ids(routed, ada, EPISODES)) == 250
    assert await routed.delete(ada, EPISODES, SearchFilter(source_id="source-of-message-017")) == 1
    assert await routed.count(ada, EPISODES, SearchFilter()) == 249


async def test_what_changes_while_it_is_copied_is_in_opensearch_afterwards(
    routed: RoutedIndex, s3: S3Client, bucket: str, deployment: dict[str, str]
) -> None:
    ada = new_scope()
    embedded = make_embedded_index(s3, bucket)
    await embedded.put(ada, EPISODES, [document(f"old-{number:03}", f"Old {number}") for number in range(120)])
    moving = asyncio.ensure_future(asyncio.to_thread(invoke, command="move", tenants=[ada.tenant_id]))
    expected = {f"old-{number:03}" for number in range(120)}
    for number in range(10):
        await routed.put(ada, EPISODES, [document(f"new-{number:03}", f"New {number}")])
        await routed.delete(ada, EPISODES, SearchFilter(source_id=f"source-of-old-{number:03}"))
        expected = expected - {f"old-{number:03}"} | {f"new-{number:03}"}
        assert set(await list_ids(routed, ada, EPISODES)) == expected
    assert (await moving)["is_complete"]
    assert set(await list_ids(routed, ada, EPISODES)) == expected
    stored = routed._engine.list(ada, EPISODES, SearchFilter())
    assert {copied.id async for copied in stored} == expected

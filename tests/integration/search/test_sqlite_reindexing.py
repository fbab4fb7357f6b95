"""Embedding the documents of the embedded index again, while it is searched and written."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from baton.adapters.sqlite_index import SqliteIndex, SqliteReindexing
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.domain.documents.search import IndexDocument, IndexedText, SearchFilter, Vector
from baton.domain.errors import EmbedderUnavailable
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_testing.fakes.documents.embedder import FakeEmbedder
from tests.contracts.search import (
    EMBEDDER,
    EPISODES,
    EVERYTHING,
    KNOWLEDGE,
    MEANING,
    document,
    ids,
    list_ids,
    new_scope,
    query,
)
from tests.embedded_index import make_embedded_index, new_bucket

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class Larger(FakeEmbedder):
    """Another model, which does something before each call."""

    def __init__(self, before: Callable[[], Awaitable[object]] | None = None) -> None:
        super().__init__("larger", 96)
        self.before = before

    async def embed(self, texts: Sequence[str], **_: object) -> Sequence[Vector]:
        if self.before is not None:
            await self.before()
        return await super().embed(texts)


@pytest.fixture
def bucket(s3: S3Client) -> str:
    return new_bucket(s3)


@pytest.fixture
def index(s3: S3Client, bucket: str) -> SqliteIndex:
    """The index of a process that embeds with the old model."""
    return make_embedded_index(s3, bucket)


@pytest.fixture
def newer(s3: S3Client, bucket: str) -> SqliteIndex:
    """The index of a process that embeds with the larger model."""
    return make_embedded_index(s3, bucket, 96)


@pytest.fixture
def reindexing(s3: S3Client, bucket: str) -> SqliteReindexing:
    return SqliteReindexing(OwnerFiles(IndexObjects(s3, bucket)))


def make_embedded(id_: str, text: str, model: FakeEmbedder) -> IndexDocument:
    return document(id_, "", views={"turn": IndexedText(text, model.vector(text))}, embedder=model.name)


async def search_by_meaning(index: SqliteIndex, scope: object, text: str, model: FakeEmbedder) -> list[str]:
    """Return the ids of the documents whose meaning is nearest to a text, best first."""
    return ids(await index.search(scope, EPISODES, replace(query(text), vector=model.vector(text))), MEANING)  # type: ignore[arg-type]


async def test_every_owners_documents_get_vectors_of_the_new_model(
    index: SqliteIndex, newer: SqliteIndex, reindexing: SqliteReindexing
) -> None:
    scopes = [new_scope("ada"), new_scope("bob")]
    for scope in scopes:
        await index.put(scope, EPISODES, [document(f"d{n:03}", f"word{n} green") for n in range(120)])
    await index.put(scopes[0], KNOWLEDGE, [document("chunk", "green")])
    larger = Larger()
    assert await search_by_meaning(newer, scopes[0], "word7", larger) == []
    done = await reindexing.reindex(EPISODES, larger)
    assert (done.copied, done.embedded) == (0, 240)
    for scope in scopes:
        assert await newer.count(scope, EPISODES, EVERYTHING) == 120
        assert (await search_by_meaning(newer, scope, "word7", larger))[0] == "d007"
        assert ids(await newer.search(scope, EPISODES, replace(query("word7"), vector=None))) == ["d007"]
    [chunk] = [item async for item in newer.list(scopes[0], KNOWLEDGE, EVERYTHING)]
    assert chunk.embedder == EMBEDDER.name
    assert (await reindexing.reindex(EPISODES, larger)).embedded == 0


async def test_it_is_searched_meanwhile_and_nothing_written_or_deleted_is_lost(
    index: SqliteIndex, newer: SqliteIndex, reindexing: SqliteReindexing
) -> None:
    ada, bob = new_scope("ada"), new_scope("bob")
    await index.put(ada, EPISODES, [document(f"d{n:03}", f"word{n} old") for n in range(120)])
    await index.put(bob, EPISODES, [document("d", "secret")])
    calls = 0

    async def search_between_steps() -> None:
        nonlocal calls
        calls += 1
        assert ids(await newer.search(ada, EPISODES, replace(query("word119"), vector=None))) == ["d119"]
        if calls == 1:  # these have been read, and are being embedded
            await newer.put(ada, EPISODES, [make_embedded("d001", "newest", larger)])
            await index.put(ada, EPISODES, [document("d002", "newer, by the old model")])
            await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-d003"))
            await index.put(ada, EPISODES, [document("a", "added by the old model")])
            await index.delete(bob, EPISODES, EVERYTHING)

    larger = Larger(search_between_steps)
    await reindexing.reindex(EPISODES, larger)
    assert await list_ids(newer, ada, EPISODES) == sorted({f"d{n:03}" for n in range(120)} - {"d003"} | {"a"})
    assert await newer.count(bob, EPISODES, EVERYTHING) == 0
    for text, id_ in (("newest", "d001"), ("newer, by the old model", "d002"), ("added by the old model", "a")):
        assert (await search_by_meaning(newer, ada, text, larger))[0] == id_
    assert {item.embedder async for item in newer.list(ada, EPISODES, EVERYTHING)} == {larger.name}


async def test_it_goes_on_where_it_was_interrupted(
    index: SqliteIndex, newer: SqliteIndex, reindexing: SqliteReindexing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.adapters.sqlite_index.reindexing.BATCH", 50)
    ada = new_scope()
    await index.put(ada, EPISODES, [document(f"d{n:03}", f"word{n}") for n in range(120)])
    larger = Larger()

    async def fails_at_the_third() -> None:
        if len(larger.embedded) >= 100:
            raise EmbedderUnavailable

    larger.before = fails_at_the_third
    with pytest.raises(EmbedderUnavailable):
        await reindexing.reindex(EPISODES, larger)
    larger.before = None
    assert (await reindexing.reindex(EPISODES, larger)).embedded == 20
    assert await newer.count(ada, EPISODES, EVERYTHING) == 120


async def test_without_an_embedder_documents_lose_their_vectors(
    index: SqliteIndex, reindexing: SqliteReindexing
) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    assert (await reindexing.reindex(EPISODES, FakeEmbedder("", 0))).embedded == 0
    result = await index.search(ada, EPISODES, query("green"))
    assert (ids(result), ids(result, MEANING)) == (["a"], [])


async def test_an_empty_bucket_has_nothing_to_embed(reindexing: SqliteReindexing) -> None:
    assert (await reindexing.reindex(EPISODES, Larger())).embedded == 0


async def test_the_command_rebuilds_the_embedded_index(index: SqliteIndex, moto_server: str, bucket: str) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    variables = {
        "AWS_ENDPOINT_URL_S3": moto_server,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_REGION": REGION,
        "BATON_SEARCH_BUCKET": bucket,
        "BATON_EMBEDDING_MODEL": "",
    }
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "baton.composition.admin", "search", "reindex", "episodes"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [{"index": "episodes", "version": "episodes", "copied": 0, "embedded": 0}]
    assert [item.embedder async for item in index.list(ada, EPISODES, EVERYTHING)] == [None]

"""The embedded index in a bucket."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.copies import LocalCopies
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.domain.documents.search import SearchFilter
from baton.domain.errors import SearchIndexFull
from baton.domain.metrics import Metric, collect_counts
from baton_testing.fakes.documents.embedder import DIMENSIONS
from tests.contracts.knowledge import KnowledgeContract
from tests.contracts.search import (
    EPISODES,
    EVERYTHING,
    KNOWLEDGE,
    MEANING,
    SearchContract,
    collect_ids,
    document,
    ids,
    list_ids,
    new_scope,
    query,
)
from tests.embedded_index import list_stored_files, make_embedded_index, new_bucket

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


@pytest.fixture
def bucket(s3: S3Client) -> str:
    return new_bucket(s3)


@pytest.fixture
def index(s3: S3Client, bucket: str) -> SqliteIndex:
    return make_embedded_index(s3, bucket)


class TestSqliteIndex(SearchContract):
    """The contract of every search index."""

    precision = 5e-3
    """Vectors are stored as whole numbers of one byte, and those of the contract are short."""


class TestKnowledgeInSqliteIndex(KnowledgeContract):
    """Documents in it are found as in every other."""


async def test_one_index_sees_at_once_what_another_writes(s3: S3Client, bucket: str, index: SqliteIndex) -> None:
    ada, other = new_scope(), make_embedded_index(s3, bucket)
    for number in range(5):
        await index.put(ada, EPISODES, [document(f"d{number}", "green paint", source_id=f"s{number}")])
        result = await other.search(ada, EPISODES, query("green"))
        assert len(ids(result, MEANING)) == number + 1
    await index.put(ada, EPISODES, [document("d0", "red boat")])
    assert ids(await other.search(ada, EPISODES, query("red boat")), MEANING)[0] == "d0"
    await index.delete(ada, EPISODES, SearchFilter(source_id="s3"))
    assert "d3" not in collect_ids(await other.search(ada, EPISODES, query("green")))


async def test_each_owner_has_one_file(s3: S3Client, bucket: str, index: SqliteIndex) -> None:
    ada = new_scope("ada@example.com")
    of_cook = [document("a", "soup", agent_id="cook"), document("b", "bread", agent_id="cook")]
    await index.put(ada, KNOWLEDGE, [*of_cook, document("c", "paint", agent_id="painter")])
    await index.put(ada, EPISODES, [document("d", "soup", agent_id="cook")])
    await index.put(replace(ada, user_id="../x"), EPISODES, [document("e", "soup")])
    keys = {name.partition(" ")[0].removeprefix(f"{ada.tenant_id}/") for name in list_stored_files(s3, bucket)}
    assert keys >= {"knowledge/cook.sqlite", "knowledge/painter.sqlite"}
    assert all(re.fullmatch(r"(knowledge/[a-z]+|episodes/[0-9a-f]{64})\.sqlite", key) for key in keys)
    assert len(keys) == 4
    assert await index.fill_percent(ada, "cook") == 1
    assert await list_ids(index, ada, KNOWLEDGE) == ["a", "b", "c"]
    assert await index.delete(ada, KNOWLEDGE, SearchFilter(source_id="source-of-c")) == 1
    assert await list_ids(index, ada, KNOWLEDGE, SearchFilter(agent_id="cook")) == ["a", "b"]


async def test_what_was_deleted_or_replaced_is_nowhere(s3: S3Client, bucket: str, index: SqliteIndex) -> None:
    ada = new_scope()
    secret = document("a", "my zebrafish", fields={"note": "zebrafish"}, source_id="zebrafish-1")
    await index.put(ada, EPISODES, [secret, document("b", "an okapi"), document("c", "green")])
    assert list_files_with(s3, bucket, b"zebrafish")
    await index.delete(ada, EPISODES, SearchFilter(source_id="zebrafish-1"))
    await index.put(ada, EPISODES, [document("b", "a boat")])
    assert not list_files_with(s3, bucket, b"zebrafish")
    assert not list_files_with(s3, bucket, b"okapi")
    assert list_files_with(s3, bucket, b"green")
    await index.delete(ada, EPISODES, EVERYTHING)
    assert list_stored_files(s3, bucket) == {}


def list_files_with(s3: S3Client, bucket: str, text: bytes) -> list[str]:
    """Return the files that contain a text."""
    return [name for name, body in list_stored_files(s3, bucket).items() if text in body]


async def test_searching_makes_no_files(s3: S3Client, bucket: str, index: SqliteIndex) -> None:
    ada = new_scope()
    assert collect_ids(await index.search(ada, EPISODES, query("green"))) == set()
    assert (await index.count(ada, EPISODES, EVERYTHING), await index.delete(ada, EPISODES, EVERYTHING)) == (0, 0)
    assert await list_ids(index, ada, EPISODES) == []
    assert list_stored_files(s3, bucket) == {}


async def test_a_repeated_write_writes_nothing(s3: S3Client, bucket: str, index: SqliteIndex) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green")])
    before = s3.list_objects_v2(Bucket=bucket)["Contents"][0]
    await index.put(ada, EPISODES, [document("a", "green")])
    await index.delete(ada, EPISODES, SearchFilter(source_id="nothing"))
    after = s3.list_objects_v2(Bucket=bucket)["Contents"][0]
    assert (before["ETag"], before["LastModified"]) == (after["ETag"], after["LastModified"])


async def test_vectors_of_an_earlier_model_are_not_compared(s3: S3Client, bucket: str, index: SqliteIndex) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    wider = make_embedded_index(s3, bucket, DIMENSIONS * 2)
    result = await wider.search(ada, EPISODES, replace(query("green"), vector=(1.0,) + (0.0,) * (DIMENSIONS * 2 - 1)))
    assert (ids(result), ids(result, MEANING)) == (["a"], [])


async def test_a_file_of_an_earlier_release_is_searched_by_the_words_of_this_one(
    s3: S3Client, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = new_scope()
    with monkeypatch.context() as earlier:
        earlier.setattr("baton.adapters.sqlite_index.owner_file.WORDS_VERSION", 0)
        earlier.setattr("baton.adapters.sqlite_index.owner_file.to_indexed_text", str)
        earlier.setattr("baton.adapters.sqlite_index.owner_file.TOKENIZER", "porter unicode61 remove_diacritics 2")
        await make_embedded_index(s3, bucket).put(ada, EPISODES, [document("a", "Tromsø ٤٢"), document("b", "red")])
    index = make_embedded_index(s3, bucket)
    assert ids(await index.search(ada, EPISODES, query("42"))) == ["a"]
    await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-a"))
    assert ids(await index.search(ada, EPISODES, query("42"))) == []


async def test_an_owner_with_too_much_is_refused_more_and_may_delete(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", 10)
    ada, bob, values = new_scope("ada"), new_scope("bob"), list[int]()
    with collect_counts(lambda counts: values.extend(counts.get(Metric.SEARCH_INDEX_FILL, ()))):  # type: ignore[arg-type]
        await index.put(ada, EPISODES, [document(f"d{number}", "green") for number in range(8)])
        with pytest.raises(SearchIndexFull, match="OpenSearch"):
            await index.put(ada, EPISODES, [document(f"e{number}", "red") for number in range(5)])
        assert await index.count(ada, EPISODES, EVERYTHING) == 8
        await index.put(bob, EPISODES, [document("a", "green")])
        monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", 5)
        assert await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-d0")) == 1
    assert values == [80, 10, 140]


async def test_copies_on_the_disk_are_bounded(s3: S3Client, bucket: str) -> None:
    objects = IndexObjects(s3, bucket)
    copies = LocalCopies(objects, max_bytes=200_000)
    index = SqliteIndex(OwnerFiles(objects, copies), DIMENSIONS)
    scopes = [new_scope() for _ in range(6)]
    for _ in range(2):
        for scope in scopes:
            await index.put(scope, EPISODES, [document("a", "green")])
            assert collect_ids(await index.search(scope, EPISODES, query("green"))) == {"a"}
            assert copies.size <= 200_000
    assert sum(file.stat().st_size for file in copies._folder.iterdir()) == copies.size > 0


def test_what_a_killed_process_left_on_the_disk_is_removed(s3: S3Client, bucket: str, tmp_path: Path) -> None:
    killed = (
        "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from baton.adapters.sqlite_index.copies import LocalCopies\n"
        "with LocalCopies(None).make_draft() as draft: draft.write_bytes(b'words'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=False)
    [remaining] = tmp_path.rglob("*.sqlite")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with LocalCopies(IndexObjects(s3, bucket)).make_draft():
            assert not remaining.exists()

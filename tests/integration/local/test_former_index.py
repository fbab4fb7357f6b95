"""A search index of an earlier release is in the bucket after the next start of the local cloud."""

from __future__ import annotations

import json
import sqlite3
from array import array
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.domain.documents.search import IndexDocument, SearchFilter
from baton.domain.times import to_millis
from baton_local.engines.clients import client
from baton_local.former_index import carry_over
from baton_testing.fakes.documents.embedder import DIMENSIONS
from tests.contracts.search import EPISODES, KNOWLEDGE, MEANING, document, ids, list_ids, new_scope, query
from tests.embedded_index import new_bucket

SCHEMA = """
CREATE TABLE documents (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, source_id TEXT NOT NULL,
    kind TEXT NOT NULL, agent_id TEXT, thread_id TEXT, required_permission TEXT, at INTEGER NOT NULL, embedder TEXT,
    texts TEXT NOT NULL, fields TEXT NOT NULL, digest BLOB NOT NULL);
CREATE TABLE views (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO views VALUES (1, 'turn');
CREATE TABLE vectors_1 (number INTEGER PRIMARY KEY, vector BLOB NOT NULL);
"""


def write_former(path: Path, *documents: IndexDocument) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA journal_mode = WAL")
        file.executescript(SCHEMA)
        for number, item in enumerate(documents, start=1):
            texts = json.dumps({name: view.text for name, view in item.views.items()})
            row = (number, item.id, item.source_id, item.kind, item.agent_id, item.thread_id)
            row += (item.required_permission, to_millis(item.at), item.embedder, texts, json.dumps(item.fields), b"")
            file.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            for view in item.views.values():
                if view.vector is not None:
                    file.execute("INSERT INTO vectors_1 VALUES (?, ?)", (number, array("f", view.vector).tobytes()))


@pytest.fixture
def files(moto_server: str) -> OwnerFiles:
    s3 = client("s3", moto_server)
    return OwnerFiles(IndexObjects(s3, new_bucket(s3)))


async def test_everything_is_found_by_its_owner_as_before(tmp_path: Path, files: OwnerFiles) -> None:
    ada = new_scope("ada@example.com")
    former = tmp_path / "search" / "v1" / ada.tenant_id
    user = sha256(ada.user_id.encode()).hexdigest()
    write_former(former / f"episodes-{user}.sqlite", document("a", "green paint", fields={"number": 7}))
    of_agents = [document("b", "soup", agent_id="cook"), document("c", "red paint", agent_id="painter")]
    write_former(former / "knowledge.sqlite", *of_agents)
    for _ in range(2):
        carry_over(tmp_path, files)
        index = SqliteIndex(files, DIMENSIONS)
        result = await index.search(ada, EPISODES, query("paint"))
        assert (ids(result), ids(result, MEANING)) == (["a"], ["a"])
        assert result.documents["a"].fields == {"number": 7}
        assert await list_ids(index, replace(ada, user_id="bob"), EPISODES) == []
        assert await list_ids(index, ada, KNOWLEDGE, SearchFilter(agent_id="painter")) == ["c"]
        assert not (tmp_path / "search" / "v1").exists()


async def test_what_opensearch_serves_now_stays_where_it_is(
    tmp_path: Path, moto_server: str, caplog: pytest.LogCaptureFixture
) -> None:
    s3, former = client("s3", moto_server), tmp_path / "search" / "v1" / "acme" / "knowledge.sqlite"
    write_former(former, document("b", "soup", agent_id="cook"))
    carry_over(tmp_path, OwnerFiles(IndexObjects(s3, new_bucket(s3)), is_alone=False))
    assert former.exists()
    assert "OpenSearch serves the owner of this file. `python -m" in caplog.text


async def test_a_damaged_file_stays_where_it_is(
    tmp_path: Path, files: OwnerFiles, caplog: pytest.LogCaptureFixture
) -> None:
    ada = new_scope()
    former = tmp_path / "search" / "v1" / ada.tenant_id
    write_former(former / "knowledge.sqlite", document("b", "soup", agent_id="cook"))
    (former / "procedures.sqlite").write_bytes(b"This is no database. " * 100)
    write_former(former / "unknown.sqlite", document("c", "bread", agent_id="cook"))
    carry_over(tmp_path, files)
    assert await list_ids(SqliteIndex(files, DIMENSIONS), ada, KNOWLEDGE) == ["b"]
    assert sorted(path.name for path in former.iterdir()) == ["procedures.sqlite", "unknown.sqlite"]
    assert "search rebuild" in caplog.text

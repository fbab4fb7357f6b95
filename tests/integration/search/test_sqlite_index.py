"""The embedded index on real files."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from baton.domain.documents.search import SearchFilter
from baton.domain.errors import SearchUnavailable
from baton_local.sqlite_index import SqliteIndex
from baton_local.sqlite_index.owner_file import OwnerFile
from baton_local.sqlite_index.vectors import VectorCache
from baton_testing.fakes.documents.embedder import DIMENSIONS
from tests.contracts.knowledge import KnowledgeContract
from tests.contracts.search import (
    EPISODES,
    EVERYTHING,
    KNOWLEDGE,
    MEANING,
    SearchContract,
    document,
    found,
    ids,
    listed,
    new_scope,
    query,
)


@pytest.fixture
def index(tmp_path: Path) -> SqliteIndex:
    return SqliteIndex(tmp_path / "search", DIMENSIONS)


class TestSqliteIndex(SearchContract):
    """The contract of every search index."""


class TestKnowledgeInSqliteIndex(KnowledgeContract):
    """Documents in it are found as in every other."""


async def test_what_was_put_is_there_after_a_restart(index: SqliteIndex, tmp_path: Path) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    again = SqliteIndex(tmp_path / "search", DIMENSIONS)
    assert found(await again.search(ada, EPISODES, query("green"))) == {"a"}


async def test_one_index_sees_at_once_what_another_writes(index: SqliteIndex, tmp_path: Path) -> None:
    ada, other = new_scope(), SqliteIndex(tmp_path / "search", DIMENSIONS)
    for number in range(5):
        await index.put(ada, EPISODES, [document(f"d{number}", "green paint", source_id=f"s{number}")])
        result = await other.search(ada, EPISODES, query("green"))
        assert len(ids(result, MEANING)) == number + 1
    await index.put(ada, EPISODES, [document("d0", "red boat")])
    assert ids(await other.search(ada, EPISODES, query("red boat")), MEANING)[0] == "d0"
    await index.delete(ada, EPISODES, SearchFilter(source_id="s3"))
    assert "d3" not in found(await other.search(ada, EPISODES, query("green")))


def put_some(folder: Path, process: int, tenant: str) -> None:
    scope = replace(new_scope(), tenant_id=tenant)
    index = SqliteIndex(folder, DIMENSIONS)

    async def put() -> None:
        for number in range(20):
            await index.put(
                scope, KNOWLEDGE, [document(f"p{process}-{number}", "green paint"), document("same", "red")]
            )

    asyncio.run(put())


async def test_processes_may_write_at_the_same_time(index: SqliteIndex, tmp_path: Path) -> None:
    ada = new_scope()
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=put_some, args=(tmp_path / "search", n, ada.tenant_id)) for n in range(3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        await index.search(ada, KNOWLEDGE, query("green"))
        await asyncio.sleep(0.01)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert await index.count(ada, KNOWLEDGE, EVERYTHING) == 61
    assert len(ids(await index.search(ada, KNOWLEDGE, query("green")))) == 60


def test_a_new_file_can_be_opened_while_somebody_else_makes_it(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "new", isolation_level=None, check_same_thread=False)) as maker:
        maker.execute("BEGIN IMMEDIATE")
        maker.execute("CREATE TABLE half_made (x)")
        end = threading.Timer(0.1, maker.execute, ["ROLLBACK"])
        end.start()
        opened = OwnerFile(tmp_path / "new")
        end.join()
    assert opened.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    opened.connection.close()


async def test_what_was_deleted_or_replaced_is_in_no_file(index: SqliteIndex, tmp_path: Path) -> None:
    ada = new_scope()
    secret = document("a", "my zebrafish", fields={"note": "zebrafish"}, source_id="zebrafish-1")
    await index.put(ada, EPISODES, [secret, document("b", "an okapi"), document("c", "green")])
    assert holding(tmp_path, b"zebrafish")
    await index.delete(ada, EPISODES, SearchFilter(source_id="zebrafish-1"))
    await index.put(ada, EPISODES, [document("b", "a boat")])
    assert not holding(tmp_path, b"zebrafish")
    assert not holding(tmp_path, b"okapi")
    assert holding(tmp_path, b"green")


def holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


async def test_searching_makes_no_files(index: SqliteIndex, tmp_path: Path) -> None:
    ada = new_scope()
    assert found(await index.search(ada, EPISODES, query("green"))) == set()
    assert (await index.count(ada, EPISODES, EVERYTHING), await index.delete(ada, EPISODES, EVERYTHING)) == (0, 0)
    assert await listed(index, ada, EPISODES) == []
    assert holding(tmp_path, b"") == []


async def test_a_damaged_file_is_no_answer_and_hurts_its_owner_alone(index: SqliteIndex, tmp_path: Path) -> None:
    ada, bob = new_scope(), new_scope()
    for scope in (ada, bob):
        await index.put(scope, EPISODES, [document("a", "green")])
    [file] = (tmp_path / "search" / "v1" / ada.tenant_id).glob("*.sqlite")
    again = SqliteIndex(tmp_path / "search", DIMENSIONS)
    for each in file.parent.iterdir():
        each.write_bytes(b"This is no database. " * 1_000)
    with pytest.raises(SearchUnavailable):
        await again.search(ada, EPISODES, query("green"))
    with pytest.raises(SearchUnavailable):
        await again.put(ada, EPISODES, [document("b", "red")])
    assert found(await again.search(bob, EPISODES, query("green"))) == {"a"}


async def test_a_file_that_stays_locked_is_no_answer(
    index: SqliteIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green")])
    [file] = (tmp_path / "search" / "v1" / ada.tenant_id).glob("*.sqlite")
    monkeypatch.setattr("baton_local.sqlite_index.owner_file.BUSY_SECONDS", 0.1)
    other = SqliteIndex(tmp_path / "search", DIMENSIONS)
    with closing(sqlite3.connect(file)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(SearchUnavailable):
            await other.put(ada, EPISODES, [document("b", "red")])
        assert found(await other.search(ada, EPISODES, query("green"))) == {"a"}
    await other.put(ada, EPISODES, [document("b", "red")])
    assert await listed(index, ada, EPISODES) == ["a", "b"]


async def test_a_folder_that_cannot_be_made_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    index = SqliteIndex(tmp_path / "file", DIMENSIONS)
    with pytest.raises(SearchUnavailable):
        await index.put(new_scope(), EPISODES, [document("a", "green")])


async def test_vectors_of_an_earlier_model_are_not_compared(index: SqliteIndex, tmp_path: Path) -> None:
    ada = new_scope()
    await index.put(ada, EPISODES, [document("a", "green paint")])
    wider = SqliteIndex(tmp_path / "search", DIMENSIONS * 2)
    result = await wider.search(ada, EPISODES, replace(query("green"), vector=(1.0,) + (0.0,) * (DIMENSIONS * 2 - 1)))
    assert (ids(result), ids(result, MEANING)) == (["a"], [])


async def test_owners_take_turns_in_a_small_memory(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path / "search", DIMENSIONS)
    index._vectors = VectorCache(DIMENSIONS, max_bytes=10 * DIMENSIONS * 4)
    scopes = [new_scope() for _ in range(4)]
    for number, scope in enumerate(scopes):
        await index.put(scope, EPISODES, [document(f"d{number}-{n}", f"green w{n}") for n in range(4 + number * 3)])
    for _ in range(2):
        for number, scope in enumerate(scopes):
            assert len(ids(await index.search(scope, EPISODES, query("green")), MEANING)) == 4 + number * 3
    assert index._vectors._kept.currsize <= 10 * DIMENSIONS * 4


async def test_a_search_does_not_see_what_was_written_after_it_began(index: SqliteIndex, tmp_path: Path) -> None:
    ada, cache = new_scope(), VectorCache(DIMENSIONS)
    await index.put(ada, EPISODES, [document("a", "green paint")])
    [path] = (tmp_path / "search").rglob("*.sqlite")
    early, late = OwnerFile(path), OwnerFile(path)
    with closing(early.connection), closing(late.connection):
        view = next(iter(early.views().values()))
        with early.reading():
            assert early.count(SearchFilter()) == 1
            await index.put(ada, EPISODES, [document("b", "red boat")])
            with late.reading():
                assert len(cache.of(late, view).numbers) == 2
            known = cache.of(early, view)
            assert len(known.numbers) == len(known.rows) == 1
        assert len(cache.of(early, view).numbers) == 2


async def test_a_file_of_an_earlier_release_is_searched_by_the_words_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = new_scope()
    with monkeypatch.context() as earlier:
        earlier.setattr("baton_local.sqlite_index.owner_file.WORDS_VERSION", 0)
        earlier.setattr("baton_local.sqlite_index.owner_file.indexed_words", str)
        earlier.setattr("baton_local.sqlite_index.owner_file.TOKENIZER", "porter unicode61 remove_diacritics 2")
        await SqliteIndex(tmp_path, DIMENSIONS).put(ada, EPISODES, [document("a", "Tromsø ٤٢"), document("b", "red")])
    index = SqliteIndex(tmp_path, DIMENSIONS)
    assert ids(await index.search(ada, EPISODES, query("42"))) == ["a"]
    await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-a"))
    assert ids(await index.search(ada, EPISODES, query("42"))) == []

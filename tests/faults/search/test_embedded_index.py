"""The embedded index while others write, processes die and S3 or the disk fails."""

from __future__ import annotations

import asyncio
import errno
import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from baton.adapters.sqlite_index import SqliteIndex, SqliteReindexing
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.domain.documents.search import SearchFilter
from baton.domain.errors import SearchIndexDamaged, SearchIndexFull, SearchUnavailable
from baton.domain.metrics import Metric, collect_counts
from baton_testing.fakes.documents.embedder import DIMENSIONS, FakeEmbedder
from tests.contracts.search import EPISODES, EVERYTHING, KNOWLEDGE, collect_ids, document, list_ids, new_scope, query
from tests.embedded_index import make_embedded_index
from tests.fakes.objects import FakeS3

BUCKET = "search"
LOST_ANSWER = ReadTimeoutError(endpoint_url="https://s3.test")
NO_CONNECTION = EndpointConnectionError(endpoint_url="https://s3.test")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.adapters.sqlite_index.owner_files.MAX_PAUSE_SECONDS", 0.001)


class Killed(BaseException):
    """The end of a process."""


class Failing(FakeS3):
    """A bucket that fails at one of its requests, before or after it takes effect."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[int, tuple[BaseException, bool]] = {}
        self.number = 0

    def fail(self, number: int, failure: BaseException, *, takes_effect: bool) -> None:
        """Let a later request fail; 1 is the next."""
        self.failures[self.number + number] = failure, takes_effect

    def get_object(self, **request: Any) -> Any:
        return self._send(super().get_object, request)

    def put_object(self, **request: Any) -> Any:
        return self._send(super().put_object, request)

    def delete_object(self, **request: Any) -> Any:
        return self._send(super().delete_object, request)

    def _send(self, operation: Callable[..., Any], request: Any) -> Any:
        self.number += 1
        failure, takes_effect = self.failures.get(self.number, (None, True))
        if failure is None:
            return operation(**request)
        if takes_effect:
            with suppress(ClientError):
                operation(**request)
        raise failure


class Meeting(FakeS3):
    """A bucket in which a number of writers read the same state before the first of them writes."""

    def __init__(self, writers: int) -> None:
        super().__init__()
        self.barrier = threading.Barrier(writers)
        self.is_met = False

    def put_object(self, **request: Any) -> Any:
        if not self.is_met:
            self.barrier.wait(10)
            self.is_met = True
        return super().put_object(**request)


@pytest.mark.parametrize("writers", [2, 10])
async def test_writers_at_the_same_time_lose_nothing(writers: int) -> None:
    s3, ada = Meeting(writers), new_scope()
    indices = [make_embedded_index(s3, BUCKET) for _ in range(writers)]
    entry = [(index, document(f"d{number:02}", "green paint")) for number, index in enumerate(indices)]
    await asyncio.gather(*(index.put(ada, EPISODES, [instance]) for index, instance in entry))
    for index in indices:
        assert await list_ids(index, ada, EPISODES) == [instance.id for _, instance in entry]
        assert len(collect_ids(await index.search(ada, EPISODES, query("green")))) == writers


async def test_a_writer_and_one_that_deletes_lose_nothing() -> None:
    s3, ada = FakeS3(), new_scope()
    writer, deleter = make_embedded_index(s3, BUCKET), make_embedded_index(s3, BUCKET)
    await writer.put(ada, EPISODES, [document("a", "green"), document("b", "red")])
    for number in range(10):
        await asyncio.gather(
            writer.put(ada, EPISODES, [document(f"new{number}", "blue")]),
            deleter.put(ada, EPISODES, [document("c", f"version {number}")]),
            deleter.delete(ada, EPISODES, SearchFilter(source_id="source-of-b")),
        )
    assert await list_ids(writer, ada, EPISODES) == sorted(["a", "c", *(f"new{number}" for number in range(10))])


@pytest.mark.parametrize("takes_effect", [False, True])
async def test_a_process_that_is_killed_leaves_the_old_file_or_the_new_one(takes_effect: bool) -> None:
    before = [document("a", "green"), document("b", "red")]
    for number in itertools.count(1):
        s3, ada = Failing(), new_scope()
        await make_embedded_index(s3, BUCKET).put(ada, EPISODES, before)
        s3.fail(number, Killed(), takes_effect=takes_effect)
        steps = 0
        try:
            killed = OwnerFiles(IndexObjects(s3, BUCKET))
            index = SqliteIndex(killed, DIMENSIONS)
            await index.put(ada, EPISODES, [document("b", "blue"), document("c", "white")])
            steps += 1
            await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-a"))
            steps += 1
        except Killed:
            pass
        s3.failures.clear()
        remaining = await list_ids(make_embedded_index(s3, BUCKET), ada, EPISODES)
        assert remaining in (["a", "b"], ["a", "b", "c"], ["b", "c"])
        again = make_embedded_index(s3, BUCKET)
        await again.put(ada, EPISODES, [document("b", "blue"), document("c", "white")])
        await again.delete(ada, EPISODES, SearchFilter(source_id="source-of-a"))
        assert await list_ids(again, ada, EPISODES) == ["b", "c"]
        assert collect_ids(await again.search(ada, EPISODES, replace(query("blue white"), vector=None))) == {"b", "c"}
        if steps == 2:
            assert number == 5
            return


@pytest.mark.parametrize("failure", [LOST_ANSWER, NO_CONNECTION])
@pytest.mark.parametrize("takes_effect", [False, True])
async def test_a_write_whose_answer_is_lost_is_done_once(failure: Exception, takes_effect: bool) -> None:
    s3, ada = Failing(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    await index.put(ada, EPISODES, [document("a", "green"), document("b", "red")])
    s3.fail(2, failure, takes_effect=takes_effect)  # the first one reads
    assert await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-a")) == 1
    assert await list_ids(index, ada, EPISODES) == ["b"]
    assert s3.calls.count("put_object") == 2


@pytest.mark.parametrize("failure", [LOST_ANSWER, ClientError({"Error": {"Code": "PreconditionFailed"}}, "Delete")])
@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_deletion_of_the_last_document_whose_answer_is_lost_is_counted(
    failure: Exception, *, is_alone: bool
) -> None:
    s3, ada = Failing(), new_scope()
    await make_embedded_index(s3, BUCKET).put(ada, EPISODES, [document("a", "green")])
    index = SqliteIndex(OwnerFiles(IndexObjects(s3, BUCKET), is_alone=is_alone), DIMENSIONS)
    s3.fail(2, failure, takes_effect=True)  # the first one reads
    assert await index.delete(ada, EPISODES, SearchFilter(source_id="source-of-a")) == 1
    assert s3.objects == {}


async def test_an_outage_is_no_answer_and_nothing_is_half_done() -> None:
    s3, ada = Failing(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    await index.put(ada, EPISODES, [document("a", "green")])
    for number in range(1, 20):
        s3.fail(number, NO_CONNECTION, takes_effect=False)
    with pytest.raises(SearchUnavailable):
        await index.put(ada, EPISODES, [document("b", "red")])
    with pytest.raises(SearchUnavailable):
        await index.search(ada, EPISODES, query("green"))
    s3.failures.clear()
    assert await list_ids(index, ada, EPISODES) == ["a"]


async def test_a_writer_that_never_wins_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    s3, ada = FakeS3(), new_scope()
    index, other = make_embedded_index(s3, BUCKET), OwnerFiles(IndexObjects(s3, BUCKET))
    await index.put(ada, EPISODES, [document("a", "green")])
    [key] = s3.objects
    numbers, store = itertools.count(), s3.put_object

    def put_object(**request: Any) -> Any:
        instance = document(f"n{next(numbers)}", "white")
        with monkeypatch.context() as patch:
            patch.setattr(s3, "put_object", store)
            other.change(key, lambda file: file.put([instance]))
        return store(**request)

    monkeypatch.setattr(s3, "put_object", put_object)
    with pytest.raises(SearchUnavailable):
        await index.put(ada, EPISODES, [document("b", "red")])
    monkeypatch.undo()
    assert len(await list_ids(index, ada, EPISODES)) == 21
    await index.put(ada, EPISODES, [document("b", "red")])
    assert "b" in await list_ids(index, ada, EPISODES)


async def test_a_search_during_writes_sees_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    s3, ada = FakeS3(), new_scope()
    reader, writer = make_embedded_index(s3, BUCKET), make_embedded_index(s3, BUCKET)

    async def write() -> None:
        for number in range(20):  # always two of one number
            await writer.put(ada, EPISODES, [document("a", f"green {number}"), document("b", f"green {number}")])

    writing = asyncio.create_task(write())
    while not writing.done():
        result = await reader.search(ada, EPISODES, query("green"))
        assert len({item.views["turn"].text for item in result.documents.values()}) <= 1
        await asyncio.sleep(0)
    await writing


async def test_a_copy_is_never_staler_than_the_bucket() -> None:
    s3, ada = FakeS3(), new_scope()
    reader, writer = make_embedded_index(s3, BUCKET), make_embedded_index(s3, BUCKET)
    for text in ("green", "red", "green"):  # the same content again has another tag
        await writer.put(ada, EPISODES, [document("a", text)])
        assert collect_ids(await reader.search(ada, EPISODES, replace(query(text), vector=None))) == {"a"}
    await writer.delete(ada, EPISODES, EVERYTHING)
    assert collect_ids(await reader.search(ada, EPISODES, query("green"))) == set()
    assert list(reader._files._copies._folder.iterdir()) == []  # nothing of a forgotten user is left on the disk


async def test_what_is_deleted_while_somebody_writes_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    s3, ada = FakeS3(), new_scope()
    index, forgetting = make_embedded_index(s3, BUCKET), OwnerFiles(IndexObjects(s3, BUCKET))
    await index.put(ada, EPISODES, [document("secret", "zebrafish")])
    [key] = s3.objects
    store = s3.put_object

    def put_object(**request: Any) -> Any:
        monkeypatch.undo()
        assert forgetting.change(key, lambda file: file.delete(EVERYTHING)).result == 1
        assert s3.objects == {}
        return store(**request)

    monkeypatch.setattr(s3, "put_object", put_object)
    await index.put(ada, EPISODES, [document("new", "okapi")])
    assert await list_ids(index, ada, EPISODES) == ["new"]
    assert not any(b"zebrafish" in body for body, _ in s3.objects.values())


async def test_a_damaged_file_is_named_and_hurts_its_owner_alone(caplog: pytest.LogCaptureFixture) -> None:
    s3, ada, bob, counts = FakeS3(), new_scope(), new_scope(), list[object]()
    index = make_embedded_index(s3, BUCKET)
    await index.put(ada, EPISODES, [document("a", "green")])
    for key, (body, metadata) in s3.objects.items():
        s3.objects[key] = b"This is no database." + body[20:], metadata
    await index.put(bob, EPISODES, [document("a", "green")])
    again = make_embedded_index(s3, BUCKET)
    for call in (
        again.search(ada, EPISODES, query("green")),
        again.put(ada, EPISODES, [document("b", "red")]),
        again.delete(ada, EPISODES, EVERYTHING),
    ):
        with (
            collect_counts(lambda counted: counts.append(counted[Metric.SEARCHES_FAILED])),
            pytest.raises(SearchIndexDamaged, match="search rebuild"),
        ):
            await call
    assert counts == [1, 1, 1], "an alarm rings"
    assert all(record.key.startswith(f"{ada.tenant_id}/episodes/") for record in caplog.records)  # type: ignore[attr-defined]
    assert [record.message for record in caplog.records] == ["A search index is damaged"] * 3
    assert collect_ids(await again.search(bob, EPISODES, query("green"))) == {"a"}


async def test_damaged_files_are_discarded_to_be_made_again() -> None:
    s3, ada, bob = FakeS3(), new_scope(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    for scope in (ada, bob):
        await index.put(scope, KNOWLEDGE, [document("a", "green", agent_id="cook")])
    for key, (body, metadata) in s3.objects.items():
        s3.objects[key] = body[: len(body) // 2], metadata  # its beginning can be read
    await index.put(ada, EPISODES, [document("b", "green")])
    reindexing = SqliteReindexing(OwnerFiles(IndexObjects(s3, BUCKET)))
    tenants = (ada.tenant_id, ada.tenant_id, bob.tenant_id)
    assert await reindexing.discard_damaged(ada.tenant_id, EPISODES) == 0
    assert [await reindexing.discard_damaged(tenant, KNOWLEDGE) for tenant in tenants] == [1, 0, 1]
    assert await list_ids(index, ada, KNOWLEDGE) == []
    await index.put(ada, KNOWLEDGE, [document("a", "green", agent_id="cook")])
    assert await list_ids(index, ada, EPISODES) == ["b"]


async def test_owners_whose_documents_cannot_be_embedded_again_keep_none_back_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    s3, cook = FakeS3(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    for agent_id, count in (("a-damaged", 1), ("b-full", 2), ("c-sound", 1)):
        await index.put(cook, KNOWLEDGE, [document(f"{agent_id}{n}", "red", agent_id=agent_id) for n in range(count)])
    damaged = min(s3.objects)
    s3.objects[damaged] = b"This is no database." + s3.objects[damaged][0][20:], s3.objects[damaged][1]
    monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", 1)
    larger = FakeEmbedder("larger", 50_000)
    reindexing = SqliteReindexing(OwnerFiles(IndexObjects(s3, BUCKET)))
    with pytest.raises(SearchIndexDamaged, match="search rebuild"):
        await reindexing.reindex(KNOWLEDGE, larger)
    sound = SearchFilter(agent_id="c-sound")
    assert [item.embedder async for item in index.list(cook, KNOWLEDGE, sound)] == ["larger"]
    await reindexing.discard_damaged(cook.tenant_id, KNOWLEDGE)
    with pytest.raises(SearchIndexFull):
        await reindexing.reindex(KNOWLEDGE, larger)


async def test_a_full_disk_is_emptied_of_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    s3, ada = FakeS3(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    scopes = [replace(ada, user_id=f"user{number}") for number in range(4)]
    for scope in scopes:
        await make_embedded_index(s3, BUCKET).put(scope, EPISODES, [document("a", "green")])
    for scope in scopes[:3]:
        await index.search(scope, EPISODES, query("green"))
    folder = index._files._copies._folder
    read = IndexObjects.read

    def full(self: IndexObjects, key: str, copied: Any, into: Path) -> Any:
        if len([file for file in folder.iterdir() if file != into]) > 1:
            into.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        return read(self, key, copied, into)

    monkeypatch.setattr(IndexObjects, "read", full)
    assert collect_ids(await index.search(scopes[3], EPISODES, query("green"))) == {"a"}
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(IndexObjects, "read", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(SearchUnavailable):
        await index.search(scopes[0], EPISODES, query("green"))
    assert all(file.stat().st_size > 100 for file in folder.iterdir())


async def test_writes_of_one_process_for_one_owner_are_joined() -> None:
    s3, ada = FakeS3(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    await asyncio.gather(*(index.put(ada, EPISODES, [document(f"d{number:02}", "green")]) for number in range(12)))
    assert await list_ids(index, ada, EPISODES) == [f"d{number:02}" for number in range(12)]
    assert s3.calls.count("put_object") < 12


async def test_a_write_without_room_refuses_none_that_is_joined_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.adapters.sqlite_index.bounds.MAX_OWNER_DOCUMENTS", 10)
    s3, ada = FakeS3(), new_scope()
    index = make_embedded_index(s3, BUCKET)
    large = [document(f"x{number}", "red") for number in range(11)]
    puts = [index.put(ada, EPISODES, item) for item in (large, *([document(f"d{n}", "green")] for n in range(6)))]
    first, *others = await asyncio.gather(*puts, return_exceptions=True)
    assert isinstance(first, SearchIndexFull)
    assert others == [None] * 6
    assert await list_ids(index, ada, EPISODES) == [f"d{number}" for number in range(6)]

"""Owners move from the embedded index to OpenSearch while others search, write, delete, and die."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.routed_search import RoutedIndex
from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.moving import SqliteFiles
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter
from baton.domain.errors import SearchIndexDamaged, SearchMoveClaimed, SearchMoved, SearchUnavailable
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.entry.jobs import search_move
from baton.entry.jobs.search_move import MoveResult, SearchMove
from baton.ports.documents.index_files import IndexOwner, OwnerState
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.documents.embedder import DIMENSIONS
from baton_testing.fakes.documents.search_index import FakeSearchIndex
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
    query,
)
from tests.fakes.objects import FakeS3

ADA = Scope("acme", "ada")
ADAS = IndexOwner(EPISODES, "acme", "ada")


class Killed(BaseException):
    """The end of the process."""


class WatchedIndex(FakeSearchIndex):
    """OpenSearch, with a place before and after each write."""

    around: Callable[[str], None] = staticmethod(lambda moment: None)
    then: Callable[[], Awaitable[None]] | None = None
    """Something that another process does after each write."""

    async def put(self, scope: Scope, index: IndexName, documents: Sequence[IndexDocument]) -> None:
        self.around("before copies")
        await super().put(scope, index, documents)
        self.around("after copies")
        if self.then is not None:
            await self.then()

    async def delete(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        self.around("before deletion of copies")
        deleted = await super().delete(scope, index, chosen)
        self.around("after deletion of copies")
        return deleted


@dataclass
class Stage:
    """A deployment with both engines."""

    bucket: FakeS3 = field(default_factory=FakeS3)
    engine: WatchedIndex = field(default_factory=WatchedIndex)
    clock: FakeClock = field(default_factory=FakeClock)
    slept: list[float] = field(default_factory=list)

    def make_embedded_index(self) -> SqliteIndex:
        """Return the index of a function that does not know OpenSearch."""
        return SqliteIndex(self._files(is_alone=True), DIMENSIONS)

    def make_routed_index(self) -> RoutedIndex:
        """Return the index of a new process that knows SQLite and OpenSearch."""
        files = self._files(is_alone=False)
        return RoutedIndex(SqliteFiles(files), SqliteIndex(files, DIMENSIONS), self.engine)

    def move(self, *, renewed: bool = False) -> SearchMove:
        """Return the move as a new process makes it. ``renewed``: while it waits, the other one goes on."""
        files = SqliteFiles(self._files(is_alone=False))

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.clock.advance(seconds)
            if renewed:
                claim, tag = await files.read()
                assert claim is not None
                await files.write(replace(claim, until=claim.until + search_move.CLAIM_SECONDS), tag)

        return SearchMove(files, self.engine, files, self.clock, sleep)

    async def state(self, owner: IndexOwner = ADAS) -> OwnerState:
        """Return the engine that has the owner's documents."""
        files = SqliteFiles(self._files(is_alone=False))
        return await files.state(files.key(owner))

    def kill_at(self, number: int) -> None:
        """End the next process at this moment of its writes: none of those after it is made."""
        moments: list[str] = []

        def note(moment: str) -> None:
            moments.append(moment)
            if 0 < number <= len(moments):
                raise Killed

        self.bucket.around = self.engine.around = note

    def stop_killing(self) -> None:
        """Kill no further process."""
        self.bucket.around = self.engine.around = lambda moment: None

    def _files(self, *, is_alone: bool) -> OwnerFiles:
        return OwnerFiles(IndexObjects(self.bucket, "search"), is_alone=is_alone)  # type: ignore[arg-type]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def entries(*names: str) -> list[IndexDocument]:
    return [document(name, f"The {name} is green") for name in names]


def of_agent(agent_id: str, *names: str) -> list[IndexDocument]:
    return [document(f"{agent_id}-{name}", f"The {name} is green", agent_id=agent_id) for name in names]


@pytest.mark.nightly
class TestRoutedIndex(SearchContract):
    """The contract of every search index, for owners that have moved or never had a file."""

    stems = False

    @pytest.fixture
    def index(self) -> RoutedIndex:
        return Stage().make_routed_index()


async def test_a_moved_owner_is_searched_in_opensearch_with_everything_that_the_file_had(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat", "house"))
    before = await stage.make_routed_index().search(ADA, EPISODES, query("green boat"))
    assert await stage.move().run() == MoveResult(1, 2, 0, is_complete=True)
    assert await stage.state() is OwnerState.MOVED
    after = await stage.make_routed_index().search(ADA, EPISODES, query("green boat"))
    assert (ids(after), ids(after, MEANING)) == (ids(before), ids(before, MEANING))
    assert after.documents == before.documents
    assert set(stage.engine.documents[EPISODES, "acme", "ada"]) == {"boat", "house"}


async def test_owners_with_a_file_are_served_by_it_and_others_by_opensearch(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat"))
    routed = stage.make_routed_index()
    await routed.put(ADA, EPISODES, entries("house"))
    await routed.put(Scope("acme", "bob"), EPISODES, entries("car"))
    assert list(stage.engine.documents) == [(EPISODES, "acme", "bob")]
    assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == ["boat", "house"]
    assert await list_ids(stage.make_routed_index(), Scope("acme", "bob"), EPISODES) == ["car"]
    assert await stage.state(IndexOwner(EPISODES, "acme", "bob")) is OwnerState.MOVED


async def test_a_function_that_knows_no_opensearch_makes_no_file_beside_what_has_moved(stage: Stage) -> None:
    await stage.make_routed_index().put(ADA, EPISODES, entries("car"))
    for refused in (
        stage.make_embedded_index().put(ADA, EPISODES, entries("boat")),
        stage.make_embedded_index().search(ADA, EPISODES, query("boat")),
        stage.make_embedded_index().delete(ADA, EPISODES, EVERYTHING),
        stage.make_embedded_index().count(ADA, EPISODES, EVERYTHING),
    ):
        with pytest.raises(SearchMoved, match="OpenSearchEndpoint"):
            await refused


async def test_owners_have_files_again_where_their_marks_are_removed(stage: Stage) -> None:
    for user in ("ada", "bob"):
        await stage.make_embedded_index().put(Scope("acme", user), EPISODES, entries("boat"))
    await stage.move().run([ADAS])
    assert await SqliteFiles(stage._files(is_alone=True)).remove_marks("acme") == 1
    await stage.make_embedded_index().put(ADA, EPISODES, entries("house"))
    assert await list_ids(stage.make_embedded_index(), ADA, EPISODES) == ["house"]
    assert await list_ids(stage.make_embedded_index(), Scope("acme", "bob"), EPISODES) == ["boat"]


async def test_agents_of_a_tenant_move_one_by_one(stage: Stage) -> None:
    rental, quotes = of_agent("rental", "boat", "house"), of_agent("quotes", "car")
    operator = Scope("acme", "operator")
    await stage.make_embedded_index().put(operator, KNOWLEDGE, [*rental, *quotes])
    result = await stage.move().run([IndexOwner(KNOWLEDGE, "acme", "rental")])
    assert (result.owners_moved, result.documents_copied) == (1, 2)
    routed = stage.make_routed_index()
    assert [await routed.fill_percent(operator, agent) for agent in ("rental", "quotes")] == [None, 1]
    assert await list_ids(routed, operator, KNOWLEDGE) == ["quotes-car", "rental-boat", "rental-house"]
    assert await list_ids(routed, operator, KNOWLEDGE, SearchFilter(agent_id="quotes")) == ["quotes-car"]
    assert await routed.count(operator, KNOWLEDGE, EVERYTHING) == 3
    assert await routed.delete(operator, KNOWLEDGE, SearchFilter(source_id="source-of-quotes-car")) == 1
    assert await routed.delete(operator, KNOWLEDGE, SearchFilter(source_id="source-of-rental-boat")) == 1
    assert await list_ids(stage.make_routed_index(), operator, KNOWLEDGE) == ["rental-house"]


async def test_libraries_of_the_project_move_too(stage: Stage) -> None:
    await stage.make_embedded_index().put(ProjectScope(), KNOWLEDGE, of_agent("manual", "boat"))
    assert (await stage.move().run()).owners_moved == 1
    assert await list_ids(stage.make_routed_index(), ProjectScope(), KNOWLEDGE, SearchFilter(agent_id="manual")) == [
        "manual-boat"
    ]


async def test_a_tenant_moves_and_others_stay(stage: Stage) -> None:
    for tenant in ("acme", "acme-2", "other"):
        await stage.make_embedded_index().put(Scope(tenant, "ada"), EPISODES, entries("boat"))
    assert (await stage.move().run(tenants=["acme", "other"])).owners_moved == 2
    assert await stage.state(IndexOwner(EPISODES, "acme-2", "ada")) is OwnerState.FILE


async def test_a_whole_stage_moves_in_as_many_calls_as_it_needs(stage: Stage) -> None:
    for user in ("ada", "bob", "eve"):
        await stage.make_embedded_index().put(Scope("acme", user), EPISODES, entries("boat"))
    first = await stage.move().run(seconds=0)
    assert (first.owners_moved, first.owners_left, first.is_complete) == (1, 2, False)
    assert await stage.move().run() == MoveResult(2, 2, 0, is_complete=True)
    assert await stage.move().run() == MoveResult(0, 0, 0, is_complete=True)


@pytest.mark.parametrize("moment", ["listed", "read"])
async def test_a_file_that_replaces_a_mark_while_marks_are_removed_stays(
    moment: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat"))
    [(key, file)] = stage.bucket.objects.items()
    await stage.move().run()
    list_objects = stage.bucket.list_objects_v2

    def list_before_a_write(**request: str) -> object:
        listed_objects = list_objects(**request)
        stage.bucket.objects[key] = file
        return listed_objects

    def write_before_a_deletion(now: str) -> None:
        if now == f"before delete {key}":
            stage.bucket.objects[key] = file

    if moment == "listed":
        monkeypatch.setattr(stage.bucket, "list_objects_v2", list_before_a_write)
    else:
        stage.bucket.around = write_before_a_deletion
    assert await SqliteFiles(stage._files(is_alone=True)).remove_marks() == 0
    assert stage.bucket.objects[key] == file


@pytest.mark.parametrize("stored", [0, 8_192, 20_000, 90_000])
async def test_an_owner_whose_file_is_damaged_keeps_none_back_from_the_others(stage: Stage, stored: int) -> None:
    for agent_id in ("cars", "tools"):
        await stage.make_embedded_index().put(ADA, KNOWLEDGE, of_agent(agent_id, *map(str, range(50))))
    damaged = min(stage.bucket.objects)
    body, metadata = stage.bucket.objects[damaged]
    stage.bucket.objects[damaged] = body[:stored] + b"?" * (len(body) - stored), metadata
    with pytest.raises(SearchIndexDamaged, match="search rebuild"):
        await stage.move().run()
    assert await stage.state(IndexOwner(KNOWLEDGE, "acme", "tools")) is OwnerState.MOVED
    assert await stage.state(IndexOwner(KNOWLEDGE, "acme", "cars")) is OwnerState.FILE
    with pytest.raises(SearchIndexDamaged):
        await stage.move().run()


async def test_what_is_deleted_while_it_is_copied_does_not_stay_in_opensearch(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat", "house", "car"))
    writer = stage.make_routed_index()

    async def change() -> None:
        stage.engine.then = None
        await writer.delete(ADA, EPISODES, SearchFilter(source_id="source-of-boat"))
        await writer.put(ADA, EPISODES, entries("bicycle"))

    stage.engine.then = change
    await stage.move().run()
    assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == ["bicycle", "car", "house"]
    assert set(stage.engine.documents[EPISODES, "acme", "ada"]) == {"bicycle", "car", "house"}


async def test_a_part_of_a_source_that_is_deleted_while_it_is_copied_does_not_stay(stage: Stage) -> None:
    parts = [document(name, name, source_id="episode-1", kind=name) for name in ("fact", "message")]
    await stage.make_embedded_index().put(ADA, EPISODES, parts)
    writer = stage.make_routed_index()

    async def change() -> None:
        stage.engine.then = None
        await writer.delete(ADA, EPISODES, SearchFilter(source_id="episode-1", kinds=("fact",)))

    stage.engine.then = change
    await stage.move().run()
    assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == ["message"]


async def test_an_owner_who_is_forgotten_while_copied_leaves_nothing(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat", "house"))
    writer = stage.make_routed_index()

    async def forget() -> None:
        stage.engine.then = None
        await writer.delete(ADA, EPISODES, EVERYTHING)
        await stage.engine.put(ADA, EPISODES, entries("house"))  # a copy on its way

    stage.engine.then = forget
    await stage.move().run()
    assert await stage.state() is OwnerState.NONE
    assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == []


async def test_a_file_that_is_written_all_the_time_is_left_for_the_next_call(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat"))
    writer, number = stage.make_embedded_index(), 0

    async def write() -> None:
        nonlocal number
        number += 1
        await writer.put(ADA, EPISODES, entries(f"thing-{number}"))

    stage.engine.then = write
    result = await stage.move().run()
    assert (result.owners_moved, result.owners_left, result.is_complete) == (0, 1, False)
    assert len(await list_ids(stage.make_routed_index(), ADA, EPISODES)) == 1 + search_move.ATTEMPTS
    stage.engine.then = None
    assert (await stage.move().run()).is_complete


async def test_a_move_waits_for_the_end_of_a_killed_one(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat"))
    stage.kill_at(4)
    with pytest.raises(Killed):
        await stage.move().run()
    stage.stop_killing()
    stage.clock.advance(20)
    assert (await stage.move().run()).owners_moved == 1
    assert stage.slept == [search_move.CLAIM_SECONDS - 20]
    await stage.make_embedded_index().put(Scope("acme", "bob"), EPISODES, entries("boat"))
    assert (await stage.move().run()).owners_moved == 1
    assert len(stage.slept) == 1, "a move that has ended keeps nobody waiting"


async def test_two_moves_do_not_run_at_once(stage: Stage) -> None:
    """An overtaken move would write its old copies over what came after the other one has ended."""
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat"))
    refused = 0

    async def move_too() -> None:
        nonlocal refused
        stage.engine.then = None
        with pytest.raises(SearchMoveClaimed, match="Another command"):
            await stage.move(renewed=True).run()
        refused += 1

    stage.engine.then = move_too
    assert (await stage.move().run()).owners_moved == 1
    assert refused == 1


async def test_a_move_that_was_taken_for_dead_stops_before_its_next_write(stage: Stage) -> None:
    await stage.make_embedded_index().put(ADA, EPISODES, entries("boat"))

    async def oversleep() -> None:
        stage.engine.then = None
        stage.clock.advance(search_move.CLAIM_SECONDS + 1)
        await stage.move().run()
        await stage.make_routed_index().delete(ADA, EPISODES, EVERYTHING)

    stage.engine.then = oversleep
    with pytest.raises(SearchMoveClaimed):
        await stage.move().run()
    assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == []


async def test_a_kill_between_any_two_writes_changes_nothing_that_is_found_and_a_repetition_continues() -> None:
    number = killed = 0
    while killed == number:
        number += 1
        stage = Stage()
        names = [f"thing-{location}" for location in range(search_move.AT_ONCE + 5)]
        await stage.make_embedded_index().put(ADA, EPISODES, entries(*names))
        await stage.engine.put(ADA, EPISODES, entries("left-by-an-earlier-move"))
        stage.kill_at(number)
        try:
            await stage.move().run()
        except Killed:
            killed += 1
        stage.stop_killing()
        assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == sorted(names)
        await stage.make_routed_index().delete(ADA, EPISODES, SearchFilter(source_id="source-of-thing-1"))
        stage.clock.advance(search_move.CLAIM_SECONDS + 1)
        await stage.move().run()
        expected = sorted({*names} - {"thing-1"})
        assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == expected
        assert sorted(stage.engine.documents[EPISODES, "acme", "ada"]) == expected
        assert await stage.state() is OwnerState.MOVED
    assert killed > 8


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("abcdef"), st.booleans()), min_size=1, max_size=8
)


@given(steps=STEPS, kills=st.lists(st.integers(1, 14), max_size=2))
async def test_nothing_is_lost_and_nothing_returns_whatever_is_written_and_killed_meanwhile(
    steps: list[tuple[str, str, bool]], kills: list[int]
) -> None:
    stage = Stage()
    expected = {"a", "b", "c"}
    await stage.make_embedded_index().put(ADA, EPISODES, entries(*sorted(expected)))
    writers = [stage.make_routed_index(), stage.make_routed_index()]
    waiting = list(steps)

    async def write() -> None:
        if not waiting:
            return
        around = stage.engine.around
        stage.engine.then = None
        stage.stop_killing()  # the writers are other processes
        action, name, which = waiting.pop()
        if action == "put":
            await writers[which].put(ADA, EPISODES, entries(name))
            expected.add(name)
        else:
            await writers[which].delete(ADA, EPISODES, SearchFilter(source_id=f"source-of-{name}"))
            expected.discard(name)
        assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == sorted(expected)
        stage.bucket.around = stage.engine.around = around
        stage.engine.then = write

    for number in [*kills, 0]:
        stage.engine.then = write
        stage.kill_at(number)
        with suppress(Killed, SearchUnavailable):
            await stage.move().run()
        stage.stop_killing()
        stage.engine.then = None
        stage.clock.advance(search_move.CLAIM_SECONDS + 1)
        assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == sorted(expected)
        await write()
        stage.engine.then = None
    stage.clock.advance(search_move.CLAIM_SECONDS + 1)
    await stage.move().run()
    assert await list_ids(stage.make_routed_index(), ADA, EPISODES) == sorted(expected)
    copies = stage.engine.documents.get((EPISODES, "acme", "ada"), {})
    assert sorted(copies) == sorted(expected)
    assert collect_ids(await stage.make_routed_index().search(ADA, EPISODES, query("green"))) == expected

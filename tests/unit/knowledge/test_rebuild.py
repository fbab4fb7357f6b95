"""A lost index of documents is rebuilt from what is stored."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from baton.domain.documents.document import DocumentRef, VersionStatus
from baton.domain.documents.search import IndexName
from baton.domain.metrics import Metric
from baton.domain.tenants.identity import PROJECT_TENANT
from baton.entry.jobs.search_rebuild import RebuildResult, SearchRebuild
from baton.knowledge import ingestion
from baton.knowledge.index_check import KnowledgeCheck, KnowledgeIndexCheck
from baton.memory.episodes.index_check import IndexCheck
from baton.ports.documents.search import Embedder, IndexedSource, ReindexResult
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from baton_testing.fakes.memory.episodes import FakeEpisodes
from tests.fakes.searched_tenants import FakeSearchedTenants
from tests.unit.knowledge.pipeline import AGENT, Killed, Pipeline, text_of


class Sources:
    """``SearchAdministration.sources`` over the fake index."""

    def __init__(self, search: FakeSearchIndex) -> None:
        self.search = search

    async def list_sources(self, index: IndexName, tenant_id: str | None = None) -> AsyncIterator[IndexedSource]:
        for (name, tenant, user), documents in self.search.documents.items():
            if name is index and tenant == tenant_id:
                for source in sorted({document.source_id for document in documents.values()}):
                    yield IndexedSource(tenant, user, source, 1, 0)


class Files:
    """The files of an index, of which damaged ones are discarded."""

    def __init__(self) -> None:
        self.judged: list[tuple[str, IndexName]] = []
        """The tenants and indices whose files were looked at."""

    async def reindex(self, index: IndexName, embedder: Embedder) -> ReindexResult:
        raise NotImplementedError

    async def discard_damaged(self, tenant_id: str, index: IndexName) -> int:
        self.judged.append((tenant_id, index))
        return 0


class World:
    """Tenants that share the stores, each with its pipeline, and the rebuild of their index."""

    def __init__(self, *tenants: str) -> None:
        first = Pipeline(tenants[0])
        self.pipelines = [first, *(Pipeline(tenant, shared=first) for tenant in tenants[1:])]
        self.index, self.ingestions = first.index, first.ingestions
        self.check = KnowledgeIndexCheck(first.documents, first.ingestions, first.index, Sources(first.index))  # type: ignore[arg-type]
        episodes = FakeEpisodes()

        async def index_episode(*_: object) -> None:
            raise AssertionError("there are no episodes")

        episode_check = IndexCheck(episodes, first.index, None, index_episode, embeds=True)
        tenants_with_documents = FakeSearchedTenants(first.documents, episodes)
        self.files = Files()
        self.rebuilding = SearchRebuild(tenants_with_documents, self.files, self.check, episode_check)

    async def ready(self, pipeline: Pipeline, number: int, text: str = "Bolts") -> DocumentRef:
        """A document that turns use."""
        ref = await pipeline.create(number)
        await pipeline.upload(ref, text_of(2, text))
        await pipeline.run(ref)
        return ref

    async def rebuild(
        self, before: RebuildResult | None = None, *, seconds: float = 60.0, most_seconds: float = math.inf
    ) -> RebuildResult:
        rest = (before.tenants, before.positions) if before is not None else ()
        return await self.rebuilding.run(tuple(IndexName), *rest, seconds=seconds, most_seconds=most_seconds)

    async def run_pipelines(self) -> None:
        """Carry out the runs that were started."""
        by_tenant = {pipeline.scope.tenant_id: pipeline for pipeline in self.pipelines}
        while self.ingestions.rebuilds:
            ref = self.ingestions.rebuilds[0]
            await by_tenant[ref.tenant_id].run(ref)
            self.ingestions.rebuilds.remove(ref)

    async def is_sound(self) -> bool:
        return all(
            [(await self.check.verify(pipeline.scope.tenant_id, [AGENT])).is_sound for pipeline in self.pipelines]
        )


async def test_a_lost_index_is_rebuilt_and_the_records_stay_as_they_are() -> None:
    world = World("acme")
    [acme] = world.pipelines
    refs = [await world.ready(acme, number, word) for number, word in enumerate(("Bolts", "Nuts", "Gears"), start=1)]
    before = {
        ref: (await acme.get_existing(ref), sorted(acme.list_indexed_texts()[f"{ref.document_id}@1"])) for ref in refs
    }
    world.index.documents.clear()
    missing = (await world.check.verify("acme", [AGENT])).missing
    assert set(missing) == set(refs)
    result = await world.rebuild()
    assert (result.tenants, result.documents_started, result.is_complete) == ((), 3, True)
    await world.run_pipelines()
    assert await world.is_sound()
    for ref, (document, texts) in before.items():
        after = await acme.get_existing(ref)
        assert replace(after, revision=document.revision) == document
        assert sorted(acme.list_indexed_texts()[f"{ref.document_id}@1"]) == texts
    assert acme.list_stored_files() == {1: {"original"}}


async def test_a_failed_rebuild_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World("acme")
    [acme] = world.pipelines
    ref = await world.ready(acme, 1)
    counted: list[Metric] = []
    monkeypatch.setattr(ingestion, "count", counted.append)
    await acme.step(replace(ref, rebuilds=True), "fail", error="EmbedderUnavailable")
    assert counted == [Metric.DOCUMENTS_FAILED]


async def test_damaged_files_are_looked_for_once_and_among_those_of_the_named_tenants() -> None:
    world = World("acme", "beta")
    for pipeline in world.pipelines:
        await world.ready(pipeline, 1)
        await world.ready(pipeline, 2)
    world.index.documents.clear()
    first = await world.rebuilding.run(tuple(IndexName), ["beta"], seconds=0)
    assert (first.tenants, first.is_complete) == (("beta",), False)
    await world.rebuild(first)
    assert world.files.judged == [("beta", index) for index in IndexName]


async def test_a_lost_library_is_rebuilt_like_a_tenants_documents() -> None:
    world = World("acme", PROJECT_TENANT)
    for pipeline in world.pipelines:
        await world.ready(pipeline, 1)
    world.index.documents.clear()
    assert (await world.rebuild()).documents_started == 2
    await world.run_pipelines()
    assert await world.is_sound()
    assert {tenant for (_, tenant, _), documents in world.index.documents.items() if documents} == {"acme", "~project"}


async def test_only_what_is_missing_is_rebuilt_and_only_once() -> None:
    world = World("acme")
    [acme] = world.pipelines
    whole, partial = await world.ready(acme, 1), await world.ready(acme, 2)
    documents = world.index.documents[IndexName.KNOWLEDGE, "acme", ""]
    documents.pop(f"{partial.document_id}@1#0")
    assert (await world.rebuild()).documents_started == 1
    assert (await world.rebuild()).documents_started == 0, "its run waits"
    assert [ref.document_id for ref in world.ingestions.rebuilds] == [partial.document_id]
    await world.run_pipelines()
    checked = await world.check.verify("acme", [AGENT])
    assert (checked.documents, checked.indexed, checked.is_sound) == (2, 2, True)
    assert await acme.get_existing(whole) is not None


async def test_a_version_in_progress_is_left_to_its_own_run() -> None:
    world = World("acme")
    [acme] = world.pipelines
    waiting = await acme.create()
    assert (await world.rebuild()).documents_started == 0
    assert (await world.check.verify("acme", [AGENT])).documents == 0
    assert (await acme.get_existing(waiting)).latest.status is VersionStatus.WAITING


@pytest.mark.parametrize("change", ["replaced", "deleted"])
async def test_a_document_that_changes_during_its_rebuild_leaves_no_old_chunks(change: str) -> None:
    world = World("acme")
    [acme] = world.pipelines
    ref = await world.ready(acme, 1)
    world.index.documents.clear()
    await world.rebuild()
    rebuild = world.ingestions.rebuilds[0]
    checked = await acme.step(rebuild, "check")
    part = {"format": checked["format"], "part": checked["parts"][0], "index": 0, "count": checked["count"]}
    await acme.step(rebuild, "extract", **part)
    if change == "replaced":
        newer = await acme.replace(ref)
        await acme.upload(newer, text_of(1, "Nuts"))
        await acme.run(newer)
    else:
        await acme.delete(ref)
        await acme.run(ref)
    chunked = await acme.step(rebuild, "chunk", parts=checked["count"])
    assert chunked["next"] == "clean"
    await acme.clean(rebuild)
    assert set(acme.list_indexed_texts()) == ({f"{ref.document_id}@2"} if change == "replaced" else set())


async def test_a_document_whose_content_is_lost_stays_ready_and_is_reported() -> None:
    world = World("acme")
    [acme] = world.pipelines
    ref = await world.ready(acme, 1)
    before = await acme.get_existing(ref)
    world.index.documents.clear()
    acme.files.bodies.clear()
    await world.rebuild()
    await world.run_pipelines()
    assert await acme.get_existing(ref) == before
    assert (await world.check.verify("acme", [AGENT])).missing == (ref,)


async def lose_worker(location: int | None = None) -> World:
    """A rebuild that has begun, and whose worker dies before the ``place``-th write."""
    world = World("acme")
    [acme] = world.pipelines
    await world.ready(acme, 1)
    world.index.documents.clear()
    await world.rebuild()
    if location is not None:
        acme.writes.kill_before = acme.writes.count + location
    return world


async def test_a_rebuild_that_is_killed_is_made_good_by_another() -> None:
    world = await lose_worker()
    started = world.pipelines[0].writes.count
    await world.run_pipelines()
    writes = world.pipelines[0].writes.count - started
    for index in range(1, writes + 1):
        world = await lose_worker(index)
        with pytest.raises(Killed):
            await world.run_pipelines()
        world.ingestions.rebuilds.clear()
        await world.rebuild()
        await world.run_pipelines()
        assert await world.is_sound()


async def test_tenants_are_served_in_turn_and_a_call_that_has_no_time_left_is_continued() -> None:
    world = World("flood", "acme")
    flood, acme = world.pipelines
    for number in range(1, 8):
        await world.ready(flood, number)
    await world.ready(acme, 1)
    world.index.documents.clear()
    result = await world.rebuild(seconds=0)
    assert (result.documents_started, result.is_complete) == (1, False)
    calls = 1
    while not result.is_complete:
        result = await world.rebuild(result, seconds=0)
        calls += 1
    order = [ref.tenant_id for ref in world.ingestions.rebuilds]
    assert sorted(order) == ["acme"] + ["flood"] * 7
    assert "acme" in order[:2]
    await world.run_pipelines()
    assert await world.is_sound()


async def test_a_call_that_finds_nothing_to_do_continues_at_the_next_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.knowledge.index_check.PAGE", 2)
    world = World("acme")
    [acme] = world.pipelines
    for number in range(1, 8):
        await world.ready(acme, number)
    result = await world.rebuild(seconds=0)
    places = [result.positions["acme"]]
    while not (result := await world.rebuild(result, seconds=0)).is_complete:
        places.append(result.positions["acme"])
    assert (len(places), len(set(places))) == (3, 3), "each call but the last ends on another page"
    assert (result.tenants, result.positions) == ((), {})


async def test_a_call_ends_at_its_limit_although_it_has_started_nothing() -> None:
    world = World("acme")
    [acme] = world.pipelines
    for number in range(1, 4):
        await world.ready(acme, number)
    result = await world.rebuild(seconds=0, most_seconds=0)
    assert (result.tenants, result.documents_started, result.is_complete) == (("acme",), 0, False)
    assert result.positions == {"acme": (AGENT, None)}


async def test_tenants_that_are_complete_are_not_looked_at_again() -> None:
    world = World("acme", "globex")
    acme, globex = world.pipelines
    await world.ready(acme, 1)
    for number in range(1, 4):
        await world.ready(globex, number)
    result = await world.rebuild(seconds=0)
    assert (result.tenants, result.is_complete) == (("globex",), False)


async def test_chunks_of_documents_that_are_not_stored_are_removed() -> None:
    world = World("acme", "globex")
    acme, globex = world.pipelines
    gone, stays, other = await world.ready(acme, 1), await world.ready(acme, 2), await world.ready(globex, 1)
    del acme.documents.records["acme", AGENT, gone.document_id]
    checks = await world.check.verify("acme", [AGENT])
    assert checks.orphaned == (f"{gone.document_id}@1",)
    await world.check.remove("acme", [AGENT], replace(checks, orphaned=(*checks.orphaned, f"{stays.document_id}@1")))
    assert set(acme.list_indexed_texts()) == {f"{stays.document_id}@1"}, "it is stored after all"
    assert set(globex.list_indexed_texts()) == {f"{other.document_id}@1"}


async def test_chunks_under_an_id_of_no_document_are_removed_with_the_others() -> None:
    world = World("acme")
    check = KnowledgeCheck(0, 0, 0, missing=(), orphaned=("damaged", "doc_1@x"))
    await world.check.remove("acme", [AGENT], check)

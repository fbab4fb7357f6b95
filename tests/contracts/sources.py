"""Sources of documents: what every store of their records does."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from baton.domain.documents.source import (
    Refresh,
    RefreshCounts,
    Source,
    SourceError,
    SourceKind,
    SourcePage,
    SourceStatus,
)
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope
from baton.ports.documents.sources import SourceStore
from baton_testing.fakes.clock import NOON

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


@dataclass
class SourceRooms:
    """A store of sources, with separate tenants."""

    sources: SourceStore
    tenant: str = field(default_factory=lambda: f"t{uuid.uuid4().hex}")

    def __post_init__(self) -> None:
        self.ada = Scope(self.tenant, "ada")
        self.stranger = Scope(f"{self.tenant}-2", "ada")

    async def due(self, after: timedelta = timedelta()) -> list[str]:
        """The ids of this room's sources that are due."""
        return [source.source.id async for source in self.sources.due(NOON + after) if source.tenant_id == self.tenant]


def new_source(*, agent_id: str = "knowledge", number: int | None = None) -> Source:
    unique = uuid.uuid4().hex if number is None else f"{number:032x}"
    return Source(
        id=f"src_{unique}",
        agent_id=agent_id,
        kind=SourceKind.URLS,
        title="Handbücher, größer 😀",
        refresh_hours=24,
        created_by="ada",
        created_at=NOON,
        updated_at=NOON,
        check_at=NOON,
        urls=("https://example.com/a", "https://example.com/b"),
    )


class SourceStoreContract:
    """Records of sources and their pages."""

    async def test_a_source_comes_back_whole(self, rooms: SourceRooms) -> None:
        errors = (SourceError("https://example.com/a", "HTTP 503"),)
        source = replace(
            new_source(),
            required_permission="hr:read",
            status=SourceStatus.REFRESHING,
            refresh=Refresh(3, NOON, RefreshCounts(1, 2, 3, 4), errors),
            refreshes=3,
            refreshed_at=NOON,
            documents=2,
            counts=RefreshCounts(unchanged=2),
            errors=errors,
            error="No.",
        )
        created = await rooms.sources.create(rooms.ada, source)
        assert created == replace(source, revision=1)
        assert await rooms.sources.get(rooms.ada, "knowledge", source.id) == created

    async def test_what_is_there_is_not_overwritten(self, rooms: SourceRooms) -> None:
        first = await rooms.sources.create(rooms.ada, new_source(number=1))
        assert await rooms.sources.create(rooms.ada, replace(new_source(number=1), title="Other")) == first

    async def test_a_change_is_stored_over_what_it_was_made_from_only(self, rooms: SourceRooms) -> None:
        created = await rooms.sources.create(rooms.ada, new_source())
        changes = [replace(created, worker=f"worker-{number}") for number in range(4)]
        saved = await asyncio.gather(*(rooms.sources.save(rooms.ada, change) for change in changes))
        [won] = [source for source in saved if source is not None]
        assert await rooms.sources.get(rooms.ada, "knowledge", created.id) == won
        assert await rooms.sources.save(rooms.ada, replace(won, error="No.")) is not None

    async def test_a_source_that_is_gone_is_not_saved(self, rooms: SourceRooms) -> None:
        created = await rooms.sources.create(rooms.ada, new_source())
        await rooms.sources.remove(rooms.ada, "knowledge", created.id)
        assert await rooms.sources.get(rooms.ada, "knowledge", created.id) is None
        assert await rooms.sources.save(rooms.ada, created) is None
        await rooms.sources.remove(rooms.ada, "knowledge", created.id)

    async def test_tenants_and_agents_are_apart(self, rooms: SourceRooms) -> None:
        mine = await rooms.sources.create(rooms.ada, new_source(number=1))
        await rooms.sources.save_page(rooms.ada, mine, SourcePage("https://example.com/a", "doc_a", 1))
        for scope, agent_id in ((rooms.stranger, "knowledge"), (rooms.ada, "research")):
            assert await rooms.sources.get(scope, agent_id, mine.id) is None
            assert await rooms.sources.of_agent(scope, agent_id, limit=10, cursor=None) == ([], None)
            other = replace(mine, agent_id=agent_id)
            assert await rooms.sources.save(scope, other) is None
            assert await rooms.sources.pages(scope, other) == []
            await rooms.sources.remove(scope, agent_id, mine.id)
        assert await rooms.sources.get(rooms.ada, "knowledge", mine.id) == mine

    @pytest.mark.parametrize("limit", [1, 2, 5, 10])
    async def test_pages_of_a_list_hold_every_source_once(self, rooms: SourceRooms, limit: int) -> None:
        items = [await rooms.sources.create(rooms.ada, new_source(number=number)) for number in range(5)]
        await rooms.sources.save(rooms.ada, replace(items[2], deleted_at=NOON))
        results: list[str] = []
        cursor: str | None = None
        while True:
            page, cursor = await rooms.sources.of_agent(rooms.ada, "knowledge", limit=limit, cursor=cursor)
            results += [source.id for source in page]
            if cursor is None:
                break
        assert results == [source.id for source in items if source != items[2]]

    async def test_a_cursor_that_was_not_handed_out_is_refused(self, rooms: SourceRooms) -> None:
        with pytest.raises(InvalidRequest):
            await rooms.sources.of_agent(rooms.ada, "knowledge", limit=1, cursor="nonsense")

    async def test_due_sources_are_those_whose_time_has_come(self, rooms: SourceRooms) -> None:
        sources = [
            await rooms.sources.create(rooms.ada, replace(new_source(number=number), check_at=NOON + number * HOUR))
            for number in range(4)
        ]
        assert await rooms.due() == [sources[0].id]
        assert sorted(await rooms.due(2 * HOUR)) == [source.id for source in sources[:3]]
        await rooms.sources.save(rooms.ada, replace(sources[1], check_at=NOON + 9 * HOUR))
        await rooms.sources.save(rooms.ada, replace(sources[2], deleted_at=NOON))
        await rooms.sources.remove(rooms.ada, "knowledge", sources[0].id)
        assert await rooms.due(2 * HOUR) == [sources[2].id]

    async def test_due_sources_are_yielded_one_of_each_tenant_in_turn(self, rooms: SourceRooms) -> None:
        many = [replace(new_source(number=number), check_at=NOON + number * SECOND) for number in range(30)]
        few = [replace(new_source(number=number), check_at=NOON + HOUR + number * SECOND) for number in range(2)]
        for scope, sources in ((rooms.ada, many), (rooms.stranger, few)):
            for source in reversed(sources):
                await rooms.sources.create(scope, source)
        tenants = {rooms.ada.tenant_id: "a", rooms.stranger.tenant_id: "b"}
        due = [item async for item in rooms.sources.due(NOON + 2 * HOUR) if item.tenant_id in tenants]
        assert "".join(tenants[item.tenant_id] for item in due) == "abab" + "a" * 28
        assert [item.source.id for item in due if item.tenant_id == rooms.ada.tenant_id] == [item.id for item in many]

    async def test_a_due_source_has_its_creators_scope(self, rooms: SourceRooms) -> None:
        created = await rooms.sources.create(rooms.ada, new_source())
        [due] = [source async for source in rooms.sources.due(NOON) if source.tenant_id == rooms.tenant]
        assert (due.scope, due.source) == (rooms.ada, created)

    async def test_pages_are_those_of_their_source(self, rooms: SourceRooms) -> None:
        source, other = [await rooms.sources.create(rooms.ada, new_source()) for _ in range(2)]
        pages = [
            SourcePage("https://example.com/ä?x#y", "doc_a", 2, '"etag"', "Mon, 02 Mar 2026", "ab" * 32, "HTTP 503"),
            SourcePage("s3://bucket/key", "doc_b", 1),
        ]
        for page in pages:
            await rooms.sources.save_page(rooms.ada, source, page)
        assert sorted(await rooms.sources.pages(rooms.ada, source), key=lambda page: page.document_id) == pages
        assert await rooms.sources.pages(rooms.ada, other) == []
        await rooms.sources.remove_page(rooms.ada, source, pages[0])
        await rooms.sources.remove_page(rooms.ada, source, pages[0])
        assert await rooms.sources.pages(rooms.ada, source) == [pages[1]]

    async def test_an_earlier_refresh_does_not_overwrite_a_later_one(self, rooms: SourceRooms) -> None:
        source = await rooms.sources.create(rooms.ada, new_source())
        page = SourcePage("https://example.com/a", "doc_a", 2, etag="new")
        await rooms.sources.save_page(rooms.ada, source, page)
        await rooms.sources.save_page(rooms.ada, source, replace(page, seen=1, etag="old"))
        assert await rooms.sources.pages(rooms.ada, source) == [page]
        await rooms.sources.save_page(rooms.ada, source, replace(page, etag="newer"))
        assert [page.etag for page in await rooms.sources.pages(rooms.ada, source)] == ["newer"]

    async def test_many_pages_are_all_returned(self, rooms: SourceRooms) -> None:
        source = await rooms.sources.create(rooms.ada, new_source())
        url = "https://example.com/" + "x" * 1900
        for number in range(0, 600, 50):
            await asyncio.gather(
                *(
                    rooms.sources.save_page(
                        rooms.ada, source, SourcePage(f"{url}{uuid.uuid4().hex * 20}", f"doc_{n}", 1)
                    )
                    for n in range(number, number + 50)
                )
            )
        assert len(await rooms.sources.pages(rooms.ada, source)) == 600

"""Refreshing sources: what is read, what is left alone, and what happens when pages or workers fail."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace
from datetime import timedelta

import pytest

from baton.domain.documents.document import DocumentRef, VersionStatus
from baton.domain.documents.source import SourceRules, SourceStatus
from baton.domain.errors import StoreUnavailable, UnknownSource
from baton.domain.tenants.identity import Scope
from baton.knowledge import source_pages, source_refresh
from baton.knowledge.source_refresh import LEASE
from baton.ports.documents.sources import PageContent, PageUnavailable
from tests.unit.knowledge.source_world import AGENT, DAY, SITE, World, page


def sitemap(*paths: str) -> PageContent:
    urls = "".join(f"<url><loc>{path if '://' in path else SITE + path}</loc></url>" for path in paths)
    return page(f"<urlset>{urls}</urlset>", content_type="application/xml")


@pytest.fixture
def world() -> World:
    return World()


async def test_every_page_becomes_a_document_of_its_agent(world: World) -> None:
    world.web.pages = {
        f"{SITE}/a": page("<html><head><title>First\n page</title></head>A"),
        f"{SITE}/b.md": page("# Second\n\nB", content_type="text/plain"),
    }
    source = await world.create(urls=[f"{SITE}/a", f"{SITE}/b.md#part"], required_permission="hr:read")
    report = await world.refresh()
    assert (report.sources, report.pages_changed, report.failed) == (1, 2, 0)
    result = world.list_existing()
    assert {path: document.title for path, document in result.items()} == {"/a": "First page", "/b.md": "Second"}
    assert {document.latest.content_type for document in result.values()} == {"text/html", "text/markdown"}
    assert {(document.agent_id, document.source_id) for document in result.values()} == {(AGENT, source.id)}
    assert {document.required_permission for document in result.values()} == {"hr:read"}
    assert world.contents("/b.md") == ["# Second\n\nB"]
    read = await world.source(source)
    assert (read.status, read.documents, read.counts.changed) == (SourceStatus.READY, 2, 2)
    assert (read.refresh, read.check_at) == (None, world.clock.now() + DAY)


async def test_unchanged_pages_are_not_ingested_again(world: World) -> None:
    world.web.pages = {
        f"{SITE}/etag": page("A", etag='"1"'),
        f"{SITE}/dated": page("B", last_modified="Mon, 02 Mar 2026 10:00:00 GMT"),
        f"{SITE}/neither": page("C"),
    }
    source = await world.create(urls=list(world.web.pages))
    await world.refresh()
    world.web.read.clear()
    await world.refresh_after()
    assert world.web.read == [f"{SITE}/neither"]
    assert {document.latest.number for document in world.list_existing().values()} == {1}
    assert (await world.source(source)).counts.unchanged == 3


async def test_unchanged_pages_are_ingested_again_if_their_ingestion_failed(world: World) -> None:
    world.web.pages = {f"{SITE}/etag": page("A", etag='"1"')}
    world.objects.contents["manuals", "acme/b.md"] = page("B", etag="1", content_type="text/markdown")
    await world.create(urls=list(world.web.pages))
    await world.create(kind="s3", prefix="s3://manuals/acme/")
    await world.refresh()
    for document in world.list_existing().values():
        ref = DocumentRef(world.ada.tenant_id, AGENT, document.id, 1)
        await world.app.knowledge.ingestion.fail(ref, "EmbedderUnavailable")
    await world.refresh_after()
    assert [document.latest.number for document in world.list_existing().values()] == [2, 2]
    assert [document.latest.status for document in world.list_existing().values()] == [VersionStatus.WAITING] * 2
    assert world.contents("/etag") == ["A", "A"]


async def test_a_changed_page_is_a_new_version_while_the_old_one_stays(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("old", etag='"1"')}
    await world.create(urls=[f"{SITE}/a"])
    await world.refresh()
    [location] = world.documents.records
    document = world.documents.records[location]
    ready = replace(document.latest, status=VersionStatus.READY)
    world.documents.records[location] = document.activate(ready, world.clock.now())
    world.web.pages = {f"{SITE}/a": page("new", etag='"2"')}
    await world.refresh_after()
    document = world.list_existing()["/a"]
    assert document.active is not None
    assert (document.active.number, document.latest.number) == (1, 2)
    assert world.contents("/a") == ["old", "new"]


async def test_nothing_is_read_before_its_time(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A")}
    await world.create(urls=[f"{SITE}/a"], refresh_hours=1)
    await world.refresh()
    assert (await world.refresh_after(timedelta(minutes=59))).sources == 0
    assert (await world.refresh_after(timedelta(minutes=1))).sources == 1


async def test_a_failing_page_keeps_its_document_and_is_reported(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    source = await world.create(urls=list(world.web.pages))
    await world.refresh()
    world.web.pages[f"{SITE}/a"] = PageUnavailable("The server answers HTTP 503.")
    await world.refresh_after()
    assert set(world.list_existing()) == {"/a", "/b"}
    read = await world.source(source)
    assert [(error.url, error.message) for error in read.errors] == [(f"{SITE}/a", "The server answers HTTP 503.")]
    assert (read.status, read.counts.failed, read.counts.unchanged, read.documents) == (SourceStatus.READY, 1, 1, 2)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (page("\x89PNG", content_type="image/png"), "It is image/png"),
        (page("{}", content_type="application/json"), "It is application/json"),
        (page(""), "It is empty."),
    ],
)
async def test_what_is_no_document_is_reported_and_leaves_nothing(
    world: World, content: PageContent, expected: str
) -> None:
    world.web.pages = {f"{SITE}/a": content}
    source = await world.create(urls=[f"{SITE}/a"])
    await world.refresh()
    assert world.list_existing() == {}
    [error] = (await world.source(source)).errors
    assert error.message.startswith(expected)


@pytest.mark.parametrize(
    ("path", "content_type", "body", "taken"),
    [
        ("/header", "text/html; charset=windows-1251", "", "text/html; charset=windows-1251"),
        ("/header", "TEXT/HTML;Charset='Windows-1251'", "<meta charset=koi8-r>", "text/html; charset=windows-1251"),
        ("/meta", "text/html", "<meta charset=windows-1251>", "text/html"),
        ("/content", "text/html", "", "text/html"),
        ("/xml", "application/xhtml+xml", '<?xml version="1.0" encoding="windows-1251"?>', "application/xhtml+xml"),
        ("/unknown", "", "<!doctype html>", "application/octet-stream"),
        ("/unknown.html", "application/octet-stream", "", "text/html"),
    ],
)
async def test_a_title_is_decoded_as_the_text_is(
    world: World, path: str, content_type: str, body: str, taken: str
) -> None:
    body += "<!--<title>No</title>--><script>'<title>No</title>'</script><title>Отпуск &amp; больничный</title><p>Дни."
    world.web.pages = {f"{SITE}{path}": PageContent(body.encode("cp1251"), content_type)}
    await world.create(urls=list(world.web.pages))
    await world.refresh()
    document = world.list_existing()[path]
    assert (document.title, document.latest.content_type) == ("Отпуск & больничный", taken)


async def test_a_page_without_an_ending_and_a_type_is_recognised_by_its_content(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("Text.", content_type=""), f"{SITE}/b.png": page("", content_type="")}
    source = await world.create(urls=list(world.web.pages))
    await world.refresh()
    assert set(world.list_existing()) == {"/a"}
    [error] = (await world.source(source)).errors
    assert error.message.startswith("It is of no known type")


async def test_a_page_that_its_server_says_is_gone_is_deleted(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    source = await world.create(urls=list(world.web.pages))
    await world.refresh()
    del world.web.pages[f"{SITE}/a"]
    await world.refresh_after()
    assert set(world.list_existing()) == {"/b"}
    read = await world.source(source)
    assert (read.counts.deleted, read.documents) == (1, 1)


async def test_a_page_that_has_left_the_sitemap_is_deleted(world: World) -> None:
    world.web.pages = {f"{SITE}/sitemap.xml": sitemap("/a", "/b"), f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    await world.create(kind="sitemap", url=f"{SITE}/sitemap.xml")
    await world.refresh()
    assert set(world.list_existing()) == {"/a", "/b"}
    world.web.pages[f"{SITE}/sitemap.xml"] = sitemap("/b")
    await world.refresh_after()
    assert set(world.list_existing()) == {"/b"}


async def test_an_index_leads_to_the_pages_of_its_sitemaps(world: World) -> None:
    inner = sitemap("/a", "/b", "/a#again")
    world.web.pages = {
        f"{SITE}/index.xml": page(
            f"<sitemapindex><sitemap><loc>{SITE}/1.xml.gz</loc></sitemap>"
            "<sitemap><loc>https://elsewhere.example/2.xml</loc></sitemap></sitemapindex>",
            content_type="text/xml",
        ),
        f"{SITE}/1.xml.gz": PageContent(gzip.compress(inner.body), "application/gzip"),
        f"{SITE}/a": page("A"),
        f"{SITE}/b": page("B"),
    }
    await world.create(kind="sitemap", url=f"{SITE}/index.xml")
    await world.refresh()
    assert set(world.list_existing()) == {"/a", "/b"}
    assert not any("elsewhere" in url for url in world.web.requests)


async def test_a_sitemap_speaks_for_its_own_host_only(world: World) -> None:
    world.web.pages = {
        f"{SITE}/sitemap.xml": sitemap(
            "/a", "https://bank.example/x", "http://169.254.169.254/", "nonsense", "http://[::1", "http://[::1#a"
        ),
        f"{SITE}/a": page("A"),
    }
    await world.create(kind="sitemap", url=f"{SITE}/sitemap.xml")
    await world.refresh()
    assert set(world.web.requests) == {f"{SITE}/sitemap.xml", f"{SITE}/a"}


@pytest.mark.parametrize(
    "broken",
    [
        PageUnavailable("The server answers HTTP 500."),
        page("<html>Sign in</html>"),
        page("<urlset></urlset>", content_type="application/xml"),
        PageUnavailable("The server answers HTTP 404: the page is gone.", is_gone=True),
    ],
)
async def test_a_list_that_cannot_be_read_deletes_nothing(world: World, broken: PageContent | PageUnavailable) -> None:
    world.web.pages = {f"{SITE}/sitemap.xml": sitemap("/a"), f"{SITE}/a": page("A")}
    source = await world.create(kind="sitemap", url=f"{SITE}/sitemap.xml")
    await world.refresh()
    world.web.pages[f"{SITE}/sitemap.xml"] = broken
    await world.refresh_after()
    assert set(world.list_existing()) == {"/a"}
    read = await world.source(source)
    assert read.status is SourceStatus.FAILED
    assert read.error
    assert (read.documents, read.check_at) == (1, world.clock.now() + DAY)
    world.web.pages[f"{SITE}/sitemap.xml"] = sitemap("/a")
    await world.refresh_after()
    assert ((await world.source(source)).status, (await world.source(source)).error) == (SourceStatus.READY, None)


async def test_a_list_that_is_too_long_is_cut_and_deletes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_pages, "MAX_SOURCE_PAGES", 3)
    world.web.pages = {f"{SITE}/{n}": page(f"{n}") for n in range(6)} | {
        f"{SITE}/sitemap.xml": sitemap(*(f"/{n}" for n in range(3)))
    }
    await world.create(kind="sitemap", url=f"{SITE}/sitemap.xml")
    await world.refresh()
    world.web.pages[f"{SITE}/sitemap.xml"] = sitemap("/4", "/5", "/1", "/2")
    await world.refresh_after()
    assert set(world.list_existing()) == {"/0", "/1", "/2", "/4", "/5"}


async def test_a_sitemap_that_is_not_read_for_lack_of_room_deletes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_pages, "MAX_SOURCE_PAGES", 3)
    index = f"<sitemapindex><sitemap><loc>{SITE}/1.xml</loc></sitemap><sitemap><loc>{SITE}/2.xml</loc></sitemap>"
    world.web.pages = {
        f"{SITE}/index.xml": page(f"{index}</sitemapindex>", content_type="text/xml"),
        f"{SITE}/1.xml": sitemap("/a"),
        f"{SITE}/2.xml": sitemap("/b"),
        f"{SITE}/a": page("A"),
        f"{SITE}/b": page("B"),
    }
    await world.create(kind="sitemap", url=f"{SITE}/index.xml")
    await world.refresh()
    world.web.pages[f"{SITE}/1.xml"] = sitemap("/a", *(f"https://elsewhere.example/{n}" for n in range(3)))
    await world.refresh_after()
    assert set(world.list_existing()) == {"/a", "/b"}


async def test_objects_below_a_prefix_are_read_when_their_etag_has_changed(world: World) -> None:
    def put(key: str, text: str, etag: str) -> None:
        world.objects.contents["manuals", key] = page(text, etag=etag, content_type="binary/octet-stream")

    put("acme/cars/a.md", "# Cars", "1")
    put("acme/cars/b#1?.txt", "B", "2")
    put("acme/planes/c.txt", "C", "3")
    put("globex/cars/d.txt", "D", "4")
    put("acme/cars/", "", "5")
    await world.create(kind="s3", prefix="s3://manuals/acme/cars/")
    await world.refresh()
    assert {document.title for document in world.list_existing().values()} == {"Cars", "b#1?.txt"}
    assert {document.url for document in world.list_existing().values()} == {None}
    world.objects.read_keys.clear()
    put("acme/cars/a.md", "# New cars", "6")
    del world.objects.contents["manuals", "acme/cars/b#1?.txt"]
    await world.refresh_after()
    assert world.objects.read_keys == ["acme/cars/a.md"]
    assert {document.title for document in world.list_existing().values()} == {"New cars"}


async def test_a_prefix_that_is_no_longer_allowed_is_not_read(world: World) -> None:
    world.objects.contents["manuals", "acme/a.txt"] = page("A", etag="1", content_type="text/plain")
    source = await world.create(kind="s3", prefix="s3://manuals/acme/")
    world.app = world.build_with_rules(SourceRules())
    await world.refresh()
    assert world.list_existing() == {}
    assert "does not allow" in ((await world.source(source)).error or "")


async def test_a_deleted_source_takes_its_documents_with_it(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    source = await world.create(urls=list(world.web.pages))
    other = await world.create(urls=[f"{SITE}/a"])
    await world.refresh()
    await world.app.knowledge.sources.delete(world.ada, AGENT, source.id)
    await world.refresh()
    assert [document.source_id for document in world.list_existing().values()] == [other.id]
    await world.refresh_after(LEASE)
    assert set(world.store.records) == {("acme", AGENT, other.id)}
    with pytest.raises(UnknownSource):
        await world.source(source)


async def test_a_source_that_is_deleted_while_it_is_read_leaves_nothing(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    source = await world.create(urls=list(world.web.pages))

    async def delete(url: str) -> None:
        world.web.before_fetch = None
        await world.app.knowledge.sources.delete(world.ada, AGENT, source.id)

    world.web.before_fetch = delete
    await world.refresh()
    await world.refresh()
    await world.refresh_after(LEASE)
    assert world.list_existing() == {}
    assert world.store.records == {}
    assert not any(world.store.page_records.values())


async def test_a_large_source_is_read_in_slices(world: World) -> None:
    world.web.pages = {f"{SITE}/{n}": page(f"{n}") for n in range(5)}
    source = await world.create(urls=list(world.web.pages))
    report = await world.refresh(slice_seconds=0)
    assert (report.pages_changed, world.list_existing()) == (0, {})
    assert (await world.source(source)).status is SourceStatus.REFRESHING
    await world.refresh()
    assert len(world.list_existing()) == 5
    assert (await world.source(source)).counts.changed == 5


async def test_a_worker_that_died_is_taken_over_after_its_lease(world: World) -> None:
    world.web.pages = {f"{SITE}/{n}": page(f"{n}") for n in range(5)}
    source = await world.create(urls=list(world.web.pages))

    async def die(url: str) -> None:
        if url.endswith("/3"):
            raise RuntimeError("killed")

    world.web.before_fetch = die
    assert (await world.refresh()).failed == 1
    world.web.before_fetch = None
    assert (await world.refresh()).sources == 0
    world.web.requests.clear()
    await world.refresh_after(LEASE)
    assert world.web.requests == [f"{SITE}/3", f"{SITE}/4"]
    assert len(world.list_existing()) == 5
    assert {document.latest.number for document in world.list_existing().values()} == {1}
    assert (await world.source(source)).status is SourceStatus.READY


@pytest.mark.parametrize("write", range(12))
async def test_a_refresh_that_fails_at_any_write_is_completed_by_the_next(world: World, write: int) -> None:
    world.web.pages = {f"{SITE}/{n}": page(f"{n}", etag=f"{n}") for n in range(3)}
    await world.create(urls=list(world.web.pages))
    remaining_writes = write

    async def fail() -> None:
        nonlocal remaining_writes
        remaining_writes -= 1
        if remaining_writes < 0:
            raise StoreUnavailable

    world.store.before_write = world.documents.before_write = world.files.before_write = fail
    await world.refresh()
    world.store.before_write = world.documents.before_write = world.files.before_write = None
    await world.refresh_after(LEASE)
    await world.refresh_after()
    assert {path: world.contents(path) for path in world.list_existing()} == {"/0": ["0"], "/1": ["1"], "/2": ["2"]}


async def test_a_page_whose_document_cannot_be_stored_is_read_again_after_the_lease(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A")}
    source = await world.create(urls=[f"{SITE}/a"])

    async def fail_once() -> None:
        world.documents.before_write = None
        raise StoreUnavailable

    world.documents.before_write = fail_once
    assert (await world.refresh()).failed == 1
    await world.refresh_after(LEASE)
    assert world.contents("/a") == ["A"]
    assert (await world.source(source)).errors == ()


async def test_two_workers_at_once_read_a_source_once(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A")}
    await world.create(urls=[f"{SITE}/a"])

    async def second(url: str) -> None:
        world.web.before_fetch = None
        await world.refresh()

    world.web.before_fetch = second
    await world.refresh()
    assert world.web.requests == [f"{SITE}/a"]
    assert world.contents("/a") == ["A"]


async def test_a_page_that_comes_back_is_a_document_again(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    source = await world.create(urls=list(world.web.pages))
    await world.refresh()
    gone = world.web.pages.pop(f"{SITE}/a")
    await world.refresh_after()
    world.web.pages[f"{SITE}/a"] = gone
    await world.refresh_after()
    # Its old document is still being removed.
    [error] = (await world.source(source)).errors
    assert error.url == f"{SITE}/a"
    world.documents.records = {
        location: document for location, document in world.documents.records.items() if document.deleted_at is None
    }
    await world.refresh_after()
    assert set(world.list_existing()) == {"/a", "/b"}


async def test_the_number_of_stored_errors_is_bounded(world: World) -> None:
    world.web.pages = {f"{SITE}/{n}": PageUnavailable("No. " * 200) for n in range(30)}
    source = await world.create(urls=list(world.web.pages))
    await world.refresh()
    read = await world.source(source)
    assert (len(read.errors), read.counts.failed) == (20, 30)
    assert max(len(error.message) for error in read.errors) == 300


async def test_documents_of_a_source_are_changed_by_it_alone(world: World) -> None:
    from baton.domain.errors import DocumentOfSource

    world.web.pages = {f"{SITE}/a": page("A")}
    await world.create(urls=[f"{SITE}/a"])
    await world.refresh()
    [document] = world.list_existing().values()
    with pytest.raises(DocumentOfSource):
        await world.app.knowledge.documents.delete(world.ada, AGENT, document.id)
    assert set(world.list_existing()) == {"/a"}


async def test_one_source_that_breaks_does_not_stop_the_others(world: World) -> None:
    world.web.pages = {f"{SITE}/a": page("A"), f"{SITE}/b": page("B")}
    await world.create(urls=[f"{SITE}/a"])
    await world.create(urls=[f"{SITE}/b"])

    async def die(url: str) -> None:
        if url.endswith("/a"):
            raise RuntimeError("unforeseen")

    world.web.before_fetch = die
    report = await world.refresh()
    assert (report.sources, report.failed) == (2, 1)
    assert set(world.list_existing()) == {"/b"}


async def test_a_run_ends_when_its_time_is_over(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_refresh, "CONCURRENT", 1)
    for number in range(3):
        await world.create(urls=[f"{SITE}/{number}"])
    report = await world.app.knowledge.source_refreshes.refresh_due(seconds=0)
    assert (report.sources, report.is_complete) == (0, False)


async def test_a_tenant_with_many_due_sources_does_not_delay_the_others(world: World) -> None:
    starts: list[str] = []

    async def slow(url: str) -> None:
        starts.append(url)
        await asyncio.sleep(50)

    world.web.before_fetch = slow
    stranger = Scope("globex", "eve")
    source = await world.create(urls=[f"{SITE}/0"])
    for number in range(1, 10 * source_refresh.CONCURRENT):
        urls = (f"{SITE}/{number}",)
        await world.store.create(
            world.ada, replace(source, id=f"src_{number:032x}", urls=urls, check_at=source.check_at - DAY)
        )
    await world.create(scope=stranger, urls=[f"{SITE}/of-globex"])

    report = await world.refresh()

    assert f"{SITE}/of-globex" in starts[:2], "one of each tenant in turn"
    assert len(starts) == report.sources <= 2 * source_refresh.CONCURRENT
    assert not report.is_complete


async def test_each_tenant_has_its_turn_before_another_has_a_second_one(world: World) -> None:
    starts: list[str] = []

    async def note(url: str) -> None:
        starts.append(url.removeprefix(SITE).split("/")[1])

    world.web.before_fetch = note
    for tenant, sources in (("acme", 9), ("globex", 5), ("initech", 1), ("umbrella", 3)):
        for number in range(sources):
            await world.create(scope=Scope(tenant, "eve"), urls=[f"{SITE}/{tenant}/{number}"])
    await world.refresh()
    for index in range(0, len(starts), source_refresh.CONCURRENT):
        turn = starts[index : index + source_refresh.CONCURRENT]
        waiting = set(starts[index:])
        assert len(set(turn)) == min(len(turn), len(waiting)), starts

"""Pages for sources: conditional requests, redirects, robots.txt, and servers that mean harm."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
import pytest

from baton.adapters import egress
from baton.adapters.egress import EgressPolicy, Resolver, web_pages
from baton.adapters.egress.web_pages import HttpPages
from baton.ports.documents.sources import PageContent, PageUnavailable
from tests.unit.adapters.egress.serving import Names

Answer = tuple[str, list[str], bytes]
AT_HOME = EgressPolicy(("*",), allow_local=True)
NOT_FOUND: Answer = ("404 Not Found", [], b"")
LIMIT = 1000


@dataclass
class Site:
    """A server on this machine: its answers by path, and the requests that it received."""

    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    port: int = 0

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.requests if path != "/robots.txt"]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            path = head[0].split(" ")[1]
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            self.requests.append((path, headers))
            status, more, body = self.answers.get(path, NOT_FOUND)
            await asyncio.sleep(0)
            lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *more, "", ""]
            writer.write("\r\n".join(lines).encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.at_once -= 1
            writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    result = Site()
    server = await asyncio.start_server(result.handle, "127.0.0.1", 0)
    result.port = server.sockets[0].getsockname()[1]
    yield result
    server.close()


def reader(
    policy: EgressPolicy = AT_HOME,
    *,
    pause: float = 0.0,
    resolve: Resolver | None = None,
    waits: list[float] | None = None,
) -> HttpPages:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    return HttpPages(
        lambda seconds, limit: egress.make_http_client(
            policy, timeout_seconds=seconds, max_response_bytes=limit, resolve=resolve or Names(["127.0.0.1"])
        ),
        pause_seconds=pause,
        sleep=sleep,
    )


def html(body: bytes = b"<p>Hello</p>", *headers: str) -> Answer:
    return "200 OK", ["Content-Type: Text/HTML; charset=utf-8", *headers], body


async def test_a_page_comes_with_what_shows_whether_it_has_changed(site: Site) -> None:
    site.answers["/a?x=1"] = html(b"A", 'ETag: "1"', "Last-Modified: Mon, 02 Mar 2026 10:00:00 GMT")
    content = await reader().fetch(site.url("/a?x=1"), limit=LIMIT)
    assert content == PageContent(b"A", "Text/HTML; charset=utf-8", '"1"', "Mon, 02 Mar 2026 10:00:00 GMT")
    path, headers = site.requests[-1]
    assert path == "/a?x=1"
    assert headers["user-agent"].startswith("Baton/")
    assert not {"if-none-match", "if-modified-since", "cookie", "authorization"} & set(headers)


async def test_an_unchanged_page_is_not_sent_again(site: Site) -> None:
    site.answers["/a"] = ("304 Not Modified", [], b"")
    assert await reader().fetch(site.url("/a"), limit=LIMIT, etag='"1"', last_modified="Mon") is None
    assert site.requests[-1][1]["if-none-match"] == '"1"'
    assert site.requests[-1][1]["if-modified-since"] == "Mon"
    with pytest.raises(PageUnavailable, match="304"):
        await reader().fetch(site.url("/a"), limit=LIMIT)


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone"])
async def test_a_page_may_be_gone(site: Site, status: str) -> None:
    site.answers["/a"] = (status, [], b"")
    with pytest.raises(PageUnavailable) as gone:
        await reader().fetch(site.url("/a"), limit=LIMIT)
    assert gone.value.is_gone


@pytest.mark.parametrize("status", ["500 Oops", "401 Sign in", "403 No", "429 Slow down", "204 No Content"])
async def test_a_page_may_fail_and_be_there_later(site: Site, status: str) -> None:
    site.answers["/a"] = (status, [], b"")
    with pytest.raises(PageUnavailable, match=status[:3]) as failed:
        await reader().fetch(site.url("/a"), limit=LIMIT)
    assert not failed.value.is_gone


async def test_redirects_are_followed_and_judged_again(site: Site) -> None:
    site.answers |= {
        "/a": ("302 Found", ["Location: b"], b""),
        "/b": html(b"B"),
        "/out": ("301 Moved", ["Location: https://elsewhere.example/x"], b""),
        "/in": ("307 Temporary", ["Location: http://169.254.169.254/latest/meta-data"], b""),
        "/file": ("302 Found", ["Location: file:///etc/passwd"], b""),
        "/broken": ("302 Found", ["Location: http://[::1"], b""),
        "/round": ("302 Found", ["Location: /round"], b""),
    }
    local = EgressPolicy((), allow_local=True)
    content = await reader(local).fetch(site.url("/a"), limit=LIMIT)
    assert content is not None
    assert content.body == b"B"
    for path, reported in (
        ("/out", "not among the hosts"),
        ("/in", "not among the hosts"),
        ("/file", "not an http or https"),
        ("/broken", "invalid address|cannot be re"),
        ("/round", "more than 5 times"),
    ):
        with pytest.raises(PageUnavailable, match=reported):
            await reader(local).fetch(site.url(path), limit=LIMIT)


async def test_private_addresses_are_refused_whatever_they_are_called(site: Site) -> None:
    pages = reader(EgressPolicy(("*",)), resolve=Names(["10.0.0.1"]))
    with pytest.raises(PageUnavailable, match="not a public address"):
        await pages.fetch("https://docs.example.com/a", limit=LIMIT)
    with pytest.raises(PageUnavailable, match="must be called over https"):
        await pages.fetch("http://docs.example.com/a", limit=LIMIT)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(html(b"x" * (LIMIT + 1)), "more than 1000 bytes"), (html(b"x", "Content-Encoding: gzip"), "answers compressed")],
)
async def test_what_is_too_much_is_not_read(site: Site, answer: Answer, expected: str) -> None:
    site.answers["/a"] = answer
    with pytest.raises(PageUnavailable, match=expected):
        await reader().fetch(site.url("/a"), limit=LIMIT)


async def test_a_server_that_is_not_there_or_breaks_off(site: Site) -> None:
    site.answers["/a"] = ("200 OK", ["Content-Length: 99"], b"x")
    for url in (site.url("/a"), "http://127.0.0.1:1/"):
        with pytest.raises(PageUnavailable, match=r"cannot be reached|robots\.txt"):
            await reader().fetch(url, limit=LIMIT)


ROBOTS = b"User-agent: *\nDisallow: /\n\nUser-agent: baton\nDisallow: /private\nCrawl-delay: 5\n"


async def test_robots_are_obeyed_and_read_once(site: Site) -> None:
    site.answers |= {"/robots.txt": ("200 OK", [], ROBOTS), "/a": html(), "/private/b": html()}
    waits: list[float] = []
    pages = reader(waits=waits)
    await pages.fetch(site.url("/a"), limit=LIMIT)
    with pytest.raises(PageUnavailable, match=r"robots\.txt does not allow"):
        await pages.fetch(site.url("/private/b"), limit=LIMIT)
    await pages.fetch(site.url("/a"), limit=LIMIT)
    assert [path for path, _ in site.requests] == ["/robots.txt", "/a", "/a"]
    assert all(1 < wait <= 5 for wait in waits)
    assert waits


async def test_a_huge_delay_in_robots_is_shortened(site: Site) -> None:
    site.answers |= {"/robots.txt": ("200 OK", [], b"User-agent: *\nCrawl-delay: " + b"9" * 400), "/a": html()}
    waits: list[float] = []
    await reader(waits=waits).fetch(site.url("/a"), limit=LIMIT)
    await reader(waits=waits).fetch(site.url("/a"), limit=LIMIT)
    assert all(wait <= web_pages.MAX_PAUSE_SECONDS for wait in waits)


async def test_a_host_without_robots_allows_everything(site: Site) -> None:
    site.answers |= {"/robots.txt": ("403 Forbidden", [], b""), "/a": html()}
    assert await reader().fetch(site.url("/a"), limit=LIMIT) is not None


@pytest.mark.parametrize(
    "robots",
    [
        ("503 Down", [], b""),
        ("429 Too Many Requests", [], b""),
        ("408 Request Timeout", [], b""),
        ("200 OK", [], b"x" * (web_pages.MAX_ROBOTS_BYTES + 1)),
        ("200 OK", [], b"User-agent: *\nDisallow: //[\n"),
        ("200 OK", [], "User-agent: *\nCrawl-delay: ²\n".encode()),
    ],
)
async def test_a_host_whose_robots_cannot_be_read_is_left_alone(site: Site, robots: Answer) -> None:
    site.answers |= {"/robots.txt": robots, "/a": html()}
    pages = reader()
    for _ in range(2):
        with pytest.raises(PageUnavailable, match=r"robots\.txt cannot be read"):
            await pages.fetch(site.url("/a"), limit=LIMIT)
    assert [path for path, _ in site.requests] == ["/robots.txt"]


async def test_a_host_is_asked_for_one_page_at_a_time_and_not_too_often(site: Site) -> None:
    site.answers |= {f"/{number}": html() for number in range(5)}
    waits: list[float] = []
    pages = reader(pause=1.0, waits=waits)
    await asyncio.gather(*(pages.fetch(site.url(f"/{number}"), limit=LIMIT) for number in range(5)))
    assert site.most_at_once == 1
    assert len(waits) == 5
    assert all(0 < wait <= 1 for wait in waits)


async def test_a_host_is_the_same_in_capital_letters(site: Site) -> None:
    site.answers |= {"/a": html(), "/b": html()}
    pages = reader(resolve=Names(["127.0.0.1"]))
    await pages.fetch(site.url("/a", "docs.example"), limit=LIMIT)
    await pages.fetch(site.url("/b", "Docs.Example"), limit=LIMIT)
    assert [path for path, _ in site.requests] == ["/robots.txt", "/a", "/b"]


async def test_a_robots_file_that_redirects_without_end_is_reported_as_such(site: Site) -> None:
    site.answers |= {"/robots.txt": ("302 Found", [f"Location: {site.url('/robots.txt')}"], b""), "/a": html()}
    with pytest.raises(PageUnavailable, match="redirects more than"):
        await reader().fetch(site.url("/a"), limit=LIMIT)


async def test_the_number_of_remembered_hosts_is_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_pages, "MAX_HOSTS", 3)
    site.answers["/a"] = html()
    pages = reader()
    for number in range(10):
        await pages.fetch(site.url("/a", host=f"h{number}.example.com"), limit=LIMIT)
        assert len(pages._hosts) <= 3


async def test_crawlers_share_the_lock_of_a_host_however_many_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_pages, "MAX_HOSTS", 2)
    busy: Counter[str] = Counter()
    most: Counter[str] = Counter()

    async def answer(request: httpx.Request) -> httpx.Response:
        busy[request.url.host] += 1
        most[request.url.host] = max(most[request.url.host], busy[request.url.host])
        await asyncio.sleep(0)
        busy[request.url.host] -= 1
        return httpx.Response(200, content=b"")

    transport = httpx.MockTransport(answer)
    pages = HttpPages(lambda *_: httpx.AsyncClient(transport=transport), pause_seconds=0)

    async def crawl(crawler: int) -> None:
        for page in range(5):
            await pages.fetch(f"http://shared.example.com/{crawler}/{page}", limit=LIMIT)
            await pages.fetch(f"http://h{crawler}-{page}.example.com/", limit=LIMIT)

    await asyncio.gather(*map(crawl, range(5)))
    assert most["shared.example.com"] == 1
    assert len(pages._hosts) <= 2


@pytest.mark.parametrize("url", ["http://", "ftp://127.0.0.1/", "http://a b/", "http://[::1", "http://127.0.0.1:x/"])
async def test_what_is_no_address_is_not_requested(url: str) -> None:
    with pytest.raises(PageUnavailable):
        await reader().fetch(url, limit=LIMIT)

"""Web pages for sources of documents, read by guarded clients.

A host is asked for one page at a time, at most one a second, and only for pages that its ``robots.txt`` allows
(RFC 9309).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser
from weakref import WeakValueDictionary

import httpx
from cachetools import LRUCache

from baton import __version__
from baton.adapters.egress import EgressRefused, ResponseTooLarge
from baton.domain.web_url import is_web_url
from baton.ports.documents.sources import PageContent, PageUnavailable
from baton_documents.encodings.text_encoding import decode_text
from baton_documents.media_types import MediaType

USER_AGENT = f"Baton/{__version__}"
ROBOT = "Baton"
"""The name of this robot in a ``robots.txt``."""
MAX_REDIRECTS = 5
MAX_ROBOTS_BYTES = 500 * 1024
PAGE_SECONDS = 60.0
"""The time limit of one request."""
SILENCE_SECONDS = 15.0
"""The longest silence while connecting, sending or reading."""
MAX_PAUSE_SECONDS = 10.0
"""The maximum pause between two requests. A longer ``Crawl-delay`` is shortened to this."""
ROBOTS_SECONDS = 600.0
"""Seconds for which a ``robots.txt``, or the failure to read it, is cached."""
MAX_HOSTS = 500
"""The number of hosts in memory besides those that are being read. The least recently used one is dropped first."""
_LATER = frozenset({408, 429})
"""Statuses below 500 after which a later request may get the file."""
_PORTS = {"http": 80, "https": 443}
_ACCEPT = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, */*;q=0.5"


@dataclass(slots=True, weakref_slot=True)
class _Host:
    """A scheme, host and port: its ``robots.txt``, and the time of the next request on the event loop's clock."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held during a request, so that the host gets one at a time."""
    robots: RobotFileParser | None = None
    """The rules for this robot; None if the host has none."""
    failure: str | None = None
    """The reason why ``robots.txt`` cannot be read; None if it can."""
    robots_until: float = 0.0
    """The time at which ``robots.txt`` is read again."""
    free_at: float = 0.0
    """The time from which the host may be asked again."""


@dataclass(frozen=True)
class HttpPages:
    """``WebPages`` over clients of ``adapters.egress``, which refuse private addresses, at each redirect too."""

    make_client: Callable[[float, int], httpx.AsyncClient]
    """Returns a guarded client. Its arguments are the timeout in seconds and the maximum bytes of a response."""
    pause_seconds: float = 1.0
    """The minimum pause between two requests to a host."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _hosts: WeakValueDictionary[str, _Host] = field(init=False, default_factory=WeakValueDictionary)
    """The hosts in use or in ``_recent_hosts``, so that all requests to one share its lock."""
    _recent_hosts: LRUCache[str, _Host] = field(init=False, default_factory=lambda: LRUCache(MAX_HOSTS))

    async def fetch(
        self, url: str, *, limit: int, etag: str | None = None, last_modified: str | None = None
    ) -> PageContent | None:
        conditions = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in conditions.items() if value is not None}
        response = await self._follow(url, headers, limit)
        if response.status_code == 304 and headers:
            return None
        if response.status_code in (404, 410):
            raise PageUnavailable(f"The server answers HTTP {response.status_code}: the page is gone.", is_gone=True)
        if response.status_code != 200:
            raise PageUnavailable(f"The server answers HTTP {response.status_code}.")
        return PageContent(
            response.content,
            response.headers.get("content-type", ""),
            response.headers.get("etag"),
            response.headers.get("last-modified"),
        )

    async def _follow(self, url: str, headers: dict[str, str], limit: int) -> httpx.Response:
        """Return the response after redirects. The rules apply to each address. Raises ``PageUnavailable``."""
        for _ in range(MAX_REDIRECTS + 1):
            host = self._find_host(url)
            async with host.lock:
                await self._check_robots(host, url)
                response = await self._get_when_free(host, url, headers, limit)
            if not response.has_redirect_location:
                return response
            url = _resolve_redirect(url, response)
        raise PageUnavailable(f"The server redirects more than {MAX_REDIRECTS} times.")

    def _find_host(self, url: str) -> _Host:
        """Return the host of an address. Raises ``PageUnavailable`` for an address that is not of the web."""
        if not is_web_url(url):
            raise PageUnavailable("The address, or one that it redirects to, is not an http or https address.")
        parts = urlsplit(url)
        name = f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"
        host = self._hosts.setdefault(name, _Host())
        self._recent_hosts[name] = host
        return host

    async def _check_robots(self, host: _Host, url: str) -> None:
        """Read the host's ``robots.txt`` if the copy is too old.

        Raises ``PageUnavailable`` if the file forbids the page or cannot be read.
        """
        now = asyncio.get_running_loop().time()
        if now >= host.robots_until:
            host.robots, host.failure = None, None
            try:
                host.robots = await self._read_robots(host, url)
            except PageUnavailable as failure:
                host.failure = str(failure)
            host.robots_until = now + ROBOTS_SECONDS
        if host.failure is not None:
            raise PageUnavailable(f"The host's robots.txt cannot be read: {host.failure}")
        if host.robots is not None and not host.robots.can_fetch(ROBOT, url):
            raise PageUnavailable("The host's robots.txt does not allow this page.")

    async def _read_robots(self, host: _Host, url: str) -> RobotFileParser | None:
        """Return the rules of a host; None if it has none. Raises ``PageUnavailable`` if they cannot be read."""
        robots_url = str(
            httpx.URL(url).copy_with(path="/robots.txt", query=None, fragment=None, username="", password="")
        )
        for _ in range(MAX_REDIRECTS + 1):
            response = await self._get_when_free(host, robots_url, {}, MAX_ROBOTS_BYTES)
            if not response.has_redirect_location:
                return _parse_robots(response)
            robots_url = _resolve_redirect(robots_url, response)
        raise PageUnavailable(f"the server redirects more than {MAX_REDIRECTS} times.")

    async def _get_when_free(self, host: _Host, url: str, headers: dict[str, str], limit: int) -> httpx.Response:
        """Wait until the host may be asked again, then send one request. Raises ``PageUnavailable``."""
        loop = asyncio.get_running_loop()
        if (wait := host.free_at - loop.time()) > 0:
            await self.sleep(wait)
        delay = int(host.robots.crawl_delay(ROBOT) or 0) if host.robots is not None else 0
        try:
            return await self._get(url, headers, limit)
        finally:
            host.free_at = loop.time() + min(max(delay, self.pause_seconds), MAX_PAUSE_SECONDS)

    async def _get(self, url: str, headers: dict[str, str], limit: int) -> httpx.Response:
        """Send one request, without following redirects. Raises ``PageUnavailable`` without a response."""
        all_headers = {"Accept": _ACCEPT, "User-Agent": USER_AGENT, **headers}
        try:
            async with asyncio.timeout(PAGE_SECONDS), self.make_client(SILENCE_SECONDS, limit) as client:
                return await client.get(url, headers=all_headers, follow_redirects=False)
        except EgressRefused as error:
            raise PageUnavailable(str(error)) from error
        except ResponseTooLarge as error:
            raise PageUnavailable(f"The server sends more than {limit} bytes.") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise PageUnavailable("The server did not answer in time.") from error
        except httpx.HTTPError as error:
            raise PageUnavailable("The server cannot be reached, or broke off its answer.") from error
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise PageUnavailable("The address, or one that it redirects to, cannot be requested.") from error


def _parse_robots(response: httpx.Response) -> RobotFileParser | None:
    """Return the rules in a response; None if the host has none. Raises ``PageUnavailable`` if they cannot be read."""
    if 400 <= response.status_code < 500 and response.status_code not in _LATER:
        return None
    if response.status_code != 200:
        raise PageUnavailable(f"the server answers HTTP {response.status_code}.")
    rules = RobotFileParser()
    try:
        rules.parse(decode_text(response.content, MediaType("text/plain", "utf-8")).splitlines())
    except ValueError as error:  # the standard library's parser raises it for some paths and delays
        raise PageUnavailable("it has a line that is no rule.") from error
    return rules


def _resolve_redirect(url: str, response: httpx.Response) -> str:
    """Return the address to which the response of ``url`` redirects. Raises ``PageUnavailable``."""
    try:
        return str(httpx.URL(url).join(response.headers["location"]))
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise PageUnavailable("The server redirects to an invalid address.") from error

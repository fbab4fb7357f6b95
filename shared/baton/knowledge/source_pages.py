"""Pages of sources: list the current ones, and update their documents."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from baton.concurrency.tasks import off_loop
from baton.domain.documents.document import MAX_DOCUMENT_BYTES, VersionStatus
from baton.domain.documents.source import (
    MAX_SITEMAP_BYTES,
    MAX_SOURCE_PAGES,
    Source,
    SourceKind,
    SourcePage,
    SourceRules,
    derive_document_id,
)
from baton.domain.errors import (
    DocumentBusy,
    DocumentOfSource,
    DocumentUnreadable,
    InvalidRequest,
    LimitReached,
    SourceRefused,
    UnknownDocument,
)
from baton.domain.tenants.identity import Scope
from baton.domain.web_url import drop_fragment
from baton.knowledge.document_rules import MAX_NAME_BYTES, MAX_TITLE
from baton.knowledge.documents import DocumentRequest, Documents
from baton.ports.documents.documents import TextExtractor
from baton.ports.documents.sources import PageContent, PageUnavailable, SourceObjects, SourceStore, WebPages
from baton_documents.encodings.text_encoding import GUESSING, find_encoding
from baton_documents.formats import MEDIA_TYPES, DocumentFormat
from baton_documents.media_types import HTML, MediaType, find_type, is_page
from baton_documents.results import Sitemap

MAX_SITEMAPS = 50
"""The number of an index's sitemaps that are read. An index in an index is ignored: sitemaps.org forbids it."""
MAX_MESSAGE = 300
"""The length to which a page's error is cut, in characters."""
PAGE_SECONDS = 120
"""The time limit of a page with its redirects and the pauses between them."""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of a source."""

    url: str
    """Its address, or ``s3://bucket/key``."""
    etag: str | None = None
    """The entity tag of an object, from the listing."""


@dataclass(frozen=True, slots=True)
class PageListing:
    """The distinct pages of a source, in its order."""

    pages: tuple[ListedPage, ...]
    is_complete: bool
    """True if the source has no other pages. Only then a missing page is deleted."""


@dataclass(frozen=True, slots=True)
class PageListings:
    """A reader of the lists of sources' pages."""

    web: WebPages
    objects: SourceObjects
    rules: Callable[[], SourceRules]
    """Returns the current rules for addresses and buckets."""
    extractor: TextExtractor

    async def read(self, scope: Scope, source: Source) -> PageListing:
        """Return the pages of a source.

        Raises ``PageUnavailable`` if they cannot be listed or a sitemap has none, and ``ExtractionUnavailable``.
        """
        match source.kind:
            case SourceKind.URLS:
                return PageListing(tuple(map(ListedPage, source.urls)), is_complete=True)
            case SourceKind.SITEMAP:
                return await self._list_sitemap(source.url or "")
            case SourceKind.S3:
                return await self._list_objects(scope, source.prefix or "")

    async def _list_objects(self, scope: Scope, prefix: str) -> PageListing:
        try:
            # Checked again, because the deployment may allow less than when the source was created.
            bucket, key_prefix = self.rules().parse_prefix(scope.tenant_id, prefix)
        except (InvalidRequest, SourceRefused) as error:
            raise PageUnavailable(error.detail) from None
        stored_objects = await self.objects.list_objects(bucket, key_prefix, limit=MAX_SOURCE_PAGES + 1)
        listed = [
            stored_object
            for stored_object in stored_objects[:MAX_SOURCE_PAGES]
            if stored_object.size > 0 and not stored_object.key.endswith("/")
        ]
        pages = tuple(ListedPage(f"s3://{bucket}/{stored_object.key}", stored_object.etag) for stored_object in listed)
        return PageListing(pages, is_complete=len(stored_objects) <= MAX_SOURCE_PAGES)

    async def _list_sitemap(self, url: str) -> PageListing:
        first = await self._read_sitemap(url)
        is_complete = first.is_complete and len(first.sitemaps) <= MAX_SITEMAPS
        urls = list(first.urls)
        for child in _select_own_host(url, first.sitemaps)[:MAX_SITEMAPS]:
            if len(urls) > MAX_SOURCE_PAGES:
                is_complete = False
                break
            inner = await self._read_sitemap(child)
            is_complete = is_complete and inner.is_complete
            urls += inner.urls
        pages = _select_own_host(url, urls)
        if not pages:
            raise PageUnavailable("The sitemap lists no pages of its own host.")
        listed = tuple(map(ListedPage, pages[:MAX_SOURCE_PAGES]))
        return PageListing(listed, is_complete=is_complete and len(pages) <= MAX_SOURCE_PAGES)

    async def _read_sitemap(self, url: str) -> Sitemap:
        content = await self.web.fetch(url, limit=MAX_SITEMAP_BYTES)
        if content is None:
            raise PageUnavailable(f"{url} answers that it is unchanged, although the request has no condition.")
        try:
            charset = MediaType.parse(content.content_type).charset
            return await self.extractor.read_sitemap(content.body, limit=MAX_SOURCE_PAGES + 1, charset=charset)
        except DocumentUnreadable as error:
            raise PageUnavailable(f"{url} cannot be read as a sitemap. {error.detail}") from None


def _select_own_host(sitemap: str, urls: list[str]) -> list[str]:
    """Return the distinct addresses of the sitemap's own host, because a sitemap may list no others (sitemaps.org)."""
    host = urlsplit(sitemap).hostname
    own_urls = []
    for url in dict.fromkeys(drop_fragment(url) for url in urls):
        with suppress(ValueError):  # for an invalid address
            own_urls += [url] if urlsplit(url).hostname == host else []
    return own_urls


class PageOutcome(StrEnum):
    """The outcome of a page's refresh. The names are those of ``RefreshCounts``."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PageResult:
    """The outcome of a page's refresh, and the reason if the page could not be read."""

    outcome: PageOutcome
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PageRefreshes:
    """Refreshes of single pages.

    Every step may be repeated: ids are derived from addresses, versions from checksums.
    """

    store: SourceStore
    documents: Documents
    web: WebPages
    objects: SourceObjects

    async def refresh(
        self, scope: Scope, source: Source, listed: ListedPage, source_page: SourcePage | None, *, number: int
    ) -> PageResult:
        """Read a page for the refresh ``number`` unless it is unchanged, and store that it was read.

        A page that cannot be read keeps its document. If its server says that the page is gone, the document is
        deleted. Raises ``StoreUnavailable``, and as ``drop`` does.
        """
        page = source_page or SourcePage(
            listed.url, derive_document_id(scope.tenant_id, source, listed.url), number - 1
        )
        try:
            content = await self._fetch(source, listed, page, is_known=await self._has_content(scope, source, page))
            if content is None:
                await self.store.save_page(scope, source, replace(page, seen=number, error=None))
                return PageResult(PageOutcome.UNCHANGED)
            return await self._store_content(scope, source, page, content, number)
        except PageUnavailable as failure:
            message = str(failure)[:MAX_MESSAGE]
            if failure.is_gone and source_page is not None:
                await self.drop(scope, source, page)
                return PageResult(
                    PageOutcome.DELETED if source_page.sha256 is not None else PageOutcome.FAILED, message
                )
            await self.store.save_page(scope, source, replace(page, seen=number, error=message))
            return PageResult(PageOutcome.FAILED, message)

    async def drop(self, scope: Scope, source: Source, page: SourcePage) -> None:
        """Delete a page's document, and then the page's record. Raises ``DocumentBusy`` and ``StoreUnavailable``."""
        with suppress(UnknownDocument):
            await self.documents.delete(scope, source.agent_id, page.document_id, source_id=source.id)
        await self.store.remove_page(scope, source, page)

    async def _has_content(self, scope: Scope, source: Source, page: SourcePage) -> bool:
        """Return whether the document has the page's content. It does not after a failed ingestion."""
        if page.sha256 is None:
            return False
        try:
            document = await self.documents.get(scope, source.agent_id, page.document_id)
        except UnknownDocument:
            return False
        return document.latest.status is not VersionStatus.FAILED

    async def _fetch(
        self, source: Source, listed: ListedPage, page: SourcePage, *, is_known: bool
    ) -> PageContent | None:
        """Return the page's content; None if it has not changed. ``is_known``: the stored content is up to date.

        Raises ``PageUnavailable``, also after ``PAGE_SECONDS``.
        """
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                return await self._read_content(source, listed, page, is_known=is_known)
        except TimeoutError:
            raise PageUnavailable(f"It could not be read within {PAGE_SECONDS} seconds.") from None

    async def _read_content(
        self, source: Source, listed: ListedPage, page: SourcePage, *, is_known: bool
    ) -> PageContent | None:
        if source.kind is SourceKind.S3:
            if is_known and listed.etag == page.etag:
                return None
            bucket, _, key = listed.url.removeprefix("s3://").partition("/")
            return await self.objects.read(bucket, key, limit=MAX_DOCUMENT_BYTES)
        return await self.web.fetch(
            listed.url,
            limit=MAX_DOCUMENT_BYTES,
            etag=page.etag if is_known else None,
            last_modified=page.last_modified if is_known else None,
        )

    async def _store_content(
        self, scope: Scope, source: Source, page: SourcePage, content: PageContent, number: int
    ) -> PageResult:
        """Make the content the document's newest version. Raises ``PageUnavailable``."""
        media_type = find_type(MediaType.parse(content.content_type), read_path(page.url))
        if media_type is None:
            media_name = content.content_type[:100] or "of no known type"
            raise PageUnavailable(f"It is {media_name}, which is no type of document that can be read.")
        if not content.body:
            raise PageUnavailable("It is empty.")
        if page.sha256 is None:
            # The page is stored first, because the worker that deletes a source finds its documents by their pages.
            await self.store.save_page(scope, source, page)
        request = DocumentRequest(
            name=read_file_name(page.url),
            content_type=str(media_type),
            size=len(content.body),
            sha256=None,
            document_id=page.document_id,
            source_id=source.id,
            etag=content.etag,
            details={
                "title": await off_loop(len(content.body) * GUESSING, find_title, page.url, media_type, content.body),
                "url": page.url if source.kind is not SourceKind.S3 else None,
                "required_permission": source.required_permission,
            },
        )
        try:
            document = await self.documents.put(scope, source.agent_id, request, content.body)
        except (DocumentBusy, DocumentOfSource, LimitReached) as error:
            raise PageUnavailable(error.detail) from error
        sha256 = document.latest.sha256
        updated = replace(
            page, seen=number, etag=content.etag, last_modified=content.last_modified, sha256=sha256, error=None
        )
        await self.store.save_page(scope, source, updated)
        return PageResult(PageOutcome.UNCHANGED if sha256 == page.sha256 else PageOutcome.CHANGED)


_BEGINNING = 64 * 1024
"""The number of bytes at the beginning of a page in which a title is searched."""
_TITLE = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|svg|template)\b.*?(?:</\1|\Z)"
    r"|<title\b[^>]{0,1000}+>((?:[^<]|<(?!/title)){0,2000})",
    re.IGNORECASE | re.DOTALL,
)
"""A title, or a comment or element in which a title's tag does not count."""
_HEADING = re.compile(r"^# ++([^\n]{1,1000})$", re.MULTILINE)


def find_title(url: str, media_type: MediaType, body: bytes) -> str:
    """Return the title of an HTML or Markdown page; for other pages, or without one, the file name in the address.

    The title is decoded as the text of the page is, and has at most ``MAX_TITLE`` characters.
    """
    title = None
    match MEDIA_TYPES.get(media_type.essence):
        case DocumentFormat.HTML:
            title = _read_html_title(_decode_beginning(media_type, body))
        case DocumentFormat.MARKDOWN if heading := _HEADING.search(_decode_beginning(media_type, body)):
            title = heading[1]
        case None if is_page(body):
            title = _read_html_title(_decode_beginning(MediaType(HTML, media_type.charset), body))
    printable = "".join(character if character.isprintable() else " " for character in title or "")
    return " ".join(printable.split())[:MAX_TITLE] or read_file_name(url)[:MAX_TITLE]


def _decode_beginning(media_type: MediaType, body: bytes) -> str:
    return find_encoding(body, media_type).decode(body[:_BEGINNING])


def read_path(url: str) -> str:
    """Return the decoded path of an address; for an object in S3, a slash and the object's key."""
    if url.startswith("s3://"):
        return "/" + url.removeprefix("s3://").partition("/")[2]
    return unquote(urlsplit(url).path, errors="replace")


def read_file_name(url: str) -> str:
    """Return the name of a page's file: the last segment of its path, or its host."""
    name = PurePosixPath(read_path(url)).name or urlsplit(url).netloc
    name = "".join(character for character in name if character.isprintable()) or "page"
    while len(name.encode()) > MAX_NAME_BYTES:
        name = name[:-1]
    return name


def _read_html_title(text: str) -> str | None:
    for match in _TITLE.finditer(text):
        if match[2] is not None:
            return html.unescape(match[2])
    return None

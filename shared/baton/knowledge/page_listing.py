"""Find out which pages a source has at present."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urldefrag, urlsplit

from baton.domain.documents.source import MAX_SITEMAP_BYTES, MAX_SOURCE_PAGES, Source, SourceKind, SourceRules
from baton.domain.errors import DocumentUnreadable, InvalidRequest, SourceRefused
from baton.domain.tenants.identity import Scope
from baton.ports.documents.documents import TextExtractor
from baton.ports.documents.sources import PageUnavailable, SourceObjects, WebPages
from baton_documents.media_types import MediaType
from baton_documents.results import Sitemap

MAX_SITEMAPS = 50
"""Sitemaps that are read of one index. An index in an index is not followed: the protocol knows none."""


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that a source has."""

    url: str
    """Its address, or ``s3://bucket/key``."""
    etag: str | None = None
    """The entity tag of an object, from the listing."""


@dataclass(frozen=True, slots=True)
class PageListing:
    """The pages of a source, in its order, each once."""

    pages: tuple[ListedPage, ...]
    is_complete: bool
    """True if there are no others. Only then a page that is not listed is gone."""


@dataclass(frozen=True, slots=True)
class PageListings:
    """Listings of the pages of sources."""

    web: WebPages
    objects: SourceObjects
    rules: Callable[[], SourceRules]
    """Returns the places that may be read now."""
    extractor: TextExtractor

    async def of(self, scope: Scope, source: Source) -> PageListing:
        """Return the pages of a source. Raises ``PageUnavailable`` if they cannot be listed, or if there are none."""
        match source.kind:
            case SourceKind.URLS:
                return PageListing(tuple(map(ListedPage, source.urls)), is_complete=True)
            case SourceKind.SITEMAP:
                return await self._of_sitemap(source.url or "")
            case SourceKind.S3:
                return await self._of_prefix(scope, source.prefix or "")

    async def _of_prefix(self, scope: Scope, prefix: str) -> PageListing:
        try:
            bucket, key_prefix = self.rules().place(scope.tenant_id, prefix)  # the deployment may allow less by now
        except (InvalidRequest, SourceRefused) as error:
            raise PageUnavailable(error.detail) from None
        stored_objects = await self.objects.objects(bucket, key_prefix, limit=MAX_SOURCE_PAGES + 1)
        listed = [
            stored_object
            for stored_object in stored_objects[:MAX_SOURCE_PAGES]
            if stored_object.size > 0 and not stored_object.key.endswith("/")
        ]
        pages = tuple(ListedPage(f"s3://{bucket}/{stored_object.key}", stored_object.etag) for stored_object in listed)
        return PageListing(pages, is_complete=len(stored_objects) <= MAX_SOURCE_PAGES)

    async def _of_sitemap(self, url: str) -> PageListing:
        first = await self._sitemap(url)
        is_complete = first.is_complete and len(first.sitemaps) <= MAX_SITEMAPS
        urls = list(first.urls)
        for child in _of_site(url, first.sitemaps)[:MAX_SITEMAPS]:
            if len(urls) > MAX_SOURCE_PAGES:
                break
            inner = await self._sitemap(child)
            is_complete = is_complete and inner.is_complete
            urls += inner.urls
        pages = _of_site(url, urls)
        if not pages:
            raise PageUnavailable("The sitemap lists no pages of its own host.")
        listed = tuple(map(ListedPage, pages[:MAX_SOURCE_PAGES]))
        return PageListing(listed, is_complete=is_complete and len(pages) <= MAX_SOURCE_PAGES)

    async def _sitemap(self, url: str) -> Sitemap:
        content = await self.web.fetch(url, limit=MAX_SITEMAP_BYTES)
        if content is None:
            raise PageUnavailable(f"{url} answers that it is unchanged, although nobody asked.")
        try:
            charset = MediaType.parse(content.content_type).charset
            return await self.extractor.sitemap(content.body, limit=MAX_SOURCE_PAGES + 1, charset=charset)
        except DocumentUnreadable as error:
            raise PageUnavailable(f"{url} cannot be read as a sitemap. {error.detail}") from None


def _of_site(sitemap: str, urls: list[str]) -> list[str]:
    """Return the addresses of the sitemap's own host, each once: it speaks for no other."""
    host = urlsplit(sitemap).hostname
    return [url for url in dict.fromkeys(urldefrag(url).url for url in urls) if _host(url) == host]


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None

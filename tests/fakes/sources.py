"""Sources of documents in memory, and the places that they are read from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from baton.adapters.dynamodb.shapes import SOURCE
from baton.domain.cursors import decode_text, encode_text
from baton.domain.documents.source import Source, SourcePage, alternate_tenants
from baton.domain.tenants.identity import Scope
from baton.ports.documents.sources import DueSource, PageContent, PageUnavailable, StoredObject


class FakeSources:
    """``ports.documents.sources.SourceStore``."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str, str], Source] = {}
        """(tenant, agent, source)."""
        self.page_records: dict[tuple[str, str, str], dict[str, SourcePage]] = {}
        self.before_write: Callable[[], Awaitable[None]] | None = None
        """Called before every write, for example to fail."""

    async def create(self, scope: Scope, source: Source) -> Source:
        await self._call()
        key = scope.tenant_id, source.agent_id, source.id
        return self.records.setdefault(key, replace(_round_times(source), revision=1))

    async def get(self, scope: Scope, agent_id: str, source_id: str) -> Source | None:
        return self.records.get((scope.tenant_id, agent_id, source_id))

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Source], str | None]:
        after = decode_text(cursor) if cursor else ""
        listed = sorted(
            (
                source
                for (tenant, agent, _), source in self.records.items()
                if (tenant, agent) == (scope.tenant_id, agent_id) and source.deleted_at is None and source.id > after
            ),
            key=lambda source: source.id,
        )
        return listed[:limit], encode_text(listed[limit - 1].id) if len(listed) > limit else None

    async def save(self, scope: Scope, source: Source) -> Source | None:
        await self._call()
        key = scope.tenant_id, source.agent_id, source.id
        stored = self.records.get(key)
        if stored is None or stored.revision != source.revision:
            return None
        self.records[key] = replace(_round_times(source), revision=source.revision + 1)
        return self.records[key]

    async def remove(self, scope: Scope, agent_id: str, source_id: str) -> None:
        await self._call()
        self.records.pop((scope.tenant_id, agent_id, source_id), None)

    async def due(self, before: datetime) -> AsyncIterator[DueSource]:
        results = [(tenant, source) for (tenant, _, _), source in self.records.items() if source.check_at <= before]
        oldest_first = sorted(results, key=lambda entry: entry[1].check_at)
        for tenant, source in alternate_tenants(oldest_first, lambda entry: entry[0]):
            yield DueSource(tenant, source)

    async def pages(self, scope: Scope, source: Source) -> Sequence[SourcePage]:
        return list(self._pages(scope, source).values())

    async def save_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        await self._call()
        pages = self._pages(scope, source)
        if page.document_id not in pages or pages[page.document_id].seen <= page.seen:
            pages[page.document_id] = page

    async def remove_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        await self._call()
        self._pages(scope, source).pop(page.document_id, None)

    def _pages(self, scope: Scope, source: Source) -> dict[str, SourcePage]:
        return self.page_records.setdefault((scope.tenant_id, source.agent_id, source.id), {})

    async def _call(self) -> None:
        if self.before_write is not None:
            await self.before_write()


@dataclass
class FakeWebPages:
    """``WebPages``: pages by address, or why they cannot be read. ``requests`` notes every request."""

    pages: dict[str, PageContent | PageUnavailable] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Those whose content was handed out."""
    before_fetch: Callable[[str], Awaitable[None]] | None = None

    async def fetch(
        self, url: str, *, limit: int, etag: str | None = None, last_modified: str | None = None
    ) -> PageContent | None:
        self.requests.append(url)
        if self.before_fetch is not None:
            await self.before_fetch(url)
        result = self.pages.get(url, PageUnavailable("The server answers HTTP 404: the page is gone.", is_gone=True))
        if isinstance(result, PageUnavailable):
            raise result
        if len(result.body) > limit:
            raise PageUnavailable(f"The server sends more than {limit} bytes.")
        if etag is not None and etag == result.etag:
            return None
        if etag is None and last_modified is not None and last_modified == result.last_modified:
            return None
        self.read.append(url)
        return result


@dataclass
class FakeSourceObjects:
    """``ports.documents.sources.SourceObjects``: objects by bucket and key."""

    contents: dict[tuple[str, str], PageContent] = field(default_factory=dict)
    read_keys: list[str] = field(default_factory=list)

    async def list_objects(self, bucket: str, prefix: str, *, limit: int) -> Sequence[StoredObject]:
        return [
            StoredObject(key, content.etag or "", len(content.body))
            for (location, key), content in sorted(self.contents.items(), key=lambda entry: entry[0])
            if location == bucket and key.startswith(prefix)
        ][:limit]

    async def read(self, bucket: str, key: str, *, limit: int) -> PageContent:
        self.read_keys.append(key)
        if (bucket, key) not in self.contents:
            raise PageUnavailable("S3 answers NoSuchKey.", is_gone=True)
        return self.contents[bucket, key]


def _round_times(source: Source) -> Source:
    """Return the source with its times cut to milliseconds, as a store keeps it."""
    return SOURCE.unpack(SOURCE.pack(source), id=source.id, agent_id=source.agent_id, revision=source.revision)

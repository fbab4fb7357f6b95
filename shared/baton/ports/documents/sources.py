"""Ports for sources of documents: their records, and the web and the buckets from which they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.documents.source import Source, SourcePage
from baton.domain.tenants.identity import Scope


@dataclass(frozen=True, slots=True)
class DueSource:
    """A source that is due."""

    tenant_id: str
    source: Source

    @property
    def scope(self) -> Scope:
        """The scope in which its documents are written: its creator's."""
        return Scope(self.tenant_id, self.source.created_by)


class SourceStore(Protocol):
    """The records of sources and of their pages, inside the scope's tenant. Methods raise ``StoreUnavailable``."""

    async def create(self, scope: Scope, source: Source) -> Source:
        """Store a new source; return the existing one if its id is taken in this agent."""

    async def get(self, scope: Scope, agent_id: str, source_id: str) -> Source | None:
        """Return a source, even a deleted one while its record exists; None if there is no record."""

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Source], str | None]:
        """Return a page of the agent's sources that are not deleted, by id, and the next page's cursor."""

    async def save(self, scope: Scope, source: Source) -> Source | None:
        """Store a changed source and return it with its new revision; None if another change was faster."""

    async def remove(self, scope: Scope, agent_id: str, source_id: str) -> None:
        """Remove the record of a deleted source."""

    def due(self, before: datetime) -> AsyncIterator[DueSource]:
        """Yield the sources whose ``check_at`` has passed: one of each tenant in turn, the longest overdue first.

        A tenant with thousands of sources therefore does not delay other tenants.
        """

    async def pages(self, scope: Scope, source: Source) -> Sequence[SourcePage]:
        """Return all pages of a source that have or had a document."""

    async def save_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        """Store a page, unless a later refresh has stored it."""

    async def remove_page(self, scope: Scope, source: Source, page: SourcePage) -> None:
        """Remove the record of a page without a document."""


class PageUnavailable(Exception):
    """A page cannot be read. The message is the reason, for the people who manage the source."""

    def __init__(self, message: str, *, is_gone: bool = False) -> None:
        """``is_gone``: the server answers that the page does not exist."""
        self.is_gone = is_gone
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    body: bytes
    content_type: str
    """The value of the header with its parameters; empty if unknown."""
    etag: str | None = None
    last_modified: str | None = None


class WebPages(Protocol):
    """A reader of web pages, one at a time from each host, and only those that ``robots.txt`` allows."""

    async def fetch(
        self, url: str, *, limit: int, etag: str | None = None, last_modified: str | None = None
    ) -> PageContent | None:
        """Return a page of at most ``limit`` bytes, or None if it is unchanged. Raises ``PageUnavailable``."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object below a prefix."""

    key: str
    etag: str
    size: int


class SourceObjects(Protocol):
    """The objects in the buckets that sources may name."""

    async def list_objects(self, bucket: str, prefix: str, *, limit: int) -> Sequence[StoredObject]:
        """Return the first ``limit`` objects below a prefix, by key. Raises ``PageUnavailable``."""

    async def read(self, bucket: str, key: str, *, limit: int) -> PageContent:
        """Return an object of at most ``limit`` bytes. Raises ``PageUnavailable``."""

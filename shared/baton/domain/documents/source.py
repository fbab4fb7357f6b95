"""Sources of documents: lists of addresses, sitemaps and S3 prefixes that are read at intervals."""

from __future__ import annotations

import re
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from baton.domain.errors import InvalidRequest, SourceRefused
from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused
from baton.domain.web_url import has_credentials, is_web_url

MAX_SOURCE_URL = 2048
"""Characters of an address."""
TENANT = "{tenant}"
"""The placeholder for the tenant's id in an allowed prefix."""
PREFIX_ENTRY = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9!_.*'()~=-]+/)*\{tenant\}/([A-Za-z0-9!_.*'()~=-]+/)*"
"""One entry of the allowed prefixes: a bucket and a path that names the tenant in a separate segment."""

_S3 = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(.+)")
_MAX_KEY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The hosts and the prefixes that sources may name."""

    egress: EgressPolicy = field(default_factory=EgressPolicy)
    prefixes: tuple[str, ...] = ()
    """Entries of the form ``PREFIX_ENTRY``. A tenant reads only below them, with its own id as ``{tenant}``."""

    def check_url(self, url: str) -> None:
        """Check an address. Raises ``InvalidRequest`` if it is no web address or holds credentials.

        Raises ``SourceRefused`` if it must not be called.
        """
        if has_credentials(url):
            raise InvalidRequest(
                "Addresses must hold no user name and no password: every user who lists the source can read them."
            )
        if not is_web_url(url, MAX_SOURCE_URL):
            raise InvalidRequest(
                f"Addresses must be absolute http or https ones of at most {MAX_SOURCE_URL} characters."
            )
        try:
            self.egress.check_url(url)
        except EgressRefused as error:
            raise SourceRefused(str(error)) from None

    def parse_prefix(self, tenant_id: str, prefix: str) -> tuple[str, str]:
        """Return the bucket and the key prefix of ``s3://bucket/prefix``.

        Raises ``InvalidRequest`` if it does not have this form, ``SourceRefused`` if the tenant must not read it.
        """
        match = _S3.fullmatch(prefix)
        if match is None or not prefix.isprintable() or len(match[2].encode()) > _MAX_KEY_BYTES:
            raise InvalidRequest(
                f"prefix must be s3://bucket/prefix, with at most {_MAX_KEY_BYTES} printable bytes after the bucket."
            )
        allowed = self.list_allowed_prefixes(tenant_id)
        if not f"{match[1]}/{match[2]}".startswith(tuple(allowed)):
            names = " and ".join(f"s3://{beginning}" for beginning in allowed) or "none"
            raise SourceRefused(
                f"This deployment does not allow this prefix. It allows {names} (BATON_SOURCE_PREFIXES)."
            )
        return match[1], match[2]

    def list_allowed_prefixes(self, tenant_id: str) -> list[str]:
        """Return the prefixes that the tenant may read, as ``bucket/path/``."""
        return [entry.replace(TENANT, tenant_id) for entry in self.prefixes]


MAX_SOURCE_URLS = 100
"""Addresses of a source of the kind ``urls``."""
MAX_SOURCE_PAGES = 2000
"""Documents of a source. Further pages of a sitemap or a prefix are not read."""
MAX_SOURCE_ERRORS = 20
"""Errors that are stored of a refresh. Further errors are only counted."""
MAX_REFRESH_HOURS = 8760
MAX_SITEMAP_BYTES = 10 * 1024 * 1024
"""Bytes of a sitemap as it is served."""

_SOURCES = uuid.UUID("a9b1a0a6-4b86-5d39-9b63-0a3fd0d5a3c4")
"""Name space of the ids of sources and of their documents."""


T = TypeVar("T")


def alternate_tenants(overdue: Iterable[T], tenant_of: Callable[[T], str]) -> Iterator[T]:
    """Yield the overdue sources in rounds, one of each tenant. Tenants are in the order of their first sources."""
    by_tenant: dict[str, deque[T]] = {}
    for source in overdue:
        by_tenant.setdefault(tenant_of(source), deque()).append(source)
    while by_tenant:
        for tenant, sources in list(by_tenant.items()):
            yield sources.popleft()
            if not sources:
                del by_tenant[tenant]


class SourceKind(StrEnum):
    """The kind of a source."""

    URLS = "urls"
    SITEMAP = "sitemap"
    S3 = "s3"


class SourceStatus(StrEnum):
    """The state of a source."""

    WAITING = "waiting"
    """It has not been read yet."""
    REFRESHING = "refreshing"
    READY = "ready"
    """It was read. Single pages may have failed."""
    FAILED = "failed"
    """Its list of pages could not be read. Its documents stay as they were."""


@dataclass(frozen=True, slots=True)
class SourceError:
    """The reason for which a page or the list of pages could not be read."""

    url: str
    message: str


@dataclass(frozen=True, slots=True)
class RefreshCounts:
    """The result of a refresh, in pages."""

    changed: int = 0
    """Pages whose content has changed, and new ones."""
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Refresh:
    """The refresh in progress."""

    number: int
    """From 1. A page that the refresh has seen has this number as ``seen``."""
    started_at: datetime
    counts: RefreshCounts = field(default_factory=RefreshCounts)
    errors: tuple[SourceError, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A source of an agent's documents, in a tenant."""

    id: str
    agent_id: str
    kind: SourceKind
    title: str
    refresh_hours: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    check_at: datetime
    """The time of the next refresh. During a refresh, the time at which another worker may take over."""
    urls: tuple[str, ...] = ()
    """The addresses of a source of the kind ``urls``."""
    url: str | None = None
    """The address of a source of the kind ``sitemap``."""
    prefix: str | None = None
    """The prefix of a source of the kind ``s3``: ``s3://bucket/prefix``."""
    required_permission: str | None = None
    """The permission that its documents require."""
    status: SourceStatus = SourceStatus.WAITING
    refresh: Refresh | None = None
    refreshes: int = 0
    """The number of refreshes that have begun."""
    refreshed_at: datetime | None = None
    """The end of the last refresh."""
    documents: int = 0
    """The number of documents after the last refresh."""
    counts: RefreshCounts = field(default_factory=RefreshCounts)
    """The counts of the last refresh."""
    errors: tuple[SourceError, ...] = ()
    """The first ``MAX_SOURCE_ERRORS`` of the last refresh."""
    error: str | None = None
    """The reason for which its list of pages could not be read."""
    worker: str | None = None
    """The id of the last claim, which distinguishes the claims of two workers at the same moment."""
    revision: int = 0
    """The number of times that it was stored. A change is stored only over the revision on which it is based."""
    deleted_at: datetime | None = None

    @property
    def interval(self) -> timedelta:
        """The time between two refreshes."""
        return timedelta(hours=self.refresh_hours)


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page of a source that has or had a document."""

    url: str
    """Its address, or ``s3://bucket/key``."""
    document_id: str
    seen: int
    """The number of the last refresh that has dealt with it."""
    etag: str | None = None
    last_modified: str | None = None
    """The server's value, unchanged."""
    sha256: str | None = None
    """The digest of the content that became the document's newest version; None until there is one."""
    error: str | None = None
    """The reason why the last attempt to read it failed; None if it succeeded."""


def derive_source_id(tenant_id: str, agent_id: str, content: str) -> str:
    """Return the id of a source whose client chose none. The same request gives the same id."""
    return f"src_{uuid.uuid5(_SOURCES, chr(0).join(('source', tenant_id, agent_id, content))).hex}"


def derive_document_id(tenant_id: str, source: Source, url: str) -> str:
    """Return the id of the document of a page, which is the same at every refresh."""
    return f"doc_{uuid.uuid5(_SOURCES, chr(0).join(('page', tenant_id, source.agent_id, source.id, url))).hex}"

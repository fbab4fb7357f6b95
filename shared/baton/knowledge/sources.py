"""Create, list, refresh and delete the sources of agents' documents. ``source_refresh`` reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from baton.domain.documents.source import (
    MAX_REFRESH_HOURS,
    MAX_SOURCE_URLS,
    Source,
    SourceKind,
    SourceRules,
    derive_source_id,
)
from baton.domain.errors import InvalidRequest, LimitReached, SourceConflict, StoreUnavailable, UnknownSource
from baton.domain.tenants.identity import Scope
from baton.domain.web_url import drop_fragment
from baton.knowledge.document_rules import MAX_TITLE, check_permission, check_title
from baton.ports.clock import Clock
from baton.ports.documents.sources import SourceStore
from baton.ports.tenants.audit import AuditLog

MAX_SOURCES = 100
"""The maximum number of an agent's sources in a tenant."""
MAX_TRIES = 5
"""The number of attempts to change a source that others change too."""

_SOURCE_ID = re.compile(r"src_[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """A source in a caller's request. It has not been checked."""

    kind: str
    urls: Sequence[str] | None
    url: str | None
    prefix: str | None
    refresh_hours: int
    title: str | None
    required_permission: str | None
    source_id: str | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the agents of all tenants. Callers must check permissions and that the agent exists."""

    store: SourceStore
    rules: Callable[[], SourceRules]
    """Returns the current rules for addresses and buckets."""
    audit: AuditLog
    clock: Clock

    async def create(self, scope: Scope, agent_id: str, request: SourceRequest) -> Source:
        """Store a source, which is then read within minutes. A repeated request returns the existing source.

        Raises ``InvalidRequest``, ``SourceRefused`` for a source that the deployment forbids, ``SourceConflict`` if the
        id is that of a deleted or another source, and ``LimitReached``.
        """
        source = self._check_source(scope, agent_id, request)
        stored = await self.store.get(scope, agent_id, source.id)
        while stored is not None and stored.deleted_at is not None and request.source_id is None:
            # The deleted source may still be stored. Its successor's id is derived too, so that a repetition finds it.
            source = replace(source, id=derive_source_id(scope.tenant_id, agent_id, f"after {stored.id}"))
            stored = await self.store.get(scope, agent_id, source.id)
        if stored is None:
            others, _ = await self.store.of_agent(scope, agent_id, limit=MAX_SOURCES, cursor=None)
            if len(others) >= MAX_SOURCES:
                raise LimitReached(f"An agent has at most {MAX_SOURCES} sources. Delete some that are not needed.")
            stored = await self.store.create(scope, source)
            detail = {"agentId": agent_id, "sourceId": source.id, "kind": source.kind.value}
            await self.audit.record(scope, "source.create", thread_id=None, outcome="created", detail=detail)
        if stored.deleted_at is not None or _describe_definition(stored) != _describe_definition(source):
            raise SourceConflict
        return stored

    async def get(self, scope: Scope, agent_id: str, source_id: str) -> Source:
        """Return a source. Raises ``UnknownSource`` if it does not exist or is deleted."""
        source = await self.store.get(scope, agent_id, source_id)
        if source is None or source.deleted_at is not None:
            raise UnknownSource
        return source

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Source], str | None]:
        """Return a page of the agent's sources, and the next page's cursor."""
        return await self.store.of_agent(scope, agent_id, limit=limit, cursor=cursor)

    async def refresh(self, scope: Scope, agent_id: str, source_id: str) -> Source:
        """Request that a source is read within minutes. A source that is being read does not change.

        Raises ``UnknownSource``, and ``StoreUnavailable`` after ``MAX_TRIES`` conflicts with other changes.
        """
        for _ in range(MAX_TRIES):
            source = await self.get(scope, agent_id, source_id)
            if source.refresh is not None:
                return source
            saved = await self.store.save(scope, replace(source, check_at=self.clock.now()))
            if saved is not None:
                detail = {"agentId": agent_id, "sourceId": source_id}
                await self.audit.record(scope, "source.refresh", thread_id=None, outcome="requested", detail=detail)
                return saved
        raise StoreUnavailable

    async def delete(self, scope: Scope, agent_id: str, source_id: str) -> Source:
        """Delete a source. Its documents are deleted within minutes. The call may be repeated.

        Raises ``UnknownSource``, and ``StoreUnavailable`` after ``MAX_TRIES`` conflicts with other changes.
        """
        for _ in range(MAX_TRIES):
            source = await self.store.get(scope, agent_id, source_id)
            if source is None:
                raise UnknownSource
            if source.deleted_at is not None:
                return source
            now = self.clock.now()
            saved = await self.store.save(scope, replace(source, deleted_at=now, updated_at=now, check_at=now))
            if saved is not None:
                detail = {"agentId": agent_id, "sourceId": source_id}
                await self.audit.record(scope, "source.delete", thread_id=None, outcome="deleted", detail=detail)
                return saved
        raise StoreUnavailable

    def _check_source(self, scope: Scope, agent_id: str, request: SourceRequest) -> Source:
        """Return the source of a valid request. Raises ``InvalidRequest`` and ``SourceRefused``."""
        if request.kind not in tuple(SourceKind):
            raise InvalidRequest(f"kind must be one of {', '.join(SourceKind)}.")
        kind = SourceKind(request.kind)
        field_name = {SourceKind.URLS: "urls", SourceKind.SITEMAP: "url", SourceKind.S3: "prefix"}[kind]
        fields = {"urls": request.urls, "url": request.url, "prefix": request.prefix}
        if [name for name, value in fields.items() if value is not None] != [field_name]:
            raise InvalidRequest(f"A source of the kind {kind.value} has {field_name}: leave the other two out.")
        if not 1 <= request.refresh_hours <= MAX_REFRESH_HOURS:
            raise InvalidRequest(f"refreshHours must be 1 to {MAX_REFRESH_HOURS}.")
        if request.source_id is not None and not _SOURCE_ID.fullmatch(request.source_id):
            raise InvalidRequest("sourceId must be src_ and 32 hexadecimal digits in lower case, as of a UUID.")
        check_title(request.title)
        check_permission(request.required_permission)
        urls = tuple(dict.fromkeys(drop_fragment(url) for url in request.urls or ()))
        if kind is SourceKind.URLS and not 1 <= len(urls) <= MAX_SOURCE_URLS:
            raise InvalidRequest(f"urls must hold 1 to {MAX_SOURCE_URLS} addresses.")
        for url in (*urls, *((request.url,) if request.url is not None else ())):
            self.rules().check_url(url)
        if request.prefix is not None:
            self.rules().parse_prefix(scope.tenant_id, request.prefix)
        now = self.clock.now()
        source = Source(
            id="",
            agent_id=agent_id,
            kind=kind,
            title=request.title or (request.url or request.prefix or urls[0])[:MAX_TITLE],
            refresh_hours=request.refresh_hours,
            created_by=scope.user_id,
            created_at=now,
            updated_at=now,
            check_at=now,
            urls=urls,
            url=request.url,
            prefix=request.prefix,
            required_permission=request.required_permission,
        )
        content = json.dumps(_describe_definition(source))
        return replace(source, id=request.source_id or derive_source_id(scope.tenant_id, agent_id, content))


def _describe_definition(source: Source) -> tuple[object, ...]:
    """Return the fields of a source that its request has set."""
    return (
        source.kind.value,
        source.title,
        source.refresh_hours,
        source.urls,
        source.url,
        source.prefix,
        source.required_permission,
    )

"""Documents in memory: their records, their files, and the pipelines that were started."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from baton.adapters.dynamodb.shapes import DOCUMENT
from baton.domain.cursors import decode_text, encode_text
from baton.domain.documents.document import Document, DocumentRef, IngestionStep, VersionStatus
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis

_Place = tuple[str, str, str]
"""Tenant, agent and document."""


class FakeDocuments:
    """``ports.documents.documents.DocumentStore``."""

    def __init__(self) -> None:
        self.records: dict[_Place, Document] = {}
        self.before_write: Callable[[], Awaitable[None]] | None = None
        """A function that is called before every write, for example to let it fail."""
        self.after_write: Callable[[], Awaitable[None]] | None = None
        """A function that is called after every write that was not refused."""

    async def create(self, scope: Scope, document: Document) -> Document:
        await self._call(self.before_write)
        key = scope.tenant_id, document.agent_id, document.id
        created = self.records.setdefault(key, replace(_round_times(document), revision=1))
        await self._call(self.after_write)
        return created

    async def get(self, scope: Scope, agent_id: str, document_id: str) -> Document | None:
        return self.records.get((scope.tenant_id, agent_id, document_id))

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        results = {document_id: await self.get(scope, agent_id, document_id) for document_id in document_ids}
        return {document_id: document for document_id, document in results.items() if document is not None}

    async def save(self, scope: Scope, document: Document) -> Document | None:
        await self._call(self.before_write)
        key = scope.tenant_id, document.agent_id, document.id
        stored = self.records.get(key)
        if stored is None or stored.revision != document.revision:
            return None
        self.records[key] = replace(_round_times(document), revision=document.revision + 1)
        await self._call(self.after_write)
        return self.records[key]

    async def note_progress(
        self, scope: Scope, ref: DocumentRef, step: IngestionStep, percent: int, at: datetime
    ) -> None:
        await self._call(self.before_write)
        key = scope.tenant_id, ref.agent_id, ref.document_id
        document = self.records.get(key)
        if document is None or document.next is None or document.deleted_at is not None:
            return
        version = document.next
        if (version.number, version.status) != (ref.version, VersionStatus.PROCESSING) or version.progress >= percent:
            return
        noted = replace(version, progress=percent, step=step)
        updated_at = max(document.updated_at, from_millis(to_millis(at)))
        self.records[key] = replace(document, next=noted, updated_at=updated_at)
        await self._call(self.after_write)

    async def count(self, scope: Scope, agent_id: str, *, up_to: int) -> int:
        results = [
            key
            for key, document in self.records.items()
            if key[:2] == (scope.tenant_id, agent_id) and document.deleted_at is None
        ]
        return min(len(results), up_to)

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Document], str | None]:
        before = decode_text(cursor) if cursor else None
        listed = sorted(
            (
                (f"{to_millis(document.created_at):015d}#{document.id}", document)
                for (tenant, agent, _), document in self.records.items()
                if (tenant, agent) == (scope.tenant_id, agent_id) and document.deleted_at is None
            ),
            key=lambda entry: entry[0],
            reverse=True,
        )
        results = [document for document in listed if before is None or document[0] < before]
        more = encode_text(results[limit - 1][0]) if len(results) > limit else None
        return [document for _, document in results[:limit]], more

    async def remove(self, scope: Scope, document: Document) -> bool:
        await self._call(self.before_write)
        key = scope.tenant_id, document.agent_id, document.id
        stored = self.records.get(key)
        if stored is not None and stored.revision != document.revision:
            return False
        self.records.pop(key, None)
        await self._call(self.after_write)
        return True

    async def due(self, before: datetime) -> AsyncIterator[DocumentRef]:
        for (tenant, agent, document_id), document in list(self.records.items()):
            if document.check_at is not None and document.check_at <= before:
                yield DocumentRef(tenant, agent, document_id, document.latest.number)

    async def _call(self, hook: Callable[[], Awaitable[None]] | None) -> None:
        if hook is not None:
            await hook()


def _round_times(document: Document) -> Document:
    """Return the document as a store keeps it, with times rounded to milliseconds."""
    body = DOCUMENT.pack(document)
    return DOCUMENT.unpack(body, id=document.id, agent_id=document.agent_id, revision=document.revision)

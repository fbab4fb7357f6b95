"""The step of ingestion that removes the remains of stale versions of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from baton.domain.documents.document import Document, DocumentRef, derive_chunk_source_id
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.errors import StoreUnavailable
from baton.knowledge.document_records import MAX_TRIES, DocumentRecords, make_pipeline_scope
from baton.ports.clock import Clock
from baton.ports.documents.documents import DocumentFiles
from baton.ports.documents.search import SearchIndex


@dataclass(frozen=True, slots=True)
class Cleaning:
    """The last step of the state machine ``ingest_document``. It runs for a deleted document too."""

    records: DocumentRecords
    files: DocumentFiles
    search: SearchIndex
    clock: Clock
    wait: timedelta
    """The longest time for which a worker may still write chunks of a stale version."""

    async def clean(self, ref: DocumentRef) -> float:
        """Remove the chunks and files of stale versions. Return the seconds after which to repeat this, or 0.

        The repetition comes after every worker that might still write has ended. Only the repetition removes the
        versions from the record, or the record of a deleted document. Raises ``StoreUnavailable`` and
        ``SearchUnavailable``.
        """
        for _ in range(MAX_TRIES):
            document = await self.records.get(ref)
            if document is None:
                return 0
            await self._remove(ref, document)
            seconds = await self._settle(ref, document)
            if seconds is not None:
                return seconds
        raise StoreUnavailable

    async def _remove(self, ref: DocumentRef, document: Document) -> None:
        scope = make_pipeline_scope(ref)
        for version in document.stale:
            source = SearchFilter(agent_id=document.agent_id, source_id=derive_chunk_source_id(document.id, version))
            await self.search.delete(scope, IndexName.KNOWLEDGE, source)
            await self.files.remove(scope, document, version, with_original=True)
        if document.active is not None and document.deleted_at is None:
            await self.files.remove(scope, document, document.active.number, with_original=False)

    async def _settle(self, ref: DocumentRef, document: Document) -> float | None:
        """Record the removal. Return the seconds as ``clean`` does; None if the record was changed meanwhile."""
        scope, now = make_pipeline_scope(ref), self.clock.now()
        if document.stale and document.cleaned_at is None:
            saved = await self.records.documents.save(scope, replace(document, cleaned_at=now))
            return self.wait.total_seconds() if saved is not None else None
        if document.cleaned_at is not None and (time_left := document.cleaned_at + self.wait - now) > timedelta():
            return time_left.total_seconds()
        if document.deleted_at is not None:
            return 0 if await self.records.documents.remove(scope, document) else None
        cleaned = document.drop_stale()
        if cleaned == document or await self.records.documents.save(scope, cleaned) is not None:
            return 0
        return None

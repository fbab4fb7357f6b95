"""Changes of a document's record, on the condition that no other worker has changed it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton.domain.documents.document import Document, DocumentRef, DocumentVersion, VersionStatus
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope, make_stored_scope
from baton.ports.documents.documents import DocumentStore

MAX_TRIES = 8
"""The number of attempts to change a record while others change it too."""


@dataclass(frozen=True, slots=True)
class DocumentRecords:
    """Records for the pipeline, which acts in a document's tenant with a separate user id."""

    documents: DocumentStore

    async def get(self, ref: DocumentRef) -> Document | None:
        """Return the document, also a deleted one; None if there is no record."""
        return await self.documents.get(make_pipeline_scope(ref), ref.agent_id, ref.document_id)

    async def change(self, ref: DocumentRef, change: Callable[[Document], Document | None]) -> Document | None:
        """Apply ``change`` to the current record, store the result and return it.

        Return None if there is no record or ``change`` returns None. Raises ``StoreUnavailable`` in an outage, or
        after ``MAX_TRIES`` conflicts with other changes.
        """
        for _ in range(MAX_TRIES):
            document = await self.get(ref)
            changed = change(document) if document is not None else None
            if changed is None:
                return None
            saved = await self.documents.save(make_pipeline_scope(ref), changed)
            if saved is not None:
                return saved
        raise StoreUnavailable


def make_pipeline_scope(ref: DocumentRef) -> Scope:
    """Return the scope in which the pipeline works."""
    return make_stored_scope(ref.tenant_id, "~ingestion")


def next_version_has_status(document: Document | None, version: int, *statuses: VersionStatus) -> bool:
    """Return whether ``version`` is the next one of a document that is not deleted, with one of the statuses."""
    return (
        document is not None
        and document.deleted_at is None
        and document.next is not None
        and document.next.number == version
        and document.next.status in statuses
    )


def find_worked_version(
    document: Document | None, ref: DocumentRef, *statuses: VersionStatus
) -> DocumentVersion | None:
    """Return the version of ``ref`` if the pipeline still has to work on it; None if not.

    The version must have one of ``statuses``; for a rebuild, it must be in use.
    """
    if document is None:
        return None
    if ref.rebuilds:
        version = document.in_use
        return version if version is not None and version.number == ref.version else None
    return document.latest if next_version_has_status(document, ref.version, *statuses) else None

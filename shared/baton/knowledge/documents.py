"""Add, list and delete the documents of agents.

A document's record decides which version turns use. A new version is used once its ingestion has ended. A deleted
document is no longer used from the moment of its deletion, and its data is removed later.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from baton.domain.documents.document import UPLOAD_WAIT, Document, DocumentRef, DocumentVersion, VersionStatus
from baton.domain.errors import DocumentBusy, DocumentOfSource, LimitReached, UnknownDocument
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.documents.documents import ORIGINAL, DocumentFiles, DocumentStore, Ingestions
from baton.ports.documents.files import Upload
from baton.ports.tenants.audit import AuditLog
from baton.tenants.tenant_copies import CurrentLimits

MAX_IN_LIBRARY = 2_000
"""The maximum number of documents of a library of the project."""
MAX_TRIES = 5
"""The number of attempts to change a record that others change too."""

_DOCUMENTS = uuid.UUID("3d0e7c1e-6a55-5a0b-8f27-0f4d0c2f9a11")
"""The name space of the ids of documents whose client has chosen none."""


class Details(TypedDict, total=False):
    """The details of a document in a request, besides its content. Missing details do not change."""

    title: str | None
    """The title; None for the file's name."""
    url: str | None
    required_permission: str | None


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """A document to add, checked by ``check_request``."""

    name: str
    content_type: str
    size: int
    """The size of the content, in bytes."""
    sha256: str | None
    """The checksum of the content in hexadecimal digits; None if it is not known."""
    document_id: str | None
    """The id; None to derive it from the checksum, or to make a random one without a checksum."""
    details: Details
    source_id: str | None = None
    """The source whose document it is; None for a document of a client."""
    etag: str | None = None
    """The entity tag of the source's page."""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document, and the upload of its newest version; None if the version does not wait for an upload."""

    document: Document
    upload: Upload | None


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the agents of all tenants. Callers must check permissions and that the agent exists."""

    store: DocumentStore
    files: DocumentFiles
    ingestions: Ingestions
    audit: AuditLog
    clock: Clock
    limits: CurrentLimits

    async def prepare(self, scope: Scope, agent_id: str, request: DocumentRequest) -> PreparedDocument:
        """Create a document or a new version of one, and return it with its upload.

        A request that equals the newest version is a repetition. It returns that version, with an upload as long as
        the version waits for one. After that, only a request with a checksum can be recognised as equal. Raises
        ``DocumentBusy``, ``DocumentOfSource`` and ``LimitReached``.
        """
        document, is_new = await self._store_version(scope, agent_id, request)
        version = document.latest
        if is_new:
            action = "document.create" if version.number == 1 else "document.replace"
            detail = {"agentId": agent_id, "documentId": document.id, "version": version.number, "name": version.name}
            await self.audit.record(scope, action, thread_id=None, outcome="waiting", detail=detail)
        upload = None
        if version.status is VersionStatus.WAITING:
            upload = await self.files.presign_upload(
                scope, document, version.number, version.content_type, version.size, version.sha256
            )
        return PreparedDocument(document, upload)

    async def put(self, scope: Scope, agent_id: str, request: DocumentRequest, body: bytes) -> Document:
        """Store the content of a source's document, which starts its ingestion, unless the newest version has it.

        Raises ``DocumentBusy``, ``DocumentOfSource`` and ``LimitReached``. After a failure a repetition completes the
        work.
        """
        request = replace(request, size=len(body), sha256=hashlib.sha256(body).hexdigest())
        document, _ = await self._store_version(scope, agent_id, request)
        if document.latest.status is VersionStatus.WAITING:
            await self.files.write(scope, document, document.latest.number, ORIGINAL, body)
        return document

    async def get(self, scope: Scope, agent_id: str, document_id: str) -> Document:
        """Return a document. Raises ``UnknownDocument`` if it does not exist or is deleted."""
        document = await self.store.get(scope, agent_id, document_id)
        if document is None or document.deleted_at is not None:
            raise UnknownDocument
        return document

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Document], str | None]:
        """Return a page of the agent's documents, newest first, and the next page's cursor; None after the last page.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """
        return await self.store.of_agent(scope, agent_id, limit=limit, cursor=cursor)

    async def delete(self, scope: Scope, agent_id: str, document_id: str, *, source_id: str | None = None) -> Document:
        """Delete a document: turns do not use it from now on, and the pipeline removes its data.

        A repetition starts the pipeline if the first request could not. ``source_id`` is the source that deletes its
        own document; None for a client's request. Raises ``UnknownDocument``, ``DocumentOfSource`` and
        ``DocumentBusy``.
        """
        document = await self._mark_deleted(scope, agent_id, document_id, source_id)
        ref = DocumentRef(scope.tenant_id, agent_id, document_id, document.latest.number)
        await self.ingestions.start(ref, attempt=document.attempt, created_at=document.created_at, removes=True)
        return document

    async def _mark_deleted(self, scope: Scope, agent_id: str, document_id: str, source_id: str | None) -> Document:
        """Store that a document is deleted, and return it. Raises as ``delete`` does."""
        for _ in range(MAX_TRIES):
            stored = await self.store.get(scope, agent_id, document_id)
            if stored is None:
                raise UnknownDocument
            if stored.source_id != source_id:
                raise DocumentOfSource
            if stored.deleted_at is not None:
                return stored
            deleted = await self.store.save(scope, stored.mark_deleted(self.clock.now()))
            if deleted is not None:
                if source_id is None:
                    detail = {"agentId": agent_id, "documentId": document_id}
                    await self.audit.record(scope, "document.delete", thread_id=None, outcome="deleted", detail=detail)
                return deleted
        raise DocumentBusy

    async def _store_version(self, scope: Scope, agent_id: str, request: DocumentRequest) -> tuple[Document, bool]:
        """Return the document with the version that ``request`` describes, and whether this call stored it."""
        document_id = request.document_id or self._derive_id(scope, agent_id, request)
        for _ in range(MAX_TRIES):
            stored = await self.store.get(scope, agent_id, document_id)
            if stored is None:
                await self._check_limit(scope, agent_id)
                new = self._make_document(scope, agent_id, document_id, request)
                stored = await self.store.create(scope, new)
                if replace(stored, revision=new.revision) == new:
                    return stored, True
            if stored.deleted_at is not None:
                raise DocumentBusy
            if stored.source_id != request.source_id:
                raise DocumentOfSource
            updated = _apply_details(stored, request)
            if _is_repetition(stored, updated, request):
                return stored, False
            version = self._make_version(scope, request, stored.latest.number + 1)
            saved = await self.store.save(scope, updated.replace_with(version, version.created_at))
            if saved is not None:
                return saved, True
        raise DocumentBusy

    async def _check_limit(self, scope: Scope, agent_id: str) -> None:
        """Raise ``LimitReached`` for a full agent or library. Simultaneous requests may exceed the limit by a few."""
        is_library = isinstance(scope, ProjectScope)
        limit = MAX_IN_LIBRARY if is_library else (await self.limits.read_current(scope)).documents_per_agent
        if limit is not None and await self.store.count(scope, agent_id, up_to=limit) >= limit:
            owner = "A library" if is_library else "An agent"
            raise LimitReached(f"{owner} has at most {limit:,} documents. Delete some that are not needed.")

    def _derive_id(self, scope: Scope, agent_id: str, request: DocumentRequest) -> str:
        """Return the id of a document whose client has chosen none."""
        if request.sha256 is None:
            return make_document_id(uuid.UUID(self.clock.new_id()))
        parts = (scope.tenant_id, agent_id, request.name, request.content_type, request.sha256)
        return make_document_id(uuid.uuid5(_DOCUMENTS, "\0".join(parts)))

    def _make_document(self, scope: Scope, agent_id: str, document_id: str, request: DocumentRequest) -> Document:
        version = self._make_version(scope, request, 1)
        return _apply_details(
            Document(
                document_id,
                agent_id,
                title=request.name,
                created_at=version.created_at,
                updated_at=version.created_at,
                source_id=request.source_id,
                next=version,
                check_at=version.created_at + UPLOAD_WAIT,
            ),
            request,
        )

    def _make_version(self, scope: Scope, request: DocumentRequest, number: int) -> DocumentVersion:
        return DocumentVersion(
            number,
            VersionStatus.WAITING,
            name=request.name,
            content_type=request.content_type,
            size=request.size,
            created_by=scope.user_id,
            created_at=from_millis(to_millis(self.clock.now())),  # with the precision of the store
            sha256=request.sha256,
            etag=request.etag,
        )


def make_document_id(unique: uuid.UUID) -> str:
    """Return the id of a document with this UUID."""
    return f"doc_{unique.hex}"


def _apply_details(document: Document, request: DocumentRequest) -> Document:
    """Return the document with the details that the request names."""
    details = request.details
    return replace(
        document,
        title=(details["title"] or request.name) if "title" in details else document.title,
        url=details.get("url", document.url),
        required_permission=details.get("required_permission", document.required_permission),
    )


def _is_repetition(stored: Document, updated: Document, request: DocumentRequest) -> bool:
    """Return whether a request repeats the newest version. ``updated`` is ``stored`` with the request's details."""
    latest = stored.latest
    if updated != stored or latest.status is VersionStatus.FAILED:
        return False
    announced = (latest.name, latest.content_type, latest.size, latest.sha256)
    if announced != (request.name, request.content_type, request.size, request.sha256):
        return False
    return request.sha256 is not None or latest.status is VersionStatus.WAITING

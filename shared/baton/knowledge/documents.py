"""Take in, list and delete the documents of agents.

A document's record decides what turns use, so a new version answers only when its ingestion has ended, and a deleted
document answers nothing from the moment its record says so. The data removed afterwards is no longer in use.
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
"""Documents of a library of the project."""
MAX_TRIES = 5
"""Attempts to change a record that others change too."""

_DOCUMENTS = uuid.UUID("3d0e7c1e-6a55-5a0b-8f27-0f4d0c2f9a11")
"""Name space of the ids of documents whose client chose none."""


class Details(TypedDict, total=False):
    """The details of a document in a request, besides its content. A detail that is left out stays as it is."""

    title: str | None
    """None: the file's name."""
    url: str | None
    required_permission: str | None


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """A document to take in. It has been checked (``check_request``)."""

    name: str
    content_type: str
    size: int
    """Bytes."""
    sha256: str | None
    document_id: str | None
    """None: the id is derived from the content if that is known, otherwise random."""
    details: Details
    source_id: str | None = None
    """The source whose document it is."""
    etag: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document, and where to upload its newest version; None if its content is already there."""

    document: Document
    upload: Upload | None


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the agents of all tenants. The caller has checked permissions and that the agent exists."""

    store: DocumentStore
    files: DocumentFiles
    ingestions: Ingestions
    audit: AuditLog
    clock: Clock
    limits: CurrentLimits

    async def prepare(self, scope: Scope, agent_id: str, request: DocumentRequest) -> PreparedDocument:
        """Create a document or a new version of one, and return the address of its upload.

        A request that equals the newest version is a repetition: it gets that version, and an address as long as the
        version is waiting. Of a version whose upload has been seen, only the checksum shows that it is equal.
        Raises ``DocumentBusy``, ``DocumentOfSource`` and ``LimitReached``.
        """
        document, is_new = await self._next(scope, agent_id, request)
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
        """Store the content of a source's document and so start its ingestion, unless it is the newest one already.

        Raises ``DocumentBusy`` and ``LimitReached``. Repeating it after a failure completes what is missing.
        """
        request = replace(request, size=len(body), sha256=hashlib.sha256(body).hexdigest())
        document, _ = await self._next(scope, agent_id, request)
        if document.latest.status is VersionStatus.WAITING:
            await self.files.write(scope, document, document.latest.number, ORIGINAL, body)
        return document

    async def get(self, scope: Scope, agent_id: str, document_id: str) -> Document:
        """Return a document. Raises ``UnknownDocument``, also for a deleted one."""
        document = await self.store.get(scope, agent_id, document_id)
        if document is None or document.deleted_at is not None:
            raise UnknownDocument
        return document

    async def of_agent(
        self, scope: Scope, agent_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Document], str | None]:
        """Return a page of the agent's documents, newest first, and the next page's cursor."""
        return await self.store.of_agent(scope, agent_id, limit=limit, cursor=cursor)

    async def delete(self, scope: Scope, agent_id: str, document_id: str, *, source_id: str | None = None) -> Document:
        """Delete a document: turns do not use it from now on, and the pipeline removes what is left of it.

        Repeating it starts that again, until the record is gone. ``source_id`` is the source that deletes its own
        document. Raises ``UnknownDocument``, ``DocumentOfSource`` and ``DocumentBusy``.
        """
        document = await self._mark_deleted(scope, agent_id, document_id, source_id)
        ref = DocumentRef(scope.tenant_id, agent_id, document_id, document.latest.number)
        await self.ingestions.start(ref, attempt=document.attempt, created_at=document.created_at, removes=True)
        return document

    async def _mark_deleted(self, scope: Scope, agent_id: str, document_id: str, source_id: str | None) -> Document:
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

    async def _next(self, scope: Scope, agent_id: str, request: DocumentRequest) -> tuple[Document, bool]:
        """Return the document with the version that ``request`` describes, and whether this call stored it."""
        document_id = request.document_id or self._id_of(scope, agent_id, request)
        for _ in range(MAX_TRIES):
            stored = await self.store.get(scope, agent_id, document_id)
            if stored is None:
                # Uploads at the same time may exceed the limit by a few.
                of_project = isinstance(scope, ProjectScope)
                most = MAX_IN_LIBRARY if of_project else (await self.limits.current(scope)).documents_per_agent
                if most is not None and await self.store.count(scope, agent_id, up_to=most) >= most:
                    owner = "A library" if of_project else "An agent"
                    raise LimitReached(f"{owner} has at most {most:,} documents. Delete some that are not needed.")
                new = self._new(scope, agent_id, document_id, request)
                stored = await self.store.create(scope, new)
                if replace(stored, revision=new.revision) == new:
                    return stored, True
            if stored.deleted_at is not None:
                raise DocumentBusy
            if stored.source_id != request.source_id:
                raise DocumentOfSource
            described = _apply_details(stored, request)
            if _is_repetition(stored, described, request):
                return stored, False
            version = self._version(scope, request, stored.latest.number + 1)
            saved = await self.store.save(scope, described.replace_with(version, version.created_at))
            if saved is not None:
                return saved, True
        raise DocumentBusy

    def _id_of(self, scope: Scope, agent_id: str, request: DocumentRequest) -> str:
        if request.sha256 is None:
            return document_id(uuid.UUID(self.clock.new_id()))
        about = (scope.tenant_id, agent_id, request.name, request.content_type, request.sha256)
        return document_id(uuid.uuid5(_DOCUMENTS, "\0".join(about)))

    def _new(self, scope: Scope, agent_id: str, document_id: str, request: DocumentRequest) -> Document:
        version = self._version(scope, request, 1)
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

    def _version(self, scope: Scope, request: DocumentRequest, number: int) -> DocumentVersion:
        return DocumentVersion(
            number,
            VersionStatus.WAITING,
            name=request.name,
            content_type=request.content_type,
            size=request.size,
            created_by=scope.user_id,
            created_at=from_millis(to_millis(self.clock.now())),  # as it is stored
            sha256=request.sha256,
            etag=request.etag,
        )


def document_id(unique: uuid.UUID) -> str:
    """Return an id of a document."""
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


def _is_repetition(stored: Document, described: Document, request: DocumentRequest) -> bool:
    latest = stored.latest
    if described != stored or latest.status is VersionStatus.FAILED:
        return False
    announced = (latest.name, latest.content_type, latest.size, latest.sha256)
    if announced != (request.name, request.content_type, request.size, request.sha256):
        return False
    return request.sha256 is not None or latest.status is VersionStatus.WAITING

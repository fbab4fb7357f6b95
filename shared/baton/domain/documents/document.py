"""Documents of agents: their versions, which were uploaded or fetched, and the progress of ingestion."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from baton.domain.definition import AGENT_ID
from baton.domain.tenants.identity import PROJECT_TENANT, TENANT_ID
from baton_documents.results import PageError

MAX_DOCUMENT_BYTES = 50 * 1024 * 1024
MAX_PAGE_ERRORS = 100
"""Pages whose errors are kept. Further ones are counted."""
MAX_ATTEMPTS = 5
"""Starts of the pipeline for one version. After as many without an end, the version has failed."""
UPLOAD_WAIT = timedelta(minutes=30)
"""The time after which a version without an upload is checked. The upload URL has expired by then."""
STEP_WAIT = timedelta(hours=1)
"""The time without progress after which a version's pipeline counts as dead. Longer than a step with its retries."""
DOCUMENT_ID = re.compile(r"doc_[0-9a-f]{32}")


class VersionStatus(StrEnum):
    """The progress of a version of a document."""

    WAITING = "waiting"
    """Nothing has been uploaded yet."""
    PROCESSING = "processing"
    READY = "ready"
    """It is the document's active version, which turns find."""
    FAILED = "failed"
    """Turns do not find it. What was indexed of it is removed."""


class IngestionStep(StrEnum):
    """The steps of the state machine ``ingest_document``, in their order."""

    CHECK = "check"
    """Size, checksum and content type are compared with the announced ones; the file is divided into parts."""
    EXTRACT = "extract"
    """The text of one part is extracted, by pages."""
    CHUNK = "chunk"
    """The text of all parts is divided into chunks, in batches."""
    INDEX = "index"
    """One batch of chunks is embedded and indexed."""
    ACTIVATE = "activate"
    """The version becomes the document's active one, in one write."""
    CLEAN = "clean"
    """Chunks and files of other versions, and everything of a deleted document, are removed."""


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One version of a document's content."""

    number: int
    """From 1."""
    status: VersionStatus
    name: str
    """The file's name, or the address it was fetched from."""
    content_type: str
    size: int
    """Bytes."""
    created_by: str
    created_at: datetime
    sha256: str | None = None
    """The checksum of the content, in hexadecimal digits."""
    etag: str | None = None
    """The ETag of the address or object that it was fetched from."""
    progress: int = 0
    """Percent."""
    step: IngestionStep | None = None
    """The step in progress."""
    pages: int | None = None
    """Pages, slides or sheets; None for formats without them, and before they are known."""
    chunks: int | None = None
    page_errors: tuple[PageError, ...] = ()
    """The first ``MAX_PAGE_ERRORS``."""
    page_error_count: int = 0
    error_code: str | None = None
    """The reason of the failure, as a stable code such as ``document_encrypted``."""
    error: str | None = None
    """The advice to the uploader."""
    ended_at: datetime | None = None
    """The time at which it became ready or failed."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of an agent, in a tenant. Its record decides what turns may use of the index."""

    id: str
    agent_id: str
    title: str
    created_at: datetime
    updated_at: datetime
    url: str | None = None
    """The address of the original for readers, shown with citations of it."""
    required_permission: str | None = None
    """The permission that a user needs so that turns use the document for them."""
    source_id: str | None = None
    """The source that keeps it up to date, if any."""
    active: DocumentVersion | None = None
    """The version that turns use."""
    next: DocumentVersion | None = None
    """A later version: waiting, in progress, or failed."""
    deleted_at: datetime | None = None
    """The time of its deletion. Turns do not use it from then on; the record is removed after all its chunks."""
    stale: tuple[int, ...] = ()
    """Versions whose chunks and files are still to be removed."""
    cleaned_at: datetime | None = None
    """The time at which stale versions were first removed. They are removed again once no worker can write to them."""
    check_at: datetime | None = None
    """The time at which the sweeper checks that the pipeline still runs; None if nothing is left to do."""
    attempt: int = 0
    """Further starts of the pipeline for the newest version, or for the removal."""
    revision: int = 0
    """A number that grows by 1 with every ``DocumentStore.save``."""

    @property
    def in_use(self) -> DocumentVersion | None:
        """The version that turns find, if the document is not deleted."""
        return self.active if self.deleted_at is None else None

    @property
    def latest(self) -> DocumentVersion:
        """The newest version."""
        version = self.next or self.active
        if version is None:
            raise ValueError("a document has a version from its beginning")
        return version

    def replace_with(self, version: DocumentVersion, at: datetime) -> Document:
        """Return the document with a newer version, which waits for its content. A version in progress is dropped.

        The new number must be that of ``latest`` plus 1, or ``ValueError`` is raised. The active version stays in use.
        """
        if version.number != self.latest.number + 1:
            raise ValueError("versions are numbered without gaps")
        dropped = (self.next.number,) if self.next is not None else ()
        return replace(self._with_stale(dropped), next=version, attempt=0, updated_at=at, check_at=at + UPLOAD_WAIT)

    def mark_deleted(self, at: datetime) -> Document:
        """Return the document as deleted: turns do not use it any more. Start the pipeline to have it removed."""
        numbers = tuple(version.number for version in (self.active, self.next) if version is not None)
        return replace(
            self._with_stale(numbers),
            deleted_at=self.deleted_at or at,
            attempt=self.attempt + 1,
            updated_at=at,
            check_at=at + STEP_WAIT,
        )

    def begin(self, version: DocumentVersion, at: datetime) -> Document:
        """Return the document with its newest version in progress."""
        return replace(self, next=version, updated_at=at, check_at=at + STEP_WAIT)

    def activate(self, version: DocumentVersion, at: datetime) -> Document:
        """Return the document with its newest version, as ready, in place of the active version."""
        old = (self.active.number,) if self.active is not None else ()
        return replace(self._with_stale(old), active=version, next=None, updated_at=at, check_at=at + STEP_WAIT)

    def fail(self, version: DocumentVersion, at: datetime) -> Document:
        """Return the document with its newest version as failed. Its indexed part must be removed."""
        return replace(self._with_stale((version.number,)), next=version, updated_at=at, check_at=at + STEP_WAIT)

    def drop_stale(self) -> Document:
        """Return the document without its stale versions, because nothing is left of them."""
        return replace(self, stale=(), cleaned_at=None, check_at=self.check_at if self._is_in_progress else None)

    @property
    def is_processing(self) -> bool:
        """True if the pipeline works on its newest version."""
        return self.deleted_at is None and self.next is not None and self.next.status is VersionStatus.PROCESSING

    @property
    def _is_in_progress(self) -> bool:
        return self.next is not None and self.next.status in (VersionStatus.WAITING, VersionStatus.PROCESSING)

    def _with_stale(self, versions: tuple[int, ...]) -> Document:
        stale = tuple(sorted({*self.stale, *versions}))
        return replace(self, stale=stale, cleaned_at=self.cleaned_at if stale == self.stale else None)


def derive_chunk_source_id(document_id: str, version: int) -> str:
    """Return the ``source_id`` of a version's chunks in the index, which distinguishes versions for their removal."""
    return f"{document_id}@{version}"


def parse_chunk_source_id(source_id: str) -> tuple[str, int]:
    """Return the document id and the version in a ``source_id``. Raises ``ValueError`` for a text without a version."""
    document_id, _, version = source_id.rpartition("@")
    return document_id, int(version)


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """A version of a document, by its ids."""

    tenant_id: str
    agent_id: str
    document_id: str
    version: int
    rebuilds: bool = False
    """True for a run of the pipeline that indexes the active version again. It does not change the version."""


_ORIGINAL = re.compile(
    rf"(?P<tenant>{PROJECT_TENANT}|{TENANT_ID.pattern})/~documents/(?P<agent>{AGENT_ID})/(?P<document>doc_[0-9a-f]{{32}})"
    r"/(?P<version>[1-9][0-9]{0,8})/original"
)


def parse_original_key(key: str) -> DocumentRef | None:
    """Return the version whose uploaded content an object's key names, or None for another object."""
    match = _ORIGINAL.fullmatch(key)
    if match is None:
        return None
    return DocumentRef(match["tenant"], match["agent"], match["document"], int(match["version"]))

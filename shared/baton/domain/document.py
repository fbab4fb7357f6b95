"""Documents of agents: what was uploaded or fetched, and how far it has been ingested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

MAX_DOCUMENT_BYTES = 50 * 1024 * 1024
MAX_PAGE_ERRORS = 100
"""Pages whose errors are kept. Further ones are counted."""


class DocumentFormat(StrEnum):
    """The formats that text is extracted from. The content decides which one a file has, not its name."""

    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    CSV = "csv"


MEDIA_TYPES: Mapping[str, DocumentFormat] = {
    "application/pdf": DocumentFormat.PDF,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": DocumentFormat.DOCX,
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": DocumentFormat.PPTX,
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": DocumentFormat.XLSX,
    "text/html": DocumentFormat.HTML,
    "application/xhtml+xml": DocumentFormat.HTML,
    "text/markdown": DocumentFormat.MARKDOWN,
    "text/plain": DocumentFormat.TEXT,
    "text/csv": DocumentFormat.CSV,
}


class VersionStatus(StrEnum):
    """How far a version of a document is."""

    WAITING = "waiting"
    """Nothing has been uploaded yet."""
    PROCESSING = "processing"
    READY = "ready"
    """Turns find it: it is the document's active version."""
    FAILED = "failed"
    """Nothing of it is in the index."""


class IngestionStep(StrEnum):
    """The steps of the state machine ``ingest_document``, in their order."""

    CHECK = "check"
    """Size, checksum and content type are those that were announced; the file is divided into parts."""
    EXTRACT = "extract"
    """One part's text, by pages."""
    CHUNK = "chunk"
    """All parts' text is divided into chunks, in batches."""
    INDEX = "index"
    """One batch of chunks is embedded and indexed."""
    ACTIVATE = "activate"
    """The version becomes the document's active one, in one write."""
    CLEAN = "clean"
    """Chunks and files of other versions, and everything of a deleted document, are removed."""


@dataclass(frozen=True, slots=True)
class PageError:
    """Why a page could not be read. The others are."""

    page: int
    message: str


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
    """Of the address or object that it was fetched from."""
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
    """Why it failed, as a stable code such as ``document_encrypted``."""
    error: str | None = None
    """What the uploader can do about it."""
    ended_at: datetime | None = None
    """When it became ready or failed."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of an agent, in a tenant. Its record decides what turns may use of the index."""

    id: str
    agent_id: str
    title: str
    created_at: datetime
    updated_at: datetime
    url: str | None = None
    """Where readers find the original; shown beside what is cited from it."""
    required_permission: str | None = None
    """The permission that a user needs so that turns use the document for them."""
    source_id: str | None = None
    """The source that keeps it up to date, if any."""
    active: DocumentVersion | None = None
    """The version that turns use."""
    next: DocumentVersion | None = None
    """A later version: waiting, in progress, or failed."""
    deleted_at: datetime | None = None
    """When it was deleted. Turns do not use it from then on; the record goes when all its chunks are gone."""

    @property
    def latest(self) -> DocumentVersion:
        """Return the newest version."""
        version = self.next or self.active
        if version is None:
            raise ValueError("a document has a version from its beginning")
        return version

    def with_version(self, version: DocumentVersion, at: datetime) -> Document:
        """Return the document with the progress of its newest version; a ready one replaces the active one."""
        if version.status is VersionStatus.READY:
            return replace(self, active=version, next=None, updated_at=at)
        return replace(self, next=version, updated_at=at)


def chunk_source_id(document_id: str, version: int) -> str:
    """Return the ``source_id`` of a version's chunks in the index, so that versions can be told apart and removed."""
    return f"{document_id}@{version}"


def document_of_chunk(source_id: str) -> tuple[str, int]:
    """Return the document id and the version in a ``source_id``."""
    document_id, _, version = source_id.rpartition("@")
    return document_id, int(version)

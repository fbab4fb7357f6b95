"""The shapes of documents and sources."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from baton.api.http.schemas import Asked, Listing, UploadTarget, describe
from baton.domain.documents.document import Document, IngestionStep, VersionStatus
from baton.domain.documents.source import MAX_REFRESH_HOURS, MAX_SOURCE_URLS, Source, SourceKind, SourceStatus
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel

DOCUMENT_ID = "doc_2f1c7d0a9b3e4c58a6d7e8f90a1b2c3d"
SOURCE_ID = "src_7a0d4a4b6c1e5f2f8b3a9d0c1e2f3a4b"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class DocumentError(WireModel):
    """The reason why a version could not be ingested."""

    code: str = Field(examples=["document_encrypted"])
    message: str = describe("What the uploader can do.", "Remove the password and upload it again.")


class PageError(WireModel):
    """A page that could not be read. Other pages of the document are used."""

    page: int = Field(examples=[12])
    message: str = Field(examples=["The page holds no text."])


class ServedDocument(WireModel):
    """The newest version of a document, with the status of its ingestion."""

    id: str = Field(examples=[DOCUMENT_ID])
    agent_id: str = Field(examples=["knowledge"])
    title: str = Field(examples=["Staff handbook"])
    name: str = describe("The file's name.", "handbook-2026.pdf")
    content_type: str = Field(examples=["application/pdf"])
    size: int = describe("Bytes.", 1843200)
    version: int = describe("Number of the newest version, from 1.", 2)
    status: VersionStatus = describe(
        "The status of the newest version. `waiting`: its file has not been uploaded yet. `ready`: turns use it."
    )
    progress: int = describe("Percent.", 60)
    step: IngestionStep | None = describe("The step in progress.")
    pages: int | None = describe("Pages, slides or sheets.", 104)
    chunks: int | None = describe("Passages that can be found.", 212)
    page_errors: list[PageError] = describe("The first 100 pages that could not be read.")
    page_error_count: int = Field(examples=[0])
    error: DocumentError | None = describe("The failure of the newest version.", None)
    active_version: int | None = describe("The version that turns use; null without one.", 1)
    url: str | None = describe("The address of the original, for readers.", "https://example.com/handbook")
    required_permission: str | None = describe(
        "The permission that users need for turns to use the document for them.", "hr:read"
    )
    source_id: str | None = describe("The source that keeps the document up to date.", None)
    created_by: str = describe("The user who uploaded the newest version.", "alice")
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(cls, document: Document) -> ServedDocument:
        """Return the served form of ``document``."""
        version = document.latest
        failed = version.error_code is not None
        about: dict[str, Any] = {name: getattr(version, name) for name in _OF_VERSION}
        return cls.of(
            document,
            **about,
            version=version.number,
            page_errors=list(version.page_errors),
            error={"code": version.error_code, "message": version.error or ""} if failed else None,
            active_version=document.active.number if document.active is not None else None,
        )


class IndexRoom(WireModel):
    """The used room of an agent's or a library's documents in the search index."""

    index_fill_percent: int | None = describe(
        "The used part of the room in the embedded search index, in per cent. A full index refuses new documents. Null"
        " without a limit, as in OpenSearch, without documents, and while the index does not answer.",
        12,
    )


class DocumentListing(Listing[ServedDocument], IndexRoom):
    """A page of documents."""


class ServedLibrary(IndexRoom):
    """A library of the project, which agents of all tenants may search."""

    name: str = Field(examples=["manual"])
    documents: int = describe("The number of its documents.", 12)


_OF_VERSION = (
    "name",
    "content_type",
    "size",
    "status",
    "progress",
    "step",
    "pages",
    "chunks",
    "page_error_count",
    "created_by",
)


HANDBOOK = {
    "name": "handbook-2026.pdf",
    "contentType": "application/pdf",
    "size": 1843200,
    "sha256": SHA256,
    "title": "Staff handbook",
}


class SentDocumentRequest(Asked, extra="forbid", json_schema_extra={"examples": [HANDBOOK]}):
    """A document to upload."""

    name: str = describe("The file's name, at most 255 bytes.")
    content_type: str = describe(
        "Its media type, for a text with its charset if that is known. The content is checked against it."
    )
    size: int = describe("Bytes, at most 52,428,800. The upload must have exactly this size.")
    sha256: str | None = describe(
        "The file's SHA-256 in hexadecimal digits. The upload must have it, and a repeated request is"
        " recognised by it.",
        default=None,
    )
    title: str | None = describe("The name in citations, at most 300 characters. Else the file's name.", default=None)
    url: str | None = describe("The address of the original, for readers.", default=None)
    required_permission: str | None = describe("Turns use it only for users who hold this permission.", default=None)
    document_id: str | None = describe(
        "`doc_` and 32 hexadecimal digits. A document with this id gets a new version, otherwise one is"
        " created with it.",
        default=None,
        json_schema_extra={"pattern": "^doc_[0-9a-f]{32}$"},
    )


class DocumentAnswer(WireModel):
    """A document, and how to upload it."""

    document: ServedDocument
    upload: UploadTarget | None = describe("Null if this content was uploaded already, after a repeated request.")


class DeletedDocument(WireModel):
    """A document that turns no longer use."""

    id: str = Field(examples=[DOCUMENT_ID])
    agent_id: str = Field(examples=["knowledge"])
    deleted_at: Timestamp = Field(examples=[TIMESTAMP])


class ServedSourceError(WireModel):
    """A page that could not be read. Its document stays as it was."""

    url: str = Field(examples=["https://example.com/docs/old"])
    message: str = Field(examples=["HTTP 503"])


class ServedRefreshCounts(WireModel):
    """The result of a refresh, in pages."""

    changed: int = describe("Pages that are new or have new content, and were ingested.", 3)
    unchanged: int = Field(examples=[57])
    deleted: int = describe("Pages that no longer exist; their documents were deleted.", 1)
    failed: int = describe("Pages that could not be read this time; their documents are kept.", 0)


class ServedSource(WireModel):
    """A list of addresses, a sitemap or an S3 prefix whose documents are kept up to date."""

    id: str = Field(examples=[SOURCE_ID])
    agent_id: str = Field(examples=["knowledge"])
    kind: SourceKind
    title: str = Field(examples=["Product documentation"])
    urls: list[str] = describe("The addresses of a source of the kind `urls`.", [])
    url: str | None = describe("The address of a source of the kind `sitemap`.", "https://example.com/sitemap.xml")
    prefix: str | None = describe("The prefix of a source of the kind `s3`.", None)
    refresh_hours: int = Field(examples=[24])
    required_permission: str | None = Field(examples=[None])
    status: SourceStatus = describe("`failed`: its list of pages could not be read; its documents stay as they were.")
    documents: int = describe("The number of documents after the last refresh.", 60)
    counts: ServedRefreshCounts = describe("The counts of the refresh in progress, or of the last one.")
    errors: list[ServedSourceError] = describe("The first 20 errors of that refresh.")
    error: str | None = describe("The reason why its list of pages could not be read.", None)
    refreshed_at: Timestamp | None = describe("The end of the last refresh.", TIMESTAMP)
    next_refresh_at: Timestamp | None = describe("The time of the next refresh; null during a refresh.", TIMESTAMP)
    created_by: str = Field(examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(cls, source: Source) -> ServedSource:
        """Return the served form of ``source``."""
        refresh = source.refresh
        return cls.of(
            source,
            urls=list(source.urls),
            counts=source.counts if refresh is None else refresh.counts,
            errors=list(source.errors if refresh is None else refresh.errors),
            next_refresh_at=source.check_at if refresh is None else None,
        )


class SentSourceRequest(
    Asked,
    extra="forbid",
    json_schema_extra={"examples": [{"kind": "sitemap", "url": "https://example.com/sitemap.xml", "refreshHours": 24}]},
):
    """A source to add."""

    kind: str = describe("`urls`, `sitemap` or `s3`.")
    urls: list[str] | None = describe(
        "The addresses of pages, at most 100, for the kind `urls`.", default=None, max_length=MAX_SOURCE_URLS
    )
    url: str | None = describe("The address of a sitemap or sitemap index, for the kind `sitemap`.", default=None)
    prefix: str | None = describe(
        "`s3://bucket/prefix`, for the kind `s3`: in a bucket and below a prefix that the deployment allows"
        " for this tenant.",
        default=None,
    )
    refresh_hours: int = describe("Hours between readings.", default=24, ge=1, le=MAX_REFRESH_HOURS)
    title: str | None = describe("At most 300 characters; by default its address.", default=None)
    required_permission: str | None = describe(
        "Turns use its documents only for users who hold this permission.", default=None
    )
    source_id: str | None = describe(
        "`src_` and 32 hexadecimal digits, to repeat a request safely. By default it is derived from the"
        " request, so that a repeated request gets the same source.",
        default=None,
        json_schema_extra={"pattern": "^src_[0-9a-f]{32}$"},
    )


class DeletedSource(WireModel):
    """A source that is not read any more."""

    id: str = Field(examples=[SOURCE_ID])
    agent_id: str = Field(examples=["knowledge"])
    deleted_at: Timestamp = describe("Its documents are deleted within minutes.", TIMESTAMP)

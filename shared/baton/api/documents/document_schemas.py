"""The shapes of documents and sources."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from baton.api.http.schemas import Asked
from baton.api.threads.file_schemas import UploadTarget
from baton.domain.documents.document import Document as DocumentRecord
from baton.domain.documents.document import IngestionStep, VersionStatus
from baton.domain.documents.source import MAX_REFRESH_HOURS, MAX_SOURCE_URLS, SourceKind, SourceStatus
from baton.domain.documents.source import Source as SourceRecord
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel

DOCUMENT_ID = "doc_2f1c7d0a9b3e4c58a6d7e8f90a1b2c3d"
SOURCE_ID = "src_7a0d4a4b6c1e5f2f8b3a9d0c1e2f3a4b"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


class DocumentError(WireModel):
    """The reason that a version could not be taken in."""

    code: str = Field(examples=["document_encrypted"])
    message: str = Field(description="The uploader's remedy.", examples=["Remove the password and upload it again."])


class PageError(WireModel):
    """A page that could not be read. The others are."""

    page: int = Field(examples=[12])
    message: str = Field(examples=["The page holds no text."])


class ServedDocument(WireModel):
    """The newest version of a document, and how far it has been taken in."""

    id: str = Field(examples=[DOCUMENT_ID])
    agent_id: str = Field(examples=["knowledge"])
    title: str = Field(examples=["Staff handbook"])
    name: str = Field(description="The file's name.", examples=["handbook-2026.pdf"])
    content_type: str = Field(examples=["application/pdf"])
    size: int = Field(description="Bytes.", examples=[1843200])
    version: int = Field(description="Number of the newest version, from 1.", examples=[2])
    status: VersionStatus = Field(
        description="The status of the newest version. `waiting`: nothing has been uploaded yet. `ready`: turns use it."
    )
    progress: int = Field(description="Percent.", examples=[60])
    step: IngestionStep | None = Field(description="The step in progress.")
    pages: int | None = Field(description="Pages, slides or sheets.", examples=[104])
    chunks: int | None = Field(description="Passages that can be found.", examples=[212])
    page_errors: list[PageError] = Field(description="The first 100 pages that could not be read.")
    page_error_count: int = Field(examples=[0])
    error: DocumentError | None = Field(description="The failure of the newest version.", examples=[None])
    active_version: int | None = Field(
        description="The version that turns use; null if there is none yet.", examples=[1]
    )
    url: str | None = Field(
        description="The address of the original, for readers.", examples=["https://example.com/handbook"]
    )
    required_permission: str | None = Field(
        description="The permission that users need so that turns use it for them.", examples=["hr:read"]
    )
    source_id: str | None = Field(description="The source that keeps it up to date.", examples=[None])
    created_by: str = Field(description="The user who uploaded the newest version.", examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(cls, document: DocumentRecord) -> ServedDocument:
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


class SentDocumentRequest(Asked):
    """A document that is to be uploaded."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "handbook-2026.pdf",
                    "contentType": "application/pdf",
                    "size": 1843200,
                    "sha256": SHA256,
                    "title": "Staff handbook",
                }
            ]
        },
    )

    name: str = Field(description="The file's name, at most 255 bytes.")
    content_type: str = Field(
        description="Its media type, with the charset of a text if that is known. The content is checked against it."
    )
    size: int = Field(description="Bytes, at most 52,428,800. The upload must have exactly this size.")
    sha256: str | None = Field(
        default=None,
        description="The file's SHA-256 in hexadecimal digits. The upload must have it, and a repeated request is"
        " recognised by it.",
    )
    title: str | None = Field(
        default=None, description="The name in citations, at most 300 characters. Else the file's name."
    )
    url: str | None = Field(default=None, description="The address of the original, for readers.")
    required_permission: str | None = Field(
        default=None, description="Turns use it only for users who hold this permission."
    )
    document_id: str | None = Field(
        default=None,
        description="`doc_` and 32 hexadecimal digits. A document with this id gets a new version, otherwise one is"
        " created with it.",
        json_schema_extra={"pattern": "^doc_[0-9a-f]{32}$"},
    )


class DocumentAnswer(WireModel):
    """A document, and how to upload it."""

    document: ServedDocument
    upload: UploadTarget | None = Field(
        description="Null if this content is already there: the request was a repetition."
    )


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

    changed: int = Field(description="New or with new content: they were taken in.", examples=[3])
    unchanged: int = Field(examples=[57])
    deleted: int = Field(description="Gone: their documents were deleted.", examples=[1])
    failed: int = Field(description="Not readable this time: their documents stay.", examples=[0])


class ServedSource(WireModel):
    """A list of addresses, a sitemap or an S3 prefix whose documents are kept up to date."""

    id: str = Field(examples=[SOURCE_ID])
    agent_id: str = Field(examples=["knowledge"])
    kind: SourceKind
    title: str = Field(examples=["Product documentation"])
    urls: list[str] = Field(description="The addresses of a source of the kind `urls`.", examples=[[]])
    url: str | None = Field(
        description="The sitemap, of the kind `sitemap`.", examples=["https://example.com/sitemap.xml"]
    )
    prefix: str | None = Field(description="The prefix of a source of the kind `s3`.", examples=[None])
    refresh_hours: int = Field(examples=[24])
    required_permission: str | None = Field(examples=[None])
    status: SourceStatus = Field(
        description="`failed`: its list of pages could not be read; its documents stay as they were."
    )
    documents: int = Field(description="After the last refresh.", examples=[60])
    counts: ServedRefreshCounts = Field(description="The counts of the refresh in progress, or of the last one.")
    errors: list[ServedSourceError] = Field(description="The first 20 of that refresh.")
    error: str | None = Field(description="The reason that its list of pages could not be read.", examples=[None])
    refreshed_at: Timestamp | None = Field(description="The end of the last refresh.", examples=[TIMESTAMP])
    next_refresh_at: Timestamp | None = Field(description="Null while it is being read.", examples=[TIMESTAMP])
    created_by: str = Field(examples=["alice"])
    created_at: Timestamp = Field(examples=[TIMESTAMP])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])

    @classmethod
    def from_record(cls, source: SourceRecord) -> ServedSource:
        """Return the served form of ``source``."""
        refresh = source.refresh
        return cls.of(
            source,
            urls=list(source.urls),
            counts=source.counts if refresh is None else refresh.counts,
            errors=list(source.errors if refresh is None else refresh.errors),
            next_refresh_at=source.check_at if refresh is None else None,
        )


class SentSourceRequest(Asked):
    """A source to read from now on."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"kind": "sitemap", "url": "https://example.com/sitemap.xml", "refreshHours": 24}]
        },
    )

    kind: str = Field(description="`urls`, `sitemap` or `s3`.")
    urls: list[str] | None = Field(
        default=None, max_length=MAX_SOURCE_URLS, description="The pages, at most 100, of the kind `urls`."
    )
    url: str | None = Field(default=None, description="The sitemap or sitemap index, of the kind `sitemap`.")
    prefix: str | None = Field(
        default=None,
        description="`s3://bucket/prefix`, of the kind `s3`: in a bucket and below a prefix that the deployment allows"
        " for this tenant.",
    )
    refresh_hours: int = Field(default=24, ge=1, le=MAX_REFRESH_HOURS, description="Hours between readings.")
    title: str | None = Field(default=None, description="At most 300 characters; by default its address.")
    required_permission: str | None = Field(
        default=None, description="Turns use its documents only for users who hold this permission."
    )
    source_id: str | None = Field(
        default=None,
        description="`src_` and 32 hexadecimal digits, to repeat a request safely. Else it is derived from the"
        " request, so that a repeated one gets the same source.",
        json_schema_extra={"pattern": "^src_[0-9a-f]{32}$"},
    )


class DeletedSource(WireModel):
    """A source that is not read any more."""

    id: str = Field(examples=[SOURCE_ID])
    agent_id: str = Field(examples=["knowledge"])
    deleted_at: Timestamp = Field(description="Its documents are deleted within minutes.", examples=[TIMESTAMP])

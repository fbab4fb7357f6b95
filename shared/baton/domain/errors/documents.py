"""Documents and their sources."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class DocumentUnreadable(BatonError):
    """No text can be extracted from a document. ``reason`` is a stable code, ``detail`` what the uploader can do."""

    code, status, retryable = "document_unreadable", 422, False
    title = "The document cannot be read"
    detail = "No text can be extracted from this document. Save it anew, or in another format, and upload it again."

    def __init__(self, detail: str | None = None, *, reason: str = code) -> None:
        super().__init__(detail)
        self.reason = reason


class UnknownDocument(BatonError):
    """The agent has no document with this id, or it has been deleted."""

    code, status, retryable = "unknown_document", 404, False
    title = "Unknown document"
    detail = "This agent has no such document. GET /v1/agents/{agentId}/documents lists its documents."


class UnsupportedDocument(BatonError):
    """A document of a type that no text is extracted from."""

    code, status, retryable = "unsupported_document", 422, False
    title = "Unsupported type of document"
    detail = "Documents of this type cannot be read."


class DocumentTooLarge(BatonError):
    """A document over 50 MB."""

    code, status, retryable = "document_too_large", 413, False
    title = "The document is too large"
    detail = "A document may have at most 50 MB (52,428,800 bytes)."


class DocumentBusy(BatonError):
    """The document is being deleted, or other requests change it at the same time."""

    code, status, retryable = "document_busy", 409, False
    title = "The document is being changed"
    detail = "This document is being deleted or changed by another request. Please try again in a minute."


class DocumentOfSource(BatonError):
    """A change to a document that a source keeps up to date."""

    code, status, retryable = "document_of_source", 409, False
    title = "The document belongs to a source"
    detail = "A source keeps this document up to date. Change the page that it was read from, or delete the source."


class UnknownSource(BatonError):
    """The agent has no source with this id, or it has been deleted."""

    code, status, retryable = "unknown_source", 404, False
    title = "Unknown source"
    detail = "This agent has no such source. GET /v1/agents/{agentId}/sources lists its sources."


class SourceConflict(BatonError):
    """A source under the id of another one, or of one that is being deleted."""

    code, status, retryable = "source_conflict", 409, False
    title = "The source exists already"
    detail = "Another source has this sourceId, or is being deleted. Choose another id, or none."


class SourceRefused(BatonError):
    """A source that this deployment does not allow: a host or a prefix that is not on its lists."""

    code, status, retryable = "source_refused", 422, False
    title = "The source is not allowed"
    detail = "This deployment does not allow the addresses of this source."

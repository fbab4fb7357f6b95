"""Documents and their sources."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class DocumentUnreadable(BatonError, code="document_unreadable", status=422, title="The document cannot be read"):
    """No text can be extracted from a document. ``reason`` is a stable code, ``detail`` what the uploader can do."""

    detail = "No text can be extracted from this document. Save it anew, or in another format, and upload it again."

    def __init__(self, detail: str | None = None, *, reason: str = "document_unreadable") -> None:
        super().__init__(detail)
        self.reason = reason


class UnknownDocument(BatonError, code="unknown_document", status=404, title="Unknown document"):
    """The agent has no document with this id, or it has been deleted."""

    detail = "This agent has no such document. GET /v1/agents/{agentId}/documents lists its documents."


class UnsupportedDocument(BatonError, code="unsupported_document", status=422, title="Unsupported type of document"):
    """A document of a type that no text is extracted from."""

    detail = "Documents of this type cannot be read."


class DocumentTooLarge(BatonError, code="document_too_large", status=413, title="The document is too large"):
    """A document over 50 MB."""

    detail = "A document may have at most 50 MB (52,428,800 bytes)."


class DocumentBusy(BatonError, code="document_busy", status=409, title="The document is being changed"):
    """The document is being deleted, or other requests change it at the same time."""

    detail = "This document is being deleted or changed by another request. Please try again in a minute."


class DocumentOfSource(BatonError, code="document_of_source", status=409, title="The document belongs to a source"):
    """A change to a document that a source keeps up to date."""

    detail = "A source keeps this document up to date. Change the page that it was read from, or delete the source."


class UnknownSource(BatonError, code="unknown_source", status=404, title="Unknown source"):
    """The agent has no source with this id, or it has been deleted."""

    detail = "This agent has no such source. GET /v1/agents/{agentId}/sources lists its sources."


class SourceConflict(BatonError, code="source_conflict", status=409, title="The source exists already"):
    """A source under the id of another one, or of one that is being deleted."""

    detail = "Another source has this sourceId, or is being deleted. Choose another id, or none."


class SourceRefused(BatonError, code="source_refused", status=422, title="The source is not allowed"):
    """A source that this deployment does not allow: a host or a prefix that is not on its lists."""

    detail = "This deployment does not allow the addresses of this source."

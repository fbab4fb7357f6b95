"""Errors of reading documents. Each message says what the caller can do."""

from __future__ import annotations


class DocumentError(Exception):
    """A document was not read."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class DocumentRefused(DocumentError):
    """No text can be read from a document: the file is at fault."""

    def __init__(self, detail: str, *, reason: str, cause: str | None = None, status: int | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        """A stable code, such as ``document_encrypted``."""
        self.cause = cause
        """The kind of the error that a library raised in a separate process, and its lines of code."""
        self.status = status
        """The exit status of the process that the document has ended; None if the reader refused it."""


class ReaderUnavailable(DocumentError):
    """No process can be started that reads a document, or something other than the document has ended it."""

    def __init__(self, *, status: int | None = None) -> None:
        super().__init__("Documents cannot be read at the moment. Please try again.")
        self.status = status
        """The exit status of the process; None if there was none."""


class LibraryMissing(DocumentError):
    """A library that reads documents of this format is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(f"{library} is not installed, which reads documents of this format. Install baton-documents.")
        self.library = library

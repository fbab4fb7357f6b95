"""Errors that reading a document raises. Each message says what the caller can do."""

from __future__ import annotations


class DocumentError(Exception):
    """A document could not be read."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class DocumentRefused(DocumentError):
    """No text can be read from a file because of its content."""

    def __init__(self, detail: str, *, reason: str, cause: str | None = None, status: int | None = None) -> None:
        super().__init__(detail)
        self.reason = reason
        """A stable code, such as ``document_encrypted``."""
        self.cause = cause
        """The class and lines of code of an error that a library raised in a separate process; None without one."""
        self.status = status
        """The exit status of the process, if the document made it end; None if the reader refused the document."""


class ReaderUnavailable(DocumentError):
    """The process that reads a document cannot be started in time, or ended for another reason than the document."""

    def __init__(self, *, status: int | None = None) -> None:
        super().__init__("Documents cannot be read at the moment. Please try again.")
        self.status = status
        """The exit status of the process; None if it did not start, or if the caller stopped it."""


class LibraryMissing(DocumentError):
    """A library that reads documents of this format is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(f"{library} is not installed, which reads documents of this format. Install baton-documents.")
        self.library = library

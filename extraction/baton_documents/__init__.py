"""A reader of documents: bytes in, sections, pages, tables and text out.

``read`` works in this process, ``read_in_process`` in a separate one with bounds on memory and time. The libraries of
a format are loaded when its first document is read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baton_documents.chunks.chunk import Chunk, ChunkPart
    from baton_documents.chunks.division import divide_into_chunks
    from baton_documents.document import Document, Page, Section, Table
    from baton_documents.errors import DocumentError, DocumentRefused, LibraryMissing, ReaderUnavailable
    from baton_documents.formats import DocumentFormat
    from baton_documents.processes import ProcessLimits, ReaderProcesses, read_in_process
    from baton_documents.reader import read
    from baton_documents.results import BlockKind, PageError, TextBlock

__all__ = [
    "BlockKind",
    "Chunk",
    "ChunkPart",
    "Document",
    "DocumentError",
    "DocumentFormat",
    "DocumentRefused",
    "LibraryMissing",
    "Page",
    "PageError",
    "ProcessLimits",
    "ReaderProcesses",
    "ReaderUnavailable",
    "Section",
    "Table",
    "TextBlock",
    "divide_into_chunks",
    "read",
    "read_in_process",
]

_MODULES = {
    "chunks.chunk": ("Chunk", "ChunkPart"),
    "chunks.division": ("divide_into_chunks",),
    "document": ("Document", "Page", "Section", "Table"),
    "errors": ("DocumentError", "DocumentRefused", "LibraryMissing", "ReaderUnavailable"),
    "formats": ("DocumentFormat",),
    "processes": ("ProcessLimits", "ReaderProcesses", "read_in_process"),
    "reader": ("read",),
    "results": ("BlockKind", "PageError", "TextBlock"),
}
_EXPORTS = {name: module for module, names in _MODULES.items() for name in names}
"""Names with their modules, which are loaded on demand: a caller who detects an encoding starts no processes."""


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'baton_documents' has no attribute {name!r}")
    return getattr(import_module(f"baton_documents.{_EXPORTS[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_EXPORTS]

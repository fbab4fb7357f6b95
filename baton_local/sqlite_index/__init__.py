"""The embedded search index: SQLite's full-text search, and exact vector search in numpy.

A folder holds one file for each owner of documents: a user of a tenant for episodes, a tenant for the other indices.
Nothing of another owner can be found in it, and the statistics of words are the owner's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from baton_local.sqlite_index.index import SqliteIndex

if TYPE_CHECKING:
    from baton.ports.documents.search import Reindexing

__all__ = ["SqliteEngine", "SqliteIndex"]


class SqliteEngine:
    """The ``composition.search_ports.SearchEngine`` for URLs of the form ``sqlite:///folder``."""

    @staticmethod
    def index(url: str, dimensions: int) -> SqliteIndex:
        """Return the index in the folder."""
        return SqliteIndex(_folder(url), dimensions)

    @staticmethod
    def reindexing(url: str) -> Reindexing:
        """Return the rebuilding of the files in the folder."""
        from baton_local.sqlite_index.reindexing import SqliteReindexing

        return SqliteReindexing(_folder(url))


def _folder(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))

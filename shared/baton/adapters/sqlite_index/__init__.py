"""The embedded search index: SQLite's full-text search, and exact vector search in numpy.

A folder holds one file for each owner of documents: a user of a tenant for episodes, a tenant for the other indices.
Nothing of another owner can be found in it, and the statistics of words are the owner's own.
"""

from baton.adapters.sqlite_index.index import SqliteIndex

__all__ = ["SqliteIndex"]

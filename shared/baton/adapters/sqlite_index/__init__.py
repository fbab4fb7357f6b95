"""The embedded search index: SQLite files in a bucket, with full-text search and exact vector search.

An owner's documents are one file: a user's episodes, or the documents of an agent of a tenant. It holds nothing of
other owners, and the statistics of words are the owner's. Functions read copies on their own disk, which are compared
with the bucket at each search. They write the whole file back, on the condition that no other function has written it.
"""

from baton.adapters.sqlite_index.index import SqliteIndex
from baton.adapters.sqlite_index.reindexing import SqliteReindexing

__all__ = ["SqliteIndex", "SqliteReindexing"]

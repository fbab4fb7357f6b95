"""The embedded search index: SQLite files in a bucket, with full-text search and exact vector search.

An owner's documents are one file: a user's episodes, or what belongs to an agent of a tenant. Nothing of another owner
can be found in it, and the statistics of words are the owner's own. Functions read copies on their own disk, which are
compared with the bucket at each search, and write the whole file back on the condition that nobody else has.
"""

from baton.adapters.sqlite_index.index import SqliteIndex
from baton.adapters.sqlite_index.reindexing import SqliteReindexing

__all__ = ["SqliteIndex", "SqliteReindexing"]

"""Search indices to measure: an OpenSearch, or the embedded one in a bucket of an S3 in a separate process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.composition.ports import Ports
from baton.ports.documents.search import Embedder, SearchIndex
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from benchmarks.instruments.s3_process import S3Process

BUCKET = "search"


@asynccontextmanager
async def search_index(engine: str | None, embedder: Embedder) -> AsyncIterator[SearchIndex]:
    """Return the index of an OpenSearch, made if it is missing, or without its URL an embedded one."""
    if engine is None:
        with embedded_index(embedder.dimensions) as index:
            yield index
        return
    os.environ["BATON_SEARCH_URL"] = engine
    os.environ["BATON_EMBEDDING_DIMENSIONS"] = str(embedder.dimensions)
    ports = Ports()
    if ports.search_administration is not None:
        await ports.search_administration.migrate(embedder)
    yield ports.search


@contextmanager
def embedded_index(dimensions: int) -> Iterator[SqliteIndex]:
    """Return an index for vectors of this length, which is there until the end of the block."""
    process = S3Process()
    try:
        s3 = client("s3", process.start())
        create_bucket(s3, BUCKET)
        yield SqliteIndex(OwnerFiles(IndexObjects(s3, BUCKET)), dimensions)
    finally:
        process.stop()

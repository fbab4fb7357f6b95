"""Search indices to measure: an OpenSearch, or the embedded index over an S3 in a separate process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy as np

from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.adapters.sqlite_index.owners import SUFFIX
from baton.composition.ports import Ports
from baton.domain.documents.search import Vector
from baton.ports.documents.search import Embedder, SearchIndex
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from benchmarks.instruments.s3_process import S3Process

BUCKET = "search"


class MadeUpEmbedder:
    """An ``Embedder`` with random vectors, which are the same for equal texts."""

    name = "text-embedding-3-small"

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    async def embed(self, texts: Sequence[str], **_: Any) -> Sequence[Vector]:
        """Return a vector for each text."""
        return [self.make_vector(text) for text in texts]

    def make_vector(self, text: str) -> Vector:
        """Return the vector of a text, which has the length 1."""
        chance = np.random.default_rng(list(text.encode(errors="surrogatepass")))
        vector = chance.standard_normal(self.dimensions)
        numbers: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return numbers


class SearchBucket:
    """The embedded index in the bucket of a client whose requests are counted."""

    def attach(self, s3: Any, bucket: str) -> None:
        """Begin to count the requests of a client. Other methods need this call."""
        self._s3, self._bucket = s3, bucket
        self._reads = self._writes = 0
        s3.meta.events.register("after-call.s3.GetObject", self._count_read)
        s3.meta.events.register("after-call.s3.PutObject", self._count_write)

    def make_index(self, dimensions: int) -> SqliteIndex:
        """Return the index of a process that has read nothing yet."""
        return SqliteIndex(OwnerFiles(IndexObjects(self._s3, self._bucket)), dimensions)

    def take(self) -> tuple[int, int]:
        """Return the numbers of reads and writes since the previous call, including those of other objects."""
        counts = self._reads, self._writes
        self._reads = self._writes = 0
        return counts

    def measure_size(self) -> int:
        """Return the size of all index files in bytes."""
        answer = self._s3.list_objects_v2(Bucket=self._bucket)
        return sum(item["Size"] for item in answer.get("Contents", []) if item["Key"].endswith(SUFFIX))

    def _count_read(self, **_: Any) -> None:
        self._reads += 1

    def _count_write(self, **_: Any) -> None:
        self._writes += 1


@asynccontextmanager
async def search_index(engine: str | None, embedder: Embedder) -> AsyncIterator[SearchIndex]:
    """Yield the index of the OpenSearch at the URL ``engine``, created if missing; without a URL, an embedded index."""
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
    """Yield an index for vectors of this length, which ends with the block."""
    process = S3Process()
    try:
        s3 = client("s3", process.start())
        create_bucket(s3, BUCKET)
        yield SqliteIndex(OwnerFiles(IndexObjects(s3, BUCKET)), dimensions)
    finally:
        process.stop()

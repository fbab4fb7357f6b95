"""The speed of searches of the embedded index: ``OPENBLAS_NUM_THREADS=1 python -m benchmarks.embedded_search``.

Baton's adapter uses an S3 in another process on the same machine. Bytes and requests are as AWS would bill them, but
times do not include a network. Chunks have random words and random vectors of the default embedding model's length.
Each number of chunks is measured in a separate process. The reported memory is the amount that searches add.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from baton.adapters.sqlite_index import SqliteIndex
from baton.adapters.sqlite_index.objects import IndexObjects
from baton.adapters.sqlite_index.owner_files import OwnerFiles
from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.domain.documents.search import IndexDocument, IndexName, SearchFilter, SearchQuery
from baton.domain.tenants.identity import Scope
from baton.knowledge.chunk_documents import list_chunk_texts, make_chunk_documents
from baton.knowledge.knowledge_search import CANDIDATES, MEANING, PASSAGE_MEANINGS, WORDS
from baton_documents.chunks.chunk import Chunk
from baton_local.engines.clients import client
from baton_local.resources import create_bucket
from baton_local.root import ROOT
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.instruments.s3_process import S3Process
from benchmarks.recall import VOCABULARY

SIZES = (100, 1_000, 10_000)
DIMENSIONS = 1536
"""The length of vectors of ``text-embedding-3-small``, the default of deployments."""
FIRST_SEARCHES = 10
LATER_SEARCHES = 60
CHUNKS_OF_A_DOCUMENT = 1_000
WORDS_OF_A_SENTENCE = 14
CHARACTERS = 1_250
"""The least characters of a chunk, as many as in the division of Baton's own pages."""
BUCKET = "search"
SCOPE = Scope("benchmark", "ada")
AGENT = "assistant"
AT = datetime(2026, 3, 14, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SearchMeasurement:
    """The measurements of searches and writes of one agent's index."""

    chunks: int
    file_bytes: int
    first: tuple[float, float]
    """Milliseconds of the first search of a process, at the median and the 95th percentile."""
    first_bytes: int
    """The bytes that the first search reads from S3."""
    later: tuple[float, float]
    """Milliseconds of searches of a process that has the file, at the same percentiles."""
    later_cpu: tuple[float, float]
    """CPU milliseconds of these searches."""
    later_bytes: int
    """The bytes that such a search reads from S3."""
    write: tuple[float, float]
    """Milliseconds to write one more document of five chunks."""
    write_requests: int
    """The average number of S3 requests of a write or a deletion."""
    memory_mb: float
    """The resident memory that all searches added."""


class _Meter:
    """A counter of a client's requests and of the bytes of the answers."""

    def __init__(self, s3: Any) -> None:
        self.requests = self.bytes = 0
        s3.meta.events.register("after-call.s3", self._count)

    def _count(self, parsed: dict[str, Any], **_: Any) -> None:
        self.requests += 1
        self.bytes += int(parsed.get("ContentLength", 0))

    def take(self) -> tuple[int, int]:
        """Return the numbers of requests and bytes since the previous call."""
        counts = self.requests, self.bytes
        self.requests = self.bytes = 0
        return counts


async def measure(endpoint: str, chunks: int) -> SearchMeasurement:
    """Store a number of chunks of one agent, and measure searches and writes."""
    chance = np.random.default_rng(chunks)
    s3 = client("s3", endpoint)
    meter = _Meter(s3)
    writer = _make_index(s3)
    for number, start in enumerate(range(0, chunks, CHUNKS_OF_A_DOCUMENT)):
        size = min(CHUNKS_OF_A_DOCUMENT, chunks - start)
        await writer.put(SCOPE, IndexName.KNOWLEDGE, make_chunks(chance, number, size))
    [file] = s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{SCOPE.tenant_id}/")["Contents"]
    gc.collect()
    before = _measure_resident_mb()
    meter.take()
    firsts, later, cpu = list[float](), list[float](), list[float]()
    for _ in range(FIRST_SEARCHES):
        reader = _make_index(s3)
        firsts.append(await _measure_search(reader, chance))
    _, first_bytes = meter.take()
    for _ in range(LATER_SEARCHES):
        cpu_began = time.process_time()
        later.append(await _measure_search(reader, chance))
        cpu.append(1_000 * (time.process_time() - cpu_began))
    _, later_bytes = meter.take()
    memory_mb = _measure_resident_mb() - before
    writes = list[float]()
    for number in range(FIRST_SEARCHES):
        documents = make_chunks(chance, 1_000_000 + number, 5)
        began = time.perf_counter()
        await writer.put(SCOPE, IndexName.KNOWLEDGE, documents)
        writes.append(1_000 * (time.perf_counter() - began))
        await writer.delete(SCOPE, IndexName.KNOWLEDGE, SearchFilter(agent_id=AGENT, source_id=documents[0].source_id))
    requests, _ = meter.take()
    return SearchMeasurement(
        chunks,
        file["Size"],
        _find_percentiles(firsts),
        first_bytes // FIRST_SEARCHES,
        _find_percentiles(later),
        _find_percentiles(cpu),
        later_bytes // LATER_SEARCHES,
        _find_percentiles(writes),
        requests // (2 * FIRST_SEARCHES),
        memory_mb,
    )


def _measure_resident_mb() -> float:
    """Return the resident memory of this process in MB, including mapped parts of files (Linux only)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _make_index(s3: Any) -> SqliteIndex:
    """Return the index as in a new process, which has read nothing yet."""
    return SqliteIndex(OwnerFiles(IndexObjects(s3, BUCKET)), DIMENSIONS)


async def _measure_search(index: SqliteIndex, chance: np.random.Generator) -> float:
    """Search for random words. Return the milliseconds. Raises ``RuntimeError`` if nothing is found."""
    clauses = (WORDS, MEANING, *PASSAGE_MEANINGS)
    text, vector = _make_sentence(chance), _make_vectors(chance, 1)[0]
    query = SearchQuery(text, vector, clauses, SearchFilter(agent_id=AGENT), CANDIDATES, _take_best)
    began = time.perf_counter()
    result = await index.search(SCOPE, IndexName.KNOWLEDGE, query)
    taken = 1_000 * (time.perf_counter() - began)
    if not result.documents:
        raise RuntimeError("a search found nothing")
    return taken


def _take_best(candidates: Any) -> list[str]:
    return list(dict.fromkeys(candidate.id for ranking in candidates.values() for candidate in ranking))[:CANDIDATES]


def make_chunks(chance: np.random.Generator, number: int, chunks: int) -> list[IndexDocument]:
    """Return the random chunks of one document."""
    version = DocumentVersion(1, VersionStatus.READY, f"{number}.md", "text/markdown", 1, "ada", AT)
    document = Document(f"doc_{number:032x}", AGENT, f"Page {number}", AT, AT, active=version)
    divided = [Chunk(ordinal, _make_text(chance), headings=("A section",)) for ordinal in range(chunks)]
    vectors = _make_vectors(chance, len(list_chunk_texts(document, divided)))
    return make_chunk_documents(document, version, divided, vectors, "text-embedding-3-small")


def _make_text(chance: np.random.Generator) -> str:
    sentences = list[str]()
    while sum(map(len, sentences)) < CHARACTERS:
        sentences.append(_make_sentence(chance))
    return " ".join(sentences)


def _make_sentence(chance: np.random.Generator) -> str:
    words = [VOCABULARY[index] for index in chance.zipf(1.3, WORDS_OF_A_SENTENCE) % len(VOCABULARY)]
    return f"{' '.join(words).capitalize()}."


def _make_vectors(chance: np.random.Generator, number: int) -> Any:
    vectors = chance.standard_normal((number, DIMENSIONS)).astype(np.float32)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).tolist()


def _find_percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[len(ordered) * 95 // 100]


def report(results: Sequence[SearchMeasurement]) -> str:
    """Return the table of all sizes."""
    head = [
        "chunks",
        "file, MB",
        "first p50, ms",
        "p95",
        "read, MB",
        "later p50, ms",
        "p95",
        "CPU p50",
        "read, bytes",
        "write p50, ms",
        "p95",
        "memory, MB",
    ]
    return format_table(
        head,
        [
            (
                f"{result.chunks:,}",
                result.file_bytes / 1e6,
                *result.first,
                result.first_bytes / 1e6,
                *result.later,
                result.later_cpu[0],
                result.later_bytes,
                *result.write,
                result.memory_mb,
            )
            for result in results
        ],
    )


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedded_search", description=__doc__)
    parser.add_argument("--chunks", type=lambda text: [int(part) for part in text.split(",")], default=list(SIZES))
    parser.add_argument("--endpoint", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.endpoint:
        print(json.dumps(asdict(asyncio.run(measure(options.endpoint, options.chunks[0])))))
        return
    results = []
    for chunks in options.chunks:
        process = S3Process()
        try:
            endpoint = process.start()
            create_bucket(client("s3", endpoint), BUCKET)
            command = [sys.executable, "-m", "benchmarks.embedded_search"]
            arguments = ["--chunks", str(chunks), "--endpoint", endpoint]
            done = subprocess.run([*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
            results.append(SearchMeasurement(**json.loads(done.stdout)))
        finally:
            process.stop()
    print(f"{describe_machine()}; vectors of {DIMENSIONS} numbers\n\n{report(results)}")


if __name__ == "__main__":
    main()

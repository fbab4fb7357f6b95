"""Measure the time of ingestion outside the embedder, and its memory: ``python -m benchmarks.ingest``.

The steps of ``ingest_document`` are run for each document, with Baton's own adapters: records in DynamoDB Local, files
in moto's S3, and chunks in the embedded index. The embedder is the local cloud's MiniLM, in this process. All documents
are extracted and chunked before any is embedded, so that the peak of memory does not include the model.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from baton.adapters.aws.s3_documents import S3Documents
from baton.adapters.dynamodb.documents import DynamoDocuments
from baton.adapters.dynamodb.table import Table
from baton.composition.app import App, build
from baton.composition.ports import Ports
from baton.domain.documents.document import UPLOAD_WAIT, Document, DocumentRef, DocumentVersion, VersionStatus
from baton.domain.documents.search import Vector
from baton.domain.tenants.identity import Scope
from baton.ports.clock import SystemClock
from baton.ports.documents.documents import ORIGINAL
from baton.ports.documents.search import Embedder
from baton_documents.formats import DocumentFormat
from baton_local.demo_model.sentence_embedder import SentenceEmbedder
from baton_local.engines.clients import client
from baton_local.engines.dynamodb import DynamoDBLocal
from baton_local.resources import create_bucket, create_table
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints
from benchmarks.inputs.document_set import GeneratedDocument, make_document_set, make_pdf
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.instruments.s3_process import S3Process
from benchmarks.instruments.search_index import embedded_index
from benchmarks.recall import make_local_embedder

SCOPE = Scope("benchmark", "ada")
AGENT = "knowledge"
BUCKET = "documents"
WANTED_SHARE = 20
"""The largest share of the time outside the embedder, in per cent."""


class TimedEmbedder:
    """An ``Embedder`` that measures the time of the local one, which it loads at the first use."""

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0
        self.texts = 0
        self._embedder: Embedder | None = None

    @property
    def name(self) -> str:
        return SentenceEmbedder.name

    @property
    def dimensions(self) -> int:
        return SentenceEmbedder.dimensions

    async def embed(self, texts: Sequence[str], **_: object) -> Sequence[Vector]:
        self._embedder = self._embedder or make_local_embedder()
        start, cpu_begun = time.perf_counter(), time.process_time()
        vectors = await self._embedder.embed(texts)
        self.seconds += time.perf_counter() - start
        self.cpu_seconds += time.process_time() - cpu_begun
        self.texts += len(texts)
        return vectors


class NoStarts:
    """``ports.documents.documents.Ingestions`` that starts nothing, because the benchmark runs the steps itself."""

    async def start(self, ref: DocumentRef, *, attempt: int, created_at: datetime, removes: bool = False) -> None:
        return

    async def rebuild(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        return False


class _Ports(Ports):
    """A deployment's ports, with the given ones replaced."""

    def __init__(self, **ports: Any) -> None:
        for name, port in ports.items():
            setattr(self, name, port)


@dataclass(slots=True)
class IngestionMeasurement:
    """The measurements of one document."""

    document: GeneratedDocument
    ref: DocumentRef
    seconds: dict[str, float] = field(default_factory=dict)
    """The seconds of each step."""
    cpu_seconds: float = 0.0
    """The CPU time of this process in all steps."""
    embedding: float = 0.0
    """Seconds in the embedder."""
    embedded: int = 0
    """The number of embedded texts."""
    pages: int | None = None
    """The number of pages, slides or sheets; None in formats without them."""
    chunks: int = 0
    batches: int = 0
    """The number of batches of chunks that are indexed."""

    @property
    def outside(self) -> float:
        """Seconds outside the embedder."""
        return sum(self.seconds.values()) - self.embedding


async def extract_and_chunk(app: App, ports: Any, source: GeneratedDocument) -> IngestionMeasurement:
    """Upload a document, and run the steps up to its division into chunks."""
    now = ports.clock.now()
    first = DocumentVersion(1, VersionStatus.WAITING, source.name, source.content_type, len(source.body), "ada", now)
    document_id = f"doc_{uuid.uuid4().hex}"
    document = Document(document_id, AGENT, source.name, now, now, next=first, check_at=now + UPLOAD_WAIT)
    await ports.documents.create(SCOPE, document)
    await ports.document_files.write(SCOPE, document, 1, ORIGINAL, source.body)
    done = IngestionMeasurement(source, DocumentRef(SCOPE.tenant_id, AGENT, document_id, 1))
    checked = await _run_step(app, done, "check")
    for index, part in enumerate(checked["parts"]):
        details = {"format": checked["format"], "part": part, "index": index, "count": checked["count"]}
        await _run_step(app, done, "extract", **details)
    chunked = await _run_step(app, done, "chunk", parts=checked["count"])
    done.batches = chunked["count"]
    return done


async def index_chunks(app: App, ports: Any, done: IngestionMeasurement, embedder: TimedEmbedder) -> None:
    """Run the remaining steps. Raises ``RuntimeError`` if the document does not become active."""
    before, texts = embedder.seconds, embedder.texts
    for batch in range(done.batches):
        await _run_step(app, done, "index", batch=batch, count=done.batches)
    await _run_step(app, done, "activate")
    done.embedding, done.embedded = embedder.seconds - before, embedder.texts - texts
    document = await ports.documents.get(SCOPE, AGENT, done.ref.document_id)
    if document is None or document.active is None:
        raise RuntimeError(f"{done.document.name} was not ingested: {document}")
    done.pages, done.chunks = document.active.pages, document.active.chunks or 0


async def _run_step(app: App, done: IngestionMeasurement, step: str, **details: Any) -> dict[str, Any]:
    """Run one step of the state machine, and note its times. Return its answer."""
    description = {"tenantId": done.ref.tenant_id, "agentId": AGENT, "documentId": done.ref.document_id, "version": 1}
    start, cpu_begun = time.perf_counter(), time.process_time()
    answer = await app.knowledge.ingestion_events.run_step({"step": step, "document": description, **details})
    done.seconds[step] = done.seconds.get(step, 0.0) + time.perf_counter() - start
    done.cpu_seconds += time.process_time() - cpu_begun
    return answer


def _measure_peak() -> int:
    """Return the peak of this process's memory so far, in MiB (Linux only, whose unit is the KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def measure(ports: Any, embedder: TimedEmbedder, chosen: Sequence[GeneratedDocument]) -> None:
    """Ingest the documents and print the tables."""
    app = build(ports)
    warm = GeneratedDocument("warm.pdf", DocumentFormat.PDF, make_pdf(10, tables=True))
    await extract_and_chunk(app, ports, warm)  # load the libraries, as a worker does only once
    peak_before = _measure_peak()
    done = [await extract_and_chunk(app, ports, document) for document in chosen]
    peak_after_reading = _measure_peak()
    for result in done:
        await index_chunks(app, ports, result, embedder)
    head = ["document", "KiB", "pages", "chunks", "extract s", "chunk s", "index s", "- of it embedder s", "other %"]
    rows = [
        [
            result.document.name,
            len(result.document.body) // 1024,
            result.pages or "-",
            result.chunks,
            *(f"{result.seconds[step]:.2f}" for step in ("extract", "chunk", "index")),
            f"{result.embedding:.1f}",
            f"{100 * result.outside / (result.outside + result.embedding):.1f}",
        ]
        for result in done
    ]
    outside, embedding = sum(result.outside for result in done), sum(result.embedding for result in done)
    share = 100 * outside / (outside + embedding)
    print(describe_machine() + "\n")
    print(format_table(head, rows))
    cpu = sum(result.cpu_seconds for result in done)
    cpu_share = 100 * (cpu - embedder.cpu_seconds) / cpu
    print(f"\nCPU time outside the embedder: {cpu - embedder.cpu_seconds:.1f} of {cpu:.1f} s ({cpu_share:.1f} %).")
    texts = sum(result.embedded for result in done)
    print(f"Outside the embedder: {share:.1f} % of the time (wanted: under {WANTED_SHARE} %).")
    print(f"Embedder: {texts} texts, {1000 * embedding / texts:.1f} ms each.")
    print(
        f"Peak of memory: {peak_before} MiB before, {peak_after_reading} MiB after all extraction and chunking, "
        f"{_measure_peak()} MiB at the end."
    )


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="ingest only the documents whose names contain this")
    arguments = parser.parse_args()
    chosen = [document for document in make_document_set() if arguments.only is None or arguments.only in document.name]
    if not chosen:
        parser.error(f"no document has a name that contains {arguments.only!r}")
    nowhere = Endpoints(gateway="http://-", sockets="ws://-", connections="http://-", queues="http://-")
    stack = read_stack(ROOT / "template.yaml", {"Stage": "local"}, nowhere)
    engine, s3_process = DynamoDBLocal(default_cache_dir(), None, print), S3Process()
    try:
        dynamodb, s3 = client("dynamodb", engine.start()), client("s3", s3_process.start())
        create_bucket(s3, BUCKET)
        clock, embedder = SystemClock(), TimedEmbedder()
        with embedded_index(embedder.dimensions) as index:
            ports = _Ports(
                clock=clock,
                documents=DynamoDocuments(Table.of(dynamodb, create_table(dynamodb, stack.table))),
                document_files=S3Documents(s3, BUCKET, clock),
                search=index,
                embedder=embedder,
                ingestions=NoStarts(),
                forget_wait_seconds=0.0,
            )
            asyncio.run(measure(cast("Any", ports), embedder, chosen))
    finally:
        engine.stop()
        s3_process.stop()


if __name__ == "__main__":
    main()

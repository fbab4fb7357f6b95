"""The pipeline that makes an uploaded document part of an agent's knowledge, step by step.

The record decides. A step does nothing for a version that is not in progress any more: it was deleted, has failed, or a
newer one has come. A rebuild takes the same steps with the version in use, and changes no record but for the number of
its chunks. Every step may run twice, in any order, and die at any write. What a version has left behind is in
its document's list of stale versions from the moment on in which it cannot become active any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.documents.document import (
    MAX_DOCUMENT_BYTES,
    MAX_PAGE_ERRORS,
    UPLOAD_WAIT,
    Document,
    DocumentRef,
    DocumentVersion,
    IngestionStep,
    VersionStatus,
    chunk_source_id,
)
from baton.domain.documents.search import IndexName, SearchFilter, Vector
from baton.domain.errors import (
    DocumentUnreadable,
    EmbedderUnavailable,
    SearchIndexFull,
    StoreUnavailable,
    WrongEmbeddings,
    error_classes,
)
from baton.domain.metrics import Metric, count
from baton.knowledge.chunk_documents import chunk_documents, chunk_texts
from baton.knowledge.document_records import (
    DocumentRecords,
    find_worked_version,
    next_version_has_status,
    pipeline_scope,
)
from baton.knowledge.ingestion_files import (
    batch_name,
    divide_into_batches,
    pack_chunks,
    pack_text,
    part_name,
    unpack_chunks,
    unpack_text,
)
from baton.ports.clock import Clock
from baton.ports.documents.documents import ORIGINAL, DocumentFiles, TextExtractor
from baton.ports.documents.search import Embedder, EmbeddingPurpose, SearchIndex
from baton_documents.chunks.chunk import Chunk
from baton_documents.chunks.division import divide_into_chunks
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import PDF, MediaType
from baton_documents.results import ExtractedText
from baton_documents.titles import given_title

logger = Logger(child=True)

CHECKED, EXTRACTED, CHUNKED, INDEXED = 2, 30, 35, 95
"""Percent of the progress that are reached after these steps. The rest is the activation."""
MAX_TEXT = 64 * 1024 * 1024
"""Characters of a document. All its text is in memory while it is divided, and a small file may stand for much."""
BLOCK_WEIGHT = 32
"""Characters that a block of text counts in addition to its own, because millions of empty ones take memory too."""
MAX_TITLE = 200
"""The largest number of characters of a title that is read from a document."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a document that is extracted on its own."""

    form: DocumentFormat
    pages: tuple[int, int]
    """The first and the last page."""
    index: int
    """From 0."""
    count: int
    """The number of all parts."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of the first step. Without parts there is nothing (left) to ingest."""

    form: DocumentFormat | None = None
    parts: tuple[tuple[int, int], ...] = ()
    is_waiting: bool = False
    """True if the content is still to be uploaded, so that nothing is to be cleaned either."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The steps of the state machine ``ingest_document`` that lead to an active version.

    They raise what their ports raise, to be repeated. What is wrong with a document is not an exception: its version is
    then failed, with the reason.
    """

    records: DocumentRecords
    files: DocumentFiles
    extractor: TextExtractor
    search: SearchIndex
    embedder: Embedder
    clock: Clock

    async def check(self, ref: DocumentRef) -> Checked:
        """Check that the content was announced so and can be read, and divide it into parts."""
        document = await self.records.get(ref)
        version = find_worked_version(document, ref, VersionStatus.WAITING, VersionStatus.PROCESSING)
        if document is None or version is None:
            return Checked()
        body = await self.files.read(pipeline_scope(ref), document, ref.version, ORIGINAL)
        if body is None:
            if version.status is VersionStatus.WAITING and self.clock.now() < version.created_at + UPLOAD_WAIT:
                return Checked(is_waiting=True)
            await self._fail(ref, "document_not_uploaded", "The content was not uploaded in time. Create it again.")
            return Checked()
        digest = hashlib.sha256(body).hexdigest()
        try:
            _check_content(version, body, digest)
            inspection = await self.extractor.inspect(body, version.name, version.content_type)
        except DocumentUnreadable as problem:
            await self._fail(ref, problem.reason, problem.detail)
            return Checked()
        if ref.rebuilds:
            return Checked(inspection.form, inspection.parts)

        def begin(document: Document) -> Document | None:
            if not next_version_has_status(document, ref.version, VersionStatus.WAITING):
                return None
            version = replace(
                document.latest,
                status=VersionStatus.PROCESSING,
                sha256=digest,
                size=len(body),
                step=IngestionStep.CHECK,
                progress=CHECKED,
            )
            return document.begin(version, self.clock.now())

        await self.records.change(ref, begin)
        return Checked(inspection.form, inspection.parts) if await self._current(ref) is not None else Checked()

    async def extract(self, ref: DocumentRef, part: Part) -> None:
        """Keep the text of one part."""
        work = await self._current(ref)
        if work is None:
            return
        document, version = work
        body = await self.files.read(pipeline_scope(ref), document, ref.version, ORIGINAL)
        if body is None or hashlib.sha256(body).hexdigest() != version.sha256:
            await self._fail(ref, "document_changed", "The content was changed while it was read. Upload it again.")
            return
        charset = MediaType.parse(version.content_type).charset
        try:
            text = await self.extractor.extract(body, part.form, part.pages, charset)
        except DocumentUnreadable as problem:
            await self._fail(ref, problem.reason, problem.detail)
            return
        packed = await off_loop(LARGE, pack_text, text)
        await self.files.write(pipeline_scope(ref), document, ref.version, part_name(part.index), packed)
        percent = CHECKED + (EXTRACTED - CHECKED) * (part.index + 1) // part.count
        await self._note(ref, IngestionStep.EXTRACT, percent)

    async def chunk(self, ref: DocumentRef, parts: int) -> int:
        """Divide the text of all parts into chunks; return the number of batches, 0 if there is nothing to index."""
        work = await self._current(ref)
        if work is None:
            return 0
        document, _ = work
        texts: list[ExtractedText] = []
        size = 0
        for index in range(parts):
            texts.append(await unpack_text(await self._read(ref, document, part_name(index))))
            size += sum(len(block.text) + BLOCK_WEIGHT for block in texts[-1].blocks)
            if size > MAX_TEXT:
                await self._fail(ref, "document_too_long", "The document has too much text. Divide it into several.")
                return 0
        chunks = await off_loop(LARGE, divide_into_chunks, chain.from_iterable(text.blocks for text in texts))
        errors = [error for text in texts for error in text.page_errors]
        if not chunks:
            reason = "Upload one that has some."
            if errors:
                reason = errors[0].message
            elif MediaType.parse(document.latest.content_type).essence == PDF:
                reason = "It may have been scanned: upload one with a text layer."
            await self._fail(ref, "document_without_text", f"The document has no text that can be read. {reason}")
            return 0
        batches = divide_into_batches(chunks)
        for index, batch in enumerate(batches):
            body = await off_loop(LARGE, pack_chunks, batch)
            await self.files.write(pipeline_scope(ref), document, ref.version, batch_name(index), body)
        if ref.rebuilds:
            return len(batches) if await self._redivide(ref, len(chunks)) else 0

        def describe(document: Document) -> Document | None:
            if not next_version_has_status(document, ref.version, VersionStatus.PROCESSING):
                return None
            version = replace(
                document.latest,
                pages=next((text.pages for text in texts if text.pages is not None), None),
                chunks=len(chunks),
                page_errors=tuple(errors[:MAX_PAGE_ERRORS]),
                page_error_count=len(errors),
                step=IngestionStep.CHUNK,
                progress=max(CHUNKED, document.latest.progress),
            )
            titled = replace(document, title=_title(document, texts))
            return titled.begin(version, self.clock.now())

        return len(batches) if await self.records.change(ref, describe) is not None else 0

    async def index(self, ref: DocumentRef, batch: int, batches: int) -> None:
        """Embed one batch of chunks and put it into the index."""
        work = await self._current(ref)
        if work is None:
            return
        document, version = work
        chunks = await unpack_chunks(await self._read(ref, document, batch_name(batch)))
        try:
            vectors = await self._embed(ref.tenant_id, document, chunks)
        except WrongEmbeddings as wrong:  # every repetition would fail alike
            await self._fail(ref, wrong.code, wrong.detail)
            return
        if await self._current(ref) is None:  # embedding takes long
            return
        embedder = self.embedder.name if self.embedder.dimensions else None
        documents = chunk_documents(document, version, chunks, vectors, embedder)
        try:
            await self.search.put(pipeline_scope(ref), IndexName.KNOWLEDGE, documents)
        except SearchIndexFull as full:
            await self._fail(ref, full.code, full.detail)
            return
        await self._note(ref, IngestionStep.INDEX, CHUNKED + (INDEXED - CHUNKED) * (batch + 1) // batches)

    async def activate(self, ref: DocumentRef) -> None:
        """Let turns use the version from now on, in place of the previous one. All of it must be in the index."""
        work = await self._current(ref)
        if work is None:
            return
        _, version = work
        indexed = await self.search.count(pipeline_scope(ref), IndexName.KNOWLEDGE, _chunks_of(ref))
        if not version.chunks or indexed != version.chunks:
            raise StoreUnavailable("A step came before the one that it needs.")
        if ref.rebuilds:
            return

        def swap(document: Document) -> Document | None:
            if not next_version_has_status(document, ref.version, VersionStatus.PROCESSING):
                return None
            now = self.clock.now()
            version = replace(document.latest, status=VersionStatus.READY, step=None, progress=100, ended_at=now)
            return document.activate(version, now)

        await self.records.change(ref, swap)

    async def fail(self, ref: DocumentRef, error: str) -> None:
        """Fail the version because a step could not be carried out; ``error`` is the name of its last exception."""
        classes = {cls.__name__: cls for cls in error_classes() if cls.retryable}
        if error in classes:
            await self._fail(
                ref, classes[error].code, "It could not be processed at the moment. Upload it again later."
            )
        else:
            await self._fail(ref, "document_not_processed", "The document could not be processed in the time it has.")
        logger.error("document not ingested", document_id=ref.document_id, version=ref.version, error=error)
        count(Metric.DOCUMENTS_FAILED)

    async def _fail(self, ref: DocumentRef, code: str, message: str) -> None:
        if ref.rebuilds:  # the version stays in use as far as it is indexed
            logger.error("document not indexed again", document_id=ref.document_id, version=ref.version, reason=code)
            count(Metric.DOCUMENTS_FAILED)
            return

        def end(document: Document) -> Document | None:
            if not next_version_has_status(document, ref.version, VersionStatus.WAITING, VersionStatus.PROCESSING):
                return None
            now = self.clock.now()
            failed = replace(
                document.latest, status=VersionStatus.FAILED, error_code=code, error=message, step=None, ended_at=now
            )
            return document.fail(failed, now)

        await self.records.change(ref, end)

    async def _redivide(self, ref: DocumentRef, chunks: int) -> bool:
        """Prepare a new indexing: remove the chunks that are left of an earlier one, and record the new number.

        Return False if the version is no longer in use.
        """
        await self.search.delete(pipeline_scope(ref), IndexName.KNOWLEDGE, _chunks_of(ref))

        def describe(document: Document) -> Document | None:
            version = find_worked_version(document, ref)
            return replace(document, active=replace(version, chunks=chunks)) if version is not None else None

        return await self.records.change(ref, describe) is not None

    async def _current(self, ref: DocumentRef) -> tuple[Document, DocumentVersion] | None:
        """Return the document and the version if the work on it has not ended."""
        document = await self.records.get(ref)
        version = find_worked_version(document, ref, VersionStatus.PROCESSING)
        return (document, version) if document is not None and version is not None else None

    async def _read(self, ref: DocumentRef, document: Document, name: str) -> bytes:
        """Return a file of an earlier step."""
        body = await self.files.read(pipeline_scope(ref), document, ref.version, name)
        if body is None:
            raise StoreUnavailable("A step came before the one that it needs.")
        return body

    async def _embed(self, tenant_id: str, document: Document, chunks: Sequence[Chunk]) -> Sequence[Vector | None]:
        if not self.embedder.dimensions:  # switched off: texts are found by their words
            return []
        texts = chunk_texts(document, chunks)
        vectors = await self.embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT, tenant_id=tenant_id)
        if len(vectors) != len(texts):
            raise EmbedderUnavailable
        return vectors

    async def _note(self, ref: DocumentRef, step: IngestionStep, percent: int) -> None:
        if ref.rebuilds:
            return
        await self.records.documents.note_progress(pipeline_scope(ref), ref, step, percent, self.clock.now())


def _chunks_of(ref: DocumentRef) -> SearchFilter:
    return SearchFilter(agent_id=ref.agent_id, source_id=chunk_source_id(ref.document_id, ref.version))


def _check_content(version: DocumentVersion, body: bytes, digest: str) -> None:
    if not body:
        raise DocumentUnreadable(reason="document_empty", detail="The file has no content. Upload one that has.")
    if len(body) > MAX_DOCUMENT_BYTES:
        limit = MAX_DOCUMENT_BYTES // (1024 * 1024)
        raise DocumentUnreadable(reason="document_too_large", detail=f"A document may have at most {limit} MiB.")
    if version.sha256 is not None and version.sha256.lower() != digest:
        raise DocumentUnreadable(
            reason="document_checksum",
            detail="The content has another checksum than the announced one. Upload it again.",
        )


def _title(document: Document, texts: Sequence[ExtractedText]) -> str:
    """Return the title that a document gives itself, if it has only the name of its file as yet."""
    own = next(filter(None, (given_title(text.title) for text in texts)), None)
    if own is None or document.title != document.latest.name:
        return document.title
    return own[:MAX_TITLE]

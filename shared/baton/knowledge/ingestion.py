"""The pipeline that makes an uploaded document part of an agent's knowledge, step by step.

The document's record decides about each step: it does nothing for a version that was deleted, has failed or was
replaced. A rebuild takes the same steps with the version in use, and changes only the number of chunks in the record.
Every step may run twice, in any order, and die at any write. A version that can no longer become active is added to
its document's stale versions, so that its remains are removed.
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
    derive_chunk_source_id,
)
from baton.domain.documents.search import IndexName, SearchFilter, Vector
from baton.domain.errors import (
    DocumentUnreadable,
    EmbedderUnavailable,
    SearchIndexFull,
    StoreUnavailable,
    WrongEmbeddings,
    list_error_classes,
)
from baton.domain.metrics import Metric, count
from baton.knowledge.chunk_documents import list_chunk_texts, make_chunk_documents
from baton.knowledge.document_records import (
    DocumentRecords,
    find_worked_version,
    make_pipeline_scope,
    next_version_has_status,
)
from baton.knowledge.ingestion_files import (
    divide_into_batches,
    make_batch_name,
    make_part_name,
    pack_chunks,
    pack_text,
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
from baton_documents.titles import clean_title

logger = Logger(child=True)

CHECKED_PERCENT, EXTRACTED_PERCENT, CHUNKED_PERCENT, INDEXED_PERCENT = 2, 30, 35, 95
"""The progress after these steps, in per cent. The activation completes it."""
MAX_TEXT = 64 * 1024 * 1024
"""The maximum length of a document, in characters. All its text is in memory while it is divided into chunks."""
BLOCK_WEIGHT = 32
"""The number of characters added to the length of each block, because millions of empty blocks take memory too."""
MAX_TITLE = 200
"""The length to which a title from a document is cut, in characters."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a document that is extracted on its own."""

    form: DocumentFormat
    pages: tuple[int, int]
    """The first and the last page."""
    index: int
    """The part's number, from 0."""
    count: int
    """The number of all parts."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of the first step. Without parts, no further step is needed."""

    form: DocumentFormat | None = None
    parts: tuple[tuple[int, int], ...] = ()
    """The first and the last page of the parts that are extracted on their own."""
    is_waiting: bool = False
    """True if the content is not uploaded yet, so that there is nothing to clean."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The steps of the state machine ``ingest_document`` that lead to an active version.

    A step that raises an error of its ports is repeated. A fault of the document raises nothing: the version fails
    with a reason.
    """

    records: DocumentRecords
    files: DocumentFiles
    extractor: TextExtractor
    search: SearchIndex
    embedder: Embedder
    clock: Clock

    async def check(self, ref: DocumentRef) -> CheckResult:
        """Check that the content is readable and equals the announced one, and divide it into parts."""
        document = await self.records.get(ref)
        version = find_worked_version(document, ref, VersionStatus.WAITING, VersionStatus.PROCESSING)
        if document is None or version is None:
            return CheckResult()
        body = await self.files.read(make_pipeline_scope(ref), document, ref.version, ORIGINAL)
        if body is None:
            if version.status is VersionStatus.WAITING and self.clock.now() < version.created_at + UPLOAD_WAIT:
                return CheckResult(is_waiting=True)
            await self._fail(ref, "document_not_uploaded", "The content was not uploaded in time. Create it again.")
            return CheckResult()
        digest = hashlib.sha256(body).hexdigest()
        try:
            _check_content(version, body, digest)
            inspection = await self.extractor.inspect(body, version.name, version.content_type)
        except DocumentUnreadable as problem:
            await self._fail(ref, problem.reason, problem.detail)
            return CheckResult()
        if ref.rebuilds:
            return CheckResult(inspection.form, inspection.parts)

        def begin(document: Document) -> Document | None:
            if not next_version_has_status(document, ref.version, VersionStatus.WAITING):
                return None
            version = replace(
                document.latest,
                status=VersionStatus.PROCESSING,
                sha256=digest,
                size=len(body),
                step=IngestionStep.CHECK,
                progress=CHECKED_PERCENT,
            )
            return document.begin(version, self.clock.now())

        await self.records.change(ref, begin)
        return (
            CheckResult(inspection.form, inspection.parts) if await self._find_work(ref) is not None else CheckResult()
        )

    async def extract(self, ref: DocumentRef, part: Part) -> None:
        """Extract the text of one part, and store it for the next step."""
        work = await self._find_work(ref)
        if work is None:
            return
        document, version = work
        body = await self.files.read(make_pipeline_scope(ref), document, ref.version, ORIGINAL)
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
        await self.files.write(make_pipeline_scope(ref), document, ref.version, make_part_name(part.index), packed)
        percent = CHECKED_PERCENT + (EXTRACTED_PERCENT - CHECKED_PERCENT) * (part.index + 1) // part.count
        await self._record_progress(ref, IngestionStep.EXTRACT, percent)

    async def chunk(self, ref: DocumentRef, parts: int) -> int:
        """Divide the text of all parts into chunks. Return the number of batches; 0 if there is nothing to index."""
        work = await self._find_work(ref)
        if work is None:
            return 0
        document, _ = work
        texts: list[ExtractedText] = []
        size = 0
        for index in range(parts):
            texts.append(await unpack_text(await self._read_step_file(ref, document, make_part_name(index))))
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
            await self.files.write(make_pipeline_scope(ref), document, ref.version, make_batch_name(index), body)
        if ref.rebuilds:
            return len(batches) if await self._prepare_reindexing(ref, len(chunks)) else 0

        def record_chunks(document: Document) -> Document | None:
            if not next_version_has_status(document, ref.version, VersionStatus.PROCESSING):
                return None
            version = replace(
                document.latest,
                pages=next((text.pages for text in texts if text.pages is not None), None),
                chunks=len(chunks),
                page_errors=tuple(errors[:MAX_PAGE_ERRORS]),
                page_error_count=len(errors),
                step=IngestionStep.CHUNK,
                progress=max(CHUNKED_PERCENT, document.latest.progress),
            )
            titled = replace(document, title=_choose_title(document, texts))
            return titled.begin(version, self.clock.now())

        return len(batches) if await self.records.change(ref, record_chunks) is not None else 0

    async def index(self, ref: DocumentRef, batch: int, batches: int) -> None:
        """Embed one batch of chunks and put it into the index."""
        work = await self._find_work(ref)
        if work is None:
            return
        document, version = work
        chunks = await unpack_chunks(await self._read_step_file(ref, document, make_batch_name(batch)))
        try:
            vectors = await self._embed(ref.tenant_id, document, chunks)
        except WrongEmbeddings as error:  # every repetition would fail too
            await self._fail(ref, error.code, error.detail)
            return
        if await self._find_work(ref) is None:  # the version may have ended while it was embedded
            return
        embedder = self.embedder.name if self.embedder.dimensions else None
        documents = make_chunk_documents(document, version, chunks, vectors, embedder)
        try:
            await self.search.put(make_pipeline_scope(ref), IndexName.KNOWLEDGE, documents)
        except SearchIndexFull as error:
            await self._fail(ref, error.code, error.detail)
            return
        await self._record_progress(
            ref, IngestionStep.INDEX, CHUNKED_PERCENT + (INDEXED_PERCENT - CHUNKED_PERCENT) * (batch + 1) // batches
        )

    async def activate(self, ref: DocumentRef) -> None:
        """Make the version the active one, which turns use in place of the previous one.

        Raises ``StoreUnavailable`` unless all its chunks are in the index.
        """
        work = await self._find_work(ref)
        if work is None:
            return
        _, version = work
        indexed = await self.search.count(make_pipeline_scope(ref), IndexName.KNOWLEDGE, _select_chunks(ref))
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
        """Mark the version as failed because a step has failed. ``error`` is the name of its last exception's class."""
        classes = {cls.__name__: cls for cls in list_error_classes() if cls.retryable}
        if error in classes:
            await self._fail(
                ref, classes[error].code, "It could not be processed at the moment. Upload it again later."
            )
        else:
            await self._fail(ref, "document_not_processed", "The document could not be processed in the time it has.")
        logger.error("document not ingested", document_id=ref.document_id, version=ref.version, error=error)
        if not ref.rebuilds:  # ``_fail`` has counted a rebuild
            count(Metric.DOCUMENTS_FAILED)

    async def _fail(self, ref: DocumentRef, code: str, message: str) -> None:
        """Store that the version has failed, with ``code`` and ``message``; log and count the failure of a rebuild."""
        if ref.rebuilds:  # the version stays in use with the chunks that are in the index
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

    async def _prepare_reindexing(self, ref: DocumentRef, chunks: int) -> bool:
        """Prepare a new indexing: remove the version's chunks from the index, and record their new number.

        Return False if the version is no longer in use.
        """
        await self.search.delete(make_pipeline_scope(ref), IndexName.KNOWLEDGE, _select_chunks(ref))

        def record_chunks(document: Document) -> Document | None:
            version = find_worked_version(document, ref)
            return replace(document, active=replace(version, chunks=chunks)) if version is not None else None

        return await self.records.change(ref, record_chunks) is not None

    async def _find_work(self, ref: DocumentRef) -> tuple[Document, DocumentVersion] | None:
        """Return the document and the version if the work on it has not ended; None if it has."""
        document = await self.records.get(ref)
        version = find_worked_version(document, ref, VersionStatus.PROCESSING)
        return (document, version) if document is not None and version is not None else None

    async def _read_step_file(self, ref: DocumentRef, document: Document, name: str) -> bytes:
        """Return a file of an earlier step. Raises ``StoreUnavailable`` if it does not exist."""
        body = await self.files.read(make_pipeline_scope(ref), document, ref.version, name)
        if body is None:
            raise StoreUnavailable("A step came before the one that it needs.")
        return body

    async def _embed(self, tenant_id: str, document: Document, chunks: Sequence[Chunk]) -> Sequence[Vector | None]:
        """Return the vectors of ``list_chunk_texts``; none if embedding is off."""
        if not self.embedder.dimensions:
            return []
        texts = list_chunk_texts(document, chunks)
        vectors = await self.embedder.embed(texts, purpose=EmbeddingPurpose.DOCUMENT, tenant_id=tenant_id)
        if len(vectors) != len(texts):
            raise EmbedderUnavailable
        return vectors

    async def _record_progress(self, ref: DocumentRef, step: IngestionStep, percent: int) -> None:
        if ref.rebuilds:
            return
        await self.records.documents.note_progress(make_pipeline_scope(ref), ref, step, percent, self.clock.now())


def _select_chunks(ref: DocumentRef) -> SearchFilter:
    return SearchFilter(agent_id=ref.agent_id, source_id=derive_chunk_source_id(ref.document_id, ref.version))


def _check_content(version: DocumentVersion, body: bytes, digest: str) -> None:
    """Raise ``DocumentUnreadable`` for content that is empty, too large or different from the announced one."""
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


def _choose_title(document: Document, texts: Sequence[ExtractedText]) -> str:
    """Return the title in a document's content if its record has only the name of its file as a title."""
    content_title = next(filter(None, (clean_title(text.title) for text in texts)), None)
    if content_title is None or document.title != document.latest.name:
        return document.title
    return content_title[:MAX_TITLE]

"""The text of ingested and attached documents, read in separate processes."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aws_lambda_powertools import Logger
from cachetools import LRUCache

from baton.domain.errors import DocumentUnreadable, ExtractionUnavailable
from baton.domain.metrics import Metric, count
from baton_documents import refusals
from baton_documents.errors import DocumentRefused, LibraryMissing, ReaderUnavailable
from baton_documents.formats import DocumentFormat
from baton_documents.processes import CHILD, ProcessLimits, ReaderProcesses
from baton_documents.results import DocumentText, ExtractedText, Inspection, Sitemap

MIB = 1024 * 1024
INGESTION = ProcessLimits(memory_bytes=2048 * MIB, seconds=120, answer_bytes=128 * MIB)
"""The limits of one step of a document. The function has 3,008 MB and, for its steps, ten minutes."""
ATTACHMENTS = ProcessLimits(memory_bytes=512 * MIB, seconds=30, answer_bytes=4 * MIB)
"""The limits of one document in a message. The functions that run turns have 1,024 MB."""
MAX_AT_ONCE = 4
"""The maximum number of ingested documents that are read at the same time. Each may take ``INGESTION.memory_bytes``."""
SITEMAP_SECONDS = 30.0
"""The time limit of reading a sitemap. The largest valid sitemaps take a tenth of this time."""

logger = Logger(child=True)


class ChildProcessExtractor:
    """``ports.documents.documents.TextExtractor``. Its libraries are never loaded into this process.

    Each call has its own process, which never sees another document.
    """

    def __init__(self, limits: ProcessLimits = INGESTION, *, module: str = CHILD) -> None:
        """``module`` is the module that each process runs."""
        # One processor is left for turns, which share the local cloud's machine.
        at_once = max(1, min(MAX_AT_ONCE, (os.cpu_count() or 1) - 1))
        self._processes = ReaderProcesses(limits, at_once, module=module)

    async def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        """See ``TextExtractor``."""
        with _as_baton_errors("inspect", len(body), Metric.DOCUMENTS_UNREAD):
            return await self._processes.inspect(body, name, content_type)

    async def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        """See ``TextExtractor``."""
        with _as_baton_errors("extract", len(body), Metric.DOCUMENTS_UNREAD):
            return await self._processes.extract(body, form, part, charset)

    async def read_sitemap(self, body: bytes, *, limit: int, charset: str | None = None) -> Sitemap:
        """See ``TextExtractor``."""
        with _as_baton_errors("sitemap", len(body), Metric.DOCUMENTS_UNREAD):
            return await self._processes.read_sitemap(body, limit=limit, charset=charset, seconds=SITEMAP_SECONDS)


@contextmanager
def _as_baton_errors(work: str, size: int, metric: Metric) -> Iterator[None]:
    """Raise the reader's errors as ``DocumentUnreadable`` or ``ExtractionUnavailable``, and log them.

    ``metric`` counts failures other than refused documents.
    """
    try:
        yield
    except DocumentRefused as problem:
        if problem.status is None:
            logger.info("a document was refused", reason=problem.reason, cause=problem.cause, bytes=size)
        else:
            _log_end(work, size, problem.status, problem.reason)
            count(metric)
        raise DocumentUnreadable(problem.detail, reason=problem.reason) from problem
    except LibraryMissing as problem:
        logger.error("a library that reads documents is missing", library=problem.library)
        count(metric)
        raise DocumentUnreadable("Documents of this type cannot be read here.") from problem
    except ReaderUnavailable as problem:
        if problem.status is not None:
            _log_end(work, size, problem.status, ExtractionUnavailable.code)
            count(metric)
        elif problem.__cause__ is not None:
            logger.warning("no process can be started that reads a document", exc_info=True)
            count(metric)
        raise ExtractionUnavailable from problem


def _log_end(work: str, size: int, status: int, reason: str) -> None:
    logger.warning("a document ended the process that read it", work=work, status=status, reason=reason, bytes=size)


MAX_OUTCOMES = 32
"""The number of cached outcomes. They are used again, because each request contains the earlier attachments too."""
REFUSAL_SECONDS = 600.0
"""Seconds until a document that could not be read is tried again."""
MAX_ATTACHMENTS_AT_ONCE = 1
"""The number of attached documents that are read at the same time. Functions that run turns have memory for one."""


class ChildProcessReader:
    """``ports.documents.documents.DocumentReader``. Its libraries are never loaded into this process.

    The outcomes of the last ``MAX_OUTCOMES`` documents are cached, by their content.
    """

    def __init__(self, module: str = CHILD) -> None:
        """``module`` is the module that each process runs."""
        self._processes = ReaderProcesses(ATTACHMENTS, MAX_ATTACHMENTS_AT_ONCE, module=module)
        self._outcomes: LRUCache[str, _Outcome] = LRUCache(MAX_OUTCOMES)

    async def read(self, body: bytes, name: str, form: DocumentFormat, *, seconds: float) -> DocumentText:
        """See ``DocumentReader``. A caller that is cancelled ends the process."""
        deadline = time.monotonic() + seconds
        key = await asyncio.get_running_loop().run_in_executor(None, _make_key, body, name, form)
        cached = self._outcomes.get(key)
        if cached is not None and time.monotonic() < cached.until:
            return cached.text
        try:
            with _as_baton_errors("read", len(body), Metric.ATTACHMENTS_UNREAD):
                text = await self._processes.read(body, name, form, seconds=deadline - time.monotonic())
            outcome = _Outcome(text)
        except DocumentUnreadable as problem:
            # A new error, because the frames of the raised one hold the file.
            refusal = DocumentUnreadable(problem.detail, reason=problem.reason)
            outcome = _Outcome(refusal, time.monotonic() + REFUSAL_SECONDS)
        except ExtractionUnavailable as problem:
            if time.monotonic() >= deadline:
                too_slow = refusals.too_slow()
                raise DocumentUnreadable(too_slow.detail, reason=too_slow.reason) from problem
            raise DocumentUnreadable(problem.detail) from problem
        self._outcomes[key] = outcome
        return outcome.text


@dataclass(frozen=True, slots=True)
class _Outcome:
    result: DocumentText | DocumentUnreadable
    until: float = math.inf
    """The monotonic time from which the document is read again."""

    @property
    def text(self) -> DocumentText:
        """The document's text. Raises ``DocumentUnreadable`` if it was refused."""
        if isinstance(self.result, DocumentUnreadable):
            raise DocumentUnreadable(self.result.detail, reason=self.result.reason)
        return self.result


def _make_key(body: bytes, name: str, form: DocumentFormat) -> str:
    """Return the key of a document's outcome: its format, the ending of its name, and a digest of its content."""
    # The ending marks files with macros.
    return f"{form.value} {name.rpartition('.')[2].lower()[:16]} {hashlib.sha256(body).hexdigest()}"

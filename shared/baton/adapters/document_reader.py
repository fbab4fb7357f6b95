"""Documents of ingestion and attached ones as text, read in separate processes."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import time
from dataclasses import dataclass

from cachetools import LRUCache

from baton.adapters.child_processes import ATTACHMENTS, CHILD, INGESTION, ChildLimits, ChildProcesses
from baton.adapters.extraction import refusals
from baton.domain.document import DocumentFormat
from baton.domain.errors import DocumentUnreadable, ExtractionUnavailable
from baton.domain.extracted import DocumentText, ExtractedText, Inspection
from baton.domain.metrics import Metric
from baton.domain.source import Sitemap

MAX_AT_ONCE = 4
"""Documents that are read at the same time, because each may take ``INGESTION.memory_bytes``."""


SITEMAP_SECONDS = 30.0
"""A tenth of them are enough for the largest sitemap that is not made to take long."""


class ChildProcessExtractor:
    """``ports.documents.TextExtractor``. Its libraries are never loaded into this process.

    Each call has its own process, which never sees another document.
    """

    def __init__(self, limits: ChildLimits = INGESTION, *, module: str = CHILD) -> None:
        self._processes = ChildProcesses(limits, _at_once(), Metric.DOCUMENTS_UNREAD, module)

    async def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        """See ``TextExtractor``."""
        task = {"work": "inspect", "name": name, "contentType": content_type}
        return await self._processes.run(Inspection, task, body)

    async def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        """See ``TextExtractor``."""
        task = {"work": "extract", "format": form.value, "part": list(part), "charset": charset}
        return await self._processes.run(ExtractedText, task, body)

    async def sitemap(self, body: bytes, *, limit: int, charset: str | None = None) -> Sitemap:
        """See ``TextExtractor``."""
        task = {"work": "sitemap", "limit": limit, "charset": charset}
        return await self._processes.run(Sitemap, task, body, seconds=SITEMAP_SECONDS)


def _at_once() -> int:
    """Return a number of processes that leaves a processor for turns, which share the local cloud's machine."""
    return max(1, min(MAX_AT_ONCE, (os.cpu_count() or 1) - 1))


KEPT = 32
"""Documents whose outcome is kept, because each request of a conversation holds its earlier attachments."""
KEPT_REFUSAL_SECONDS = 600.0
"""Time until a document that could not be read is tried again."""
AT_ONCE = 1
"""The memory of a function that runs turns is enough for one document at a time."""


class ChildProcessReader:
    """``ports.documents.DocumentReader``. Its libraries are never loaded into this process.

    The outcomes for the last ``KEPT`` documents are kept, by their content.
    """

    def __init__(self, module: str = CHILD) -> None:
        self._processes = ChildProcesses(ATTACHMENTS, AT_ONCE, Metric.ATTACHMENTS_UNREAD, module)
        self._outcomes: LRUCache[str, _Outcome] = LRUCache(KEPT)

    async def read(self, body: bytes, name: str, form: DocumentFormat, *, seconds: float) -> DocumentText:
        """See ``DocumentReader``. A caller that is cancelled ends the process."""
        deadline = time.monotonic() + seconds
        key = await asyncio.get_running_loop().run_in_executor(None, _key, body, name, form)
        kept = self._outcomes.get(key)
        if kept is not None and time.monotonic() < kept.until:
            return kept.text
        task = {"work": "read", "name": name, "format": form.value}
        try:
            text = await self._processes.run(DocumentText, task, body, seconds=deadline - time.monotonic())
            outcome = _Outcome(text)
        except DocumentUnreadable as problem:
            outcome = _Outcome(problem, time.monotonic() + KEPT_REFUSAL_SECONDS)
        except ExtractionUnavailable as problem:
            if time.monotonic() >= deadline:
                raise refusals.too_slow() from problem
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
        """The text. Raises the refusal otherwise."""
        if isinstance(self.result, DocumentUnreadable):
            raise DocumentUnreadable(self.result.detail, reason=self.result.reason)
        return self.result


def _key(body: bytes, name: str, form: DocumentFormat) -> str:
    # Files with macros are known by the ending of the name.
    return f"{form.value} {name.rpartition('.')[2].lower()[:16]} {hashlib.sha256(body).hexdigest()}"

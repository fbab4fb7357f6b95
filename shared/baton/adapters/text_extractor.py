"""Extraction of documents for ingestion, in separate processes."""

from __future__ import annotations

import os

from baton.adapters.child_processes import CHILD, INGESTION, ChildLimits, ChildProcesses
from baton.domain.document import DocumentFormat
from baton.domain.extracted import ExtractedText, Inspection
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

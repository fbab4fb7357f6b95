"""Attached documents as text, read in separate processes."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from dataclasses import dataclass

from cachetools import LRUCache

from baton.adapters.child_processes import ATTACHMENTS, CHILD, ChildProcesses
from baton.adapters.extraction import refusals
from baton.domain.document import DocumentFormat
from baton.domain.errors import DocumentUnreadable, ExtractionUnavailable
from baton.domain.extracted import DocumentText
from baton.domain.metrics import Metric

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

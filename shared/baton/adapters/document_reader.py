"""Documents are read in processes of their own, which a file may exhaust, hang or crash."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools import Logger

from baton.adapters.bounded import Bounded
from baton.domain.document import DocumentFormat
from baton.domain.errors import DocumentUnreadable
from baton.domain.extracted import DocumentText
from baton.domain.metrics import Metric, count

CHILD = "baton.adapters.extraction.child"
KEPT = 32
"""Documents whose outcome is kept, because each request of a conversation holds its earlier attachments."""
KEPT_FAILURE_SECONDS = 600.0
"""Time until a document that took too long or crashed the reader is tried again."""
_INHERITED = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")
"""Variables that the interpreter needs. All others, credentials above all, are kept from the process."""
_threads = ThreadPoolExecutor(1, thread_name_prefix="documents")
"""One document at a time: the memory of a function that runs turns is enough for one."""

logger = Logger(child=True)


class ChildProcessReader:
    """``ports.documents.DocumentReader``. Its libraries are never loaded into this process.

    The outcomes for the last ``KEPT`` documents are kept, by their content.
    """

    def __init__(self, module: str = CHILD) -> None:
        self._module = module
        self._outcomes: Bounded[str, _Outcome] = Bounded(KEPT)

    async def read(self, body: bytes, name: str, form: DocumentFormat, *, seconds: float) -> DocumentText:
        """See ``DocumentReader``. A caller that is cancelled ends the process."""
        deadline = time.monotonic() + seconds
        loop = asyncio.get_running_loop()
        key = await loop.run_in_executor(None, _key, body, name, form)
        kept = self._outcomes.get(key)
        if kept is not None and time.monotonic() < kept.until:
            return kept.text
        reading = _Reading(self._module, name, form, deadline)
        try:
            outcome = await loop.run_in_executor(_threads, copy_context().run, reading.run, body)
        except asyncio.CancelledError:
            reading.stop()
            raise
        if outcome is None:
            raise _too_slow()
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


@dataclass
class _Reading:
    """The reading of one document, which blocks its thread."""

    module: str
    name: str
    form: DocumentFormat
    deadline: float
    _process: subprocess.Popen[bytes] | None = None
    _is_stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, body: bytes) -> _Outcome | None:
        """Return the outcome, or None if the time was over before it began."""
        seconds = self.deadline - time.monotonic()
        with self._lock:
            if self._is_stopped or seconds <= 0:
                return None
            self._process = process = subprocess.Popen(  # noqa: S603 - this interpreter and a module of ours
                [sys.executable, "-S", "-s", "-B", "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        task = {"name": self.name, "format": self.form.value, "seconds": math.ceil(seconds)}
        with process:
            try:
                answer, _ = process.communicate(json.dumps(task).encode() + b"\n" + body, timeout=seconds)
            except subprocess.TimeoutExpired:
                logger.warning("a document took too long to be read", format=self.form.value, bytes=len(body))
                count(Metric.ATTACHMENTS_UNREAD)
                return _failure(_too_slow())
            finally:
                process.kill()
        return _outcome(answer, process.returncode, self.form)

    def stop(self) -> None:
        """End the process, and start none."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()


def _key(body: bytes, name: str, form: DocumentFormat) -> str:
    # Files with macros are known by the ending of the name.
    return f"{form.value} {name.rpartition('.')[2].lower()[:16]} {hashlib.sha256(body).hexdigest()}"


def _environment() -> Mapping[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _outcome(answer: bytes, status: int, form: DocumentFormat) -> _Outcome:
    try:
        found: dict[str, Any] = json.loads(answer)
    except ValueError:
        logger.warning("a document ended the process that read it", format=form.value, status=status)
        count(Metric.ATTACHMENTS_UNREAD)
        return _failure(
            DocumentUnreadable("The document is damaged or too large to be read.", reason="document_damaged")
        )
    if "text" in found:
        return _Outcome(DocumentText(found["text"], found["pages"], found["isCut"]))
    if "missing" in found:
        logger.error("a library that reads documents is missing", library=found["missing"])
        return _failure(DocumentUnreadable("Documents of this type cannot be read here."))
    return _Outcome(DocumentUnreadable(found["detail"], reason=found["reason"]))


def _failure(problem: DocumentUnreadable) -> _Outcome:
    return _Outcome(problem, time.monotonic() + KEPT_FAILURE_SECONDS)


def _too_slow() -> DocumentUnreadable:
    return DocumentUnreadable("Reading the document took too long. Divide it into several.", reason="document_too_slow")

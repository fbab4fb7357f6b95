"""Processes that each read one document, so that a hostile document cannot harm the caller."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Annotated, Any, TypeVar

from pydantic import BaseModel, StringConstraints, TypeAdapter, ValidationError

from baton_documents import refusals
from baton_documents.document import Document
from baton_documents.errors import DocumentError, DocumentRefused, LibraryMissing, ReaderUnavailable
from baton_documents.formats import DocumentFormat
from baton_documents.results import DocumentText, ExtractedText, Inspection, Sitemap

CHILD = "baton_documents.child"
MIB = 1024 * 1024
QUEUE_SECONDS = 240.0
"""The longest wait of a document, in seconds, while ``at_once`` others are read."""
_INHERITED = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")
"""The variables that the interpreter needs. The process receives no others, and so no credentials."""
_PIECE = 256 * 1024
_HEADER = re.compile(rb"([a-z]+) ([0-9]{1,12})")
_MAX_HEADER = 64
_SLOW = {getattr(signal, name, None) for name in ("SIGXCPU", "SIGALRM")}
_FROM_OUTSIDE = {getattr(signal, name, None) for name in ("SIGTERM", "SIGINT", "SIGHUP")}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of one process."""

    memory_bytes: int
    """The address space. The caller's own memory, which also holds the document and its text, is not included."""
    seconds: int
    """The processor time. The time by the clock may be twice as long."""
    answer_bytes: int
    """The most bytes of the answer, as JSON."""


DEFAULT_LIMITS = ProcessLimits(memory_bytes=1024 * MIB, seconds=60, answer_bytes=128 * MIB)


class ReaderProcesses:
    """Processes that each read one document, in the order of the calls, and ``at_once`` at the same time.

    Methods raise ``DocumentRefused`` if the file cannot be read or ends its process, ``ReaderUnavailable`` if no
    process can be started in time or if something else ends it, and ``LibraryMissing``. If a call is cancelled, its
    process ends. ``seconds`` limits the time by the clock, including the wait for other documents: if it is over before
    the process starts, ``ReaderUnavailable`` is raised; afterwards the file is refused as too slow.
    """

    def __init__(self, limits: ProcessLimits, at_once: int = 1, *, module: str = CHILD) -> None:
        self._limits = limits
        self._module = module
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="documents")

    async def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        """Return the format of a file, by its content, and its parts."""
        task = {"work": "inspect", "name": name, "contentType": content_type}
        return await self._run(Inspection, task, body)

    async def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        """Return the text of one part. A page that cannot be read has an error in the result.

        ``charset`` is the label of a text's encoding from its media type.
        """
        task = {"work": "extract", "format": form.value, "part": list(part), "charset": charset}
        return await self._run(ExtractedText, task, body)

    async def read_sitemap(
        self, body: bytes, *, limit: int, charset: str | None = None, seconds: float | None = None
    ) -> Sitemap:
        """Return the first ``limit`` addresses of a sitemap or of an index of sitemaps.

        ``charset`` is the label of its encoding from its media type.
        """
        task = {"work": "sitemap", "limit": limit, "charset": charset}
        return await self._run(Sitemap, task, body, seconds)

    async def read(self, body: bytes, name: str, form: DocumentFormat, *, seconds: float | None = None) -> DocumentText:
        """Return a document as one text, cut off after ``whole_document.MAX_CHARACTERS``."""
        task = {"work": "read", "name": name, "format": form.value}
        return await self._run(DocumentText, task, body, seconds)

    async def read_document(
        self, body: bytes, name: str = "", content_type: str = "", *, seconds: float | None = None
    ) -> Document:
        """Return the document in a file's bytes, like ``reader.read``."""
        task = {"work": "document", "name": name, "contentType": content_type}
        return await self._run(Document, task, body, seconds)

    async def _run(self, answer: type[T], task: Mapping[str, Any], body: bytes, seconds: float | None = None) -> T:
        now = time.monotonic()
        reading = _Reading(
            self._module,
            task,
            self._limits,
            start_by=now + QUEUE_SECONDS,
            end_by=now + seconds if seconds is not None else math.inf,
        )
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, reading.run, answer, body)
        except asyncio.CancelledError:
            reading.stop()
            raise


def read_in_process(
    body: bytes, name: str = "", content_type: str = "", *, limits: ProcessLimits = DEFAULT_LIMITS
) -> Document:
    """Return the document in a file's bytes, read in a separate process with limits of memory and time.

    Raises the errors of ``ReaderProcesses``, which serves asynchronous programs and many documents.
    """
    task = {"work": "document", "name": name, "contentType": content_type}
    return _Reading(CHILD, task, limits, start_by=math.inf, end_by=math.inf).run(Document, body)


@dataclass
class _Reading:
    """The reading of one document, which blocks its thread."""

    module: str
    task: Mapping[str, Any]
    limits: ProcessLimits
    start_by: float
    end_by: float
    """Times of ``time.monotonic``."""
    _process: subprocess.Popen[bytes] | None = None
    _is_stopped: bool = False
    _is_late: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, answer: type[T], body: bytes) -> T:
        """Read the document in a new process. Raises the errors of ``ReaderProcesses``."""
        now = time.monotonic()
        seconds = min(2.0 * self.limits.seconds, self.end_by - now)
        if now >= self.start_by or seconds <= 0:
            raise ReaderUnavailable
        try:
            output, status = self._exchange(body, seconds)
        except (OSError, RuntimeError) as error:  # no memory, or too many processes or threads
            raise ReaderUnavailable from error
        return self._to_result(answer, output, status)

    def _exchange(self, body: bytes, seconds: float) -> tuple[bytearray, int]:
        """Send the task and the file to a new process. Return its output and its exit status."""
        with self._lock:
            if self._is_stopped:
                raise ReaderUnavailable
            self._process = process = subprocess.Popen(  # noqa: S603 - this interpreter and a module of ours
                # Without the user's packages, files of the working directory, and writing bytecode.
                [sys.executable, "-S", "-s", "-P", "-B", "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_make_environment(),
                start_new_session=True,  # an interrupt from the keyboard is for the parent
            )
        clock = threading.Timer(seconds, self._end_late)
        writer = threading.Thread(target=_write, args=(process.stdin, self._make_header(seconds), body), daemon=True)
        with process:
            try:
                clock.start()
                writer.start()
                return _read(process.stdout, self.limits.answer_bytes), _wait_for_status(process)
            finally:
                process.kill()
                clock.cancel()
                if writer.ident is not None:
                    writer.join()

    def _make_header(self, seconds: float) -> bytes:
        limits = {
            "memoryBytes": self.limits.memory_bytes,
            "cpuSeconds": self.limits.seconds,
            "wallSeconds": math.ceil(seconds),
            "parent": os.getpid(),
        }
        return json.dumps({**self.task, **limits}).encode() + b"\n"

    def _to_result(self, answer: type[T], output: bytearray, status: int) -> T:
        is_ready, word, content = _parse_output(output)
        try:
            if word == b"result":
                return TypeAdapter(answer).validate_json(content)
            if word == b"missing":
                raise LibraryMissing(TypeAdapter(str).validate_json(content))
            refusal = _Refusal.model_validate_json(content) if word == b"refusal" else None
        except ValidationError:
            refusal = None
        if refusal is not None:
            raise DocumentRefused(refusal.detail, reason=refusal.reason, cause=refusal.cause)
        if len(content) > self.limits.answer_bytes:
            raise refusals.too_long()
        if self._is_stopped:
            raise ReaderUnavailable
        raise self._make_error(status, is_ready=is_ready)

    def _make_error(self, status: int, *, is_ready: bool) -> DocumentError:
        """Return the error for a process without a complete answer."""
        if self._is_late or -status in _SLOW:
            problem = refusals.too_slow()
        elif not is_ready or -status in _FROM_OUTSIDE:
            return ReaderUnavailable(status=status)
        else:
            # Libraries in C and Rust abort without memory, and a kernel without memory kills the process.
            problem = refusals.too_complex() if status < 0 else refusals.damaged()
        problem.status = status
        return problem

    def _end_late(self) -> None:
        self._is_late = True
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End the process, or prevent its start."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()


class _Refusal(BaseModel):
    reason: Annotated[str, StringConstraints(pattern=r"^document_[a-z_]{1,40}$")]
    detail: Annotated[str, StringConstraints(max_length=500)]
    cause: Annotated[str, StringConstraints(max_length=500)] | None


def _write(pipe: IO[bytes] | None, header: bytes, body: bytes) -> None:
    assert pipe is not None  # noqa: S101 - it was asked for
    # The process may have ended, or have read enough. If the pipe were not closed here, Popen would raise.
    with suppress(OSError), pipe:
        pipe.write(header)
        pipe.write(body)


def _read(pipe: IO[bytes] | None, limit: int) -> bytearray:
    """Return the output up to its end, or until it exceeds ``limit``."""
    output = bytearray()
    while pipe is not None and len(output) <= limit + _MAX_HEADER and (piece := os.read(pipe.fileno(), _PIECE)):
        output += piece
    return output


def _parse_output(output: bytearray) -> tuple[bool, bytes, bytearray]:
    """Return whether the process was ready, the answer's word (empty if the answer is incomplete), and the content."""
    lines = bytes(output[:_MAX_HEADER]).split(b"\n")
    header = _HEADER.fullmatch(lines[1]) if len(lines) > 2 and lines[0] == b"ready" else None
    if header is None:
        return lines[0] == b"ready", b"", output
    del output[: len(lines[0]) + len(lines[1]) + 2]  # in place, because it may be large
    return True, header[1] if len(output) == int(header[2]) else b"", output


def _wait_for_status(process: subprocess.Popen[bytes]) -> int:
    """Return the exit status of a process after the end of its output; 0 if it still runs after a second."""
    try:
        return process.wait(1.0)
    except subprocess.TimeoutExpired:
        return 0


def _make_environment() -> Mapping[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

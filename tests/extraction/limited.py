"""Documents that are read with bounds of memory and processor time, in separate processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from baton_documents.errors import DocumentRefused
from baton_documents.reader import Extractor

ROOT = Path(__file__).parents[2]
MEMORY = 1024 * 1024 * 1024
"""Bytes of address space, beyond those of a process that has loaded the libraries."""
SECONDS = 20
"""Of the processor, on a machine that does much else. What is bounded takes some tenths of one."""
PATIENCE_SECONDS = 120.0

_CONTEXT = multiprocessing.get_context("forkserver")
_READERS = ("html.page", "pdf.pdf", "sheets.xlsx", "slides.pptx", "text.markdown", "word.docx")
_CONTEXT.set_forkserver_preload([f"baton_documents.{reader}" for reader in _READERS])


@dataclass(frozen=True)
class Found:
    """The result of reading a document."""

    refusal: str | None = None
    """The code of its refusal."""
    errors: tuple[str, ...] = ()
    """The errors of its pages."""
    blocks: int = 0
    imported: frozenset[str] = frozenset()
    """The files of the project that the process has imported."""


def outcome(body: bytes, content_type: str) -> str:
    """Read a document. Return the code of a refusal, the errors of its pages, or the number of its blocks."""
    result = read(body, content_type)
    return result.refusal or "; ".join(result.errors) or str(result.blocks)


def read(body: bytes, content_type: str, memory: int = MEMORY) -> Found:
    """Read a document in a process that has so many bytes of memory."""
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_read, args=(theirs, body, content_type, memory), daemon=True)
    with contextlib.chdir(ROOT):  # where the process that others are forked from finds the tests
        process.start()
    theirs.close()
    assert ours.poll(PATIENCE_SECONDS), "It says nothing."
    try:
        result: Found = ours.recv()
    except EOFError:
        result = Found("It has ended.")
    process.join(PATIENCE_SECONDS)
    assert process.exitcode == 0, f"It ended with {process.exitcode}."
    return result


def _read(connection: Connection, body: bytes, content_type: str, memory: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    extractor = Extractor()
    try:
        form = extractor.detect(body, "file", content_type)
        texts = [extractor.extract(body, form, part) for part in extractor.list_parts(body, form)]
    except DocumentRefused as problem:
        connection.send(Found(problem.reason, imported=_list_imported()))
        return
    errors = tuple(error.message for text in texts for error in text.page_errors)
    blocks = sum(len(text.blocks) for text in texts)
    connection.send(Found(errors=errors, blocks=blocks, imported=_list_imported()))


def _list_imported() -> frozenset[str]:
    files = (Path(file) for module in sys.modules.copy().values() if (file := getattr(module, "__file__", None)))
    own = (file.relative_to(ROOT) for file in files if file.is_relative_to(ROOT))
    return frozenset(file.as_posix() for file in own if not file.parts[0].startswith("."))

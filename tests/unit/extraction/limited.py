"""Programs with bounds of memory and processor time, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space."""
SECONDS = 20
"""Of the processor, on a machine that does much else. What is bounded takes some tenths of one."""

_PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from baton.adapters.extraction.extractor import Extractor
from baton.domain.errors import DocumentUnreadable
body = sys.stdin.buffer.read()
extractor = Extractor()
try:
    form = extractor.detect(body, "file", {content_type!r})
    texts = [extractor.extract(body, form, part) for part in extractor.parts(body, form)]
    errors = [error.message for text in texts for error in text.page_errors]
    blocks = [block for text in texts for block in text.blocks]
    print(*(errors or [len(blocks)]), sep="; ")
except DocumentUnreadable as problem:
    print(problem.reason)
"""


def outcome(body: bytes, content_type: str) -> str:
    """Read a document. Return the code of a refusal, the errors of its pages, or the number of its blocks."""
    program = _PROGRAM.format(memory=MEMORY, seconds=SECONDS, content_type=content_type)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=body,
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "shared")},
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode().strip()

"""The program that reads one document in a process of its own: ``python -m baton.adapters.extraction.child``.

A line of JSON (``name``, ``format``, ``seconds``) and the file come in. Out comes one JSON object: ``text``, ``pages``
and ``isCut``, or ``reason`` and ``detail`` of a refusal, or the library that is ``missing``. The process bounds its own
memory and processor time.
"""

from __future__ import annotations

import json
import os
import sys

from baton.domain.document import DocumentFormat
from baton.domain.errors import DocumentUnreadable

MEMORY_BYTES = 512 * 1024 * 1024
"""Address space. The functions that run turns have 1 GB, and need some 300 MB themselves."""


def main() -> None:
    """Answer the task that standard input holds."""
    # Libraries and loggers that print must not spoil the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    task = json.loads(sys.stdin.buffer.readline())
    _limit(task["seconds"])
    try:
        found = _read(sys.stdin.buffer.read(), task["name"], DocumentFormat(task["format"]))
    except DocumentUnreadable as problem:
        found = {"reason": problem.reason, "detail": problem.detail}
    except MemoryError:
        found = _too_large()
    except ImportError as problem:
        found = {"missing": problem.name}
    answer.write(json.dumps(found))
    answer.flush()
    # Without the libraries' own ends, which may crash and take time.
    os._exit(0)


def _read(body: bytes, name: str, form: DocumentFormat) -> dict[str, object]:
    from baton.adapters.extraction import whole_document

    found = whole_document.read(body, name, form)
    return {"text": found.text, "pages": found.pages, "isCut": found.is_cut}


def _too_large() -> dict[str, object]:
    from baton.adapters.extraction import refusals

    problem = refusals.bomb()
    return {"reason": problem.reason, "detail": problem.detail}


def _limit(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # there is none on Windows
        return
    for limit, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # macOS knows no limit of the address space
            continue


if __name__ == "__main__":
    main()

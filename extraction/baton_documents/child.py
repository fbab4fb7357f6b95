"""The program that works on one document in a separate process: ``python -m baton_documents.child``.

Standard input holds the task, as a line of JSON, and then the file. The task names the ``work`` (``read``,
``document``, ``inspect``, ``extract`` or ``sitemap``), its arguments (``name``, ``contentType``, ``format``, ``part``,
``charset``, ``limit``) and its limits (``memoryBytes``, ``cpuSeconds``, ``wallSeconds``), and the process id of the
``parent``, with which this process ends.

Standard output receives the line ``ready`` once the limits are set, then a line with a word and a length, and that
many bytes of JSON: the ``result``, a ``refusal`` (with ``reason`` and ``detail``), or the name of the library that is
``missing``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from baton_documents import refusals
from baton_documents.errors import DocumentRefused
from baton_documents.formats import DocumentFormat
from baton_documents.reader import Extractor, read

ALARM_MARGIN_SECONDS = 5
"""The delay of the alarm, so that the parent ends the process first and knows the reason."""
_PARENT_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of Linux."""


def main() -> None:
    """Do the task from standard input, and write the answer to standard output."""
    # What libraries print must not be mixed with the answer.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    _end_with(task["parent"])
    _set_limits(task)
    answer.write(b"ready\n")
    answer.flush()
    word, result = _make_answer(task, sys.stdin.buffer)
    # JSON cannot contain lone surrogates, which are no characters of Unicode.
    text = json.dumps(result, ensure_ascii=False, default=_read_fields, separators=(",", ":"))
    content = text.encode("utf-8", "replace")
    answer.write(b"%s %d\n" % (word, len(content)))
    answer.write(content)
    answer.flush()
    # The libraries' own clean-up is skipped: it may crash and takes time.
    os._exit(0)


def _make_answer(task: Mapping[str, Any], file: BinaryIO) -> tuple[bytes, object]:
    """Do the task. Return the word of the answer and its content."""
    try:
        return b"result", _do(task, file.read())
    except DocumentRefused as problem:
        return b"refusal", _describe_refusal(problem)
    except ModuleNotFoundError as problem:
        return b"missing", problem.name or "?"
    except (MemoryError, ImportError):  # memory did not suffice to load a library
        return b"refusal", _describe_refusal(refusals.too_complex())
    except Exception as problem:  # noqa: BLE001 - the parent logs it
        return b"refusal", _describe_refusal(refusals.damaged(), problem)


def _do(task: Mapping[str, Any], body: bytes) -> object:
    match task["work"]:
        case "read":
            from baton_documents import whole_document

            return whole_document.read(body, task["name"], DocumentFormat(task["format"]))
        case "document":
            return read(body, task["name"], task["contentType"])
        case "inspect":
            return Extractor().inspect(body, task["name"], task["contentType"])
        case "sitemap":
            from baton_documents.text import sitemaps

            return sitemaps.read_sitemap(body, limit=task["limit"], charset=task["charset"])
    first, last = task["part"]
    return Extractor().extract(body, DocumentFormat(task["format"]), (first, last), task["charset"])


def _describe_refusal(problem: DocumentRefused, cause: BaseException | None = None) -> dict[str, object]:
    return {"reason": problem.reason, "detail": problem.detail, "cause": _describe_cause(cause or problem.__cause__)}


def _describe_cause(cause: BaseException | None) -> str | None:
    """Return the class of an error and the lines of code that raised it. Its message may quote the document."""
    if cause is None:
        return None
    frames = traceback.extract_tb(cause.__traceback__)[-3:]
    places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return " ".join((type(cause).__name__, *places))


def _read_fields(value: Any) -> dict[str, Any]:
    # `dataclasses.asdict` copies deeply and takes ten times as long.
    return {name: getattr(value, name) for name in value.__slots__}


def _end_with(parent: int) -> None:
    """Make the kernel end this process when its parent dies."""
    if sys.platform != "linux":  # elsewhere the alarm ends this process, except on Windows
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the call
        os._exit(1)


def _set_limits(task: Mapping[str, Any]) -> None:
    """Set limits of memory and time. The kernel enforces them, even inside libraries that never return."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return
    os.nice(10)  # conversations that use the same processor have priority
    seconds = task["cpuSeconds"]
    limits = {
        resource.RLIMIT_AS: (task["memoryBytes"], task["memoryBytes"]),
        resource.RLIMIT_CPU: (seconds, seconds + 1),  # the first limit sends SIGXCPU, the second one kills
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NPROC: (0, 0),
    }
    for limit, values in limits.items():
        try:
            resource.setrlimit(limit, values)
        except (ValueError, OSError):  # macOS has no limit of the address space
            continue
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(task["wallSeconds"] + ALARM_MARGIN_SECONDS)


if __name__ == "__main__":
    main()

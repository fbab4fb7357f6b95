"""The program that works on one document in a separate process: ``python -m baton_documents.child``.

A line of JSON, the task, and then the file come in. The task names the ``work`` (``read``, ``document``, ``inspect``,
``extract`` or ``sitemap``), what the work needs (``name``, ``contentType``, ``format``, ``part``, ``charset``,
``limit``) and its bounds (``memoryBytes``, ``cpuSeconds``, ``wallSeconds``, and the ``parent`` to end with).

Out comes the line ``ready`` once the limits are set, then a line with a word and a length, and so many bytes of JSON:
``result``, a ``refusal`` (``reason`` and ``detail``), or the name of the library that is ``missing``.
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
"""The parent ends the process first, and knows why."""
_PARENT_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of Linux."""


def main() -> None:
    """Do the task that standard input holds."""
    # Libraries that print must not spoil the answer.
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    _end_with(task["parent"])
    _limit(task)
    answer.write(b"ready\n")
    answer.flush()
    word, outcome = _outcome(task, sys.stdin.buffer)
    # Characters that are not Unicode (lone surrogates) are in no JSON.
    text = json.dumps(outcome, ensure_ascii=False, default=_fields, separators=(",", ":"))
    content = text.encode("utf-8", "replace")
    answer.write(b"%s %d\n" % (word, len(content)))
    answer.write(content)
    answer.flush()
    # Without the libraries' own ends, which may crash and take time.
    os._exit(0)


def _outcome(task: Mapping[str, Any], file: BinaryIO) -> tuple[bytes, object]:
    try:
        return b"result", _done(task, file.read())
    except DocumentRefused as problem:
        return b"refusal", _refusal(problem)
    except ModuleNotFoundError as problem:
        return b"missing", problem.name or "?"
    except (MemoryError, ImportError):  # a library that finds no memory to be loaded into
        return b"refusal", _refusal(refusals.too_complex())
    except Exception as problem:  # noqa: BLE001 - the parent logs it
        return b"refusal", _refusal(refusals.damaged(), problem)


def _done(task: Mapping[str, Any], body: bytes) -> object:
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


def _refusal(problem: DocumentRefused, cause: BaseException | None = None) -> dict[str, object]:
    return {"reason": problem.reason, "detail": problem.detail, "cause": _place_of(cause or problem.__cause__)}


def _place_of(cause: BaseException | None) -> str | None:
    """Return the kind of an error and the place in the code. Its message may quote the document."""
    if cause is None:
        return None
    frames = traceback.extract_tb(cause.__traceback__)[-3:]
    places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return " ".join((type(cause).__name__, *places))


def _fields(value: Any) -> dict[str, Any]:
    # As `dataclasses.asdict` does, which copies deeply and takes ten times as long.
    return {name: getattr(value, name) for name in value.__slots__}


def _end_with(parent: int) -> None:
    """End this process when its parent dies, however that happens."""
    if sys.platform != "linux":  # elsewhere, the alarm ends it
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before
        os._exit(1)


def _limit(task: Mapping[str, Any]) -> None:
    """Bound what the process may take. The kernel enforces it, also inside libraries that never return."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return
    os.nice(10)  # where others share its processor, documents wait, and conversations do not
    seconds = task["cpuSeconds"]
    limits = {
        resource.RLIMIT_AS: (task["memoryBytes"], task["memoryBytes"]),
        resource.RLIMIT_CPU: (seconds, seconds + 1),  # the first sends its own signal, the second kills
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NPROC: (0, 0),
    }
    for limit, values in limits.items():
        try:
            resource.setrlimit(limit, values)
        except (ValueError, OSError):  # macOS knows no limit of the address space
            continue
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(task["wallSeconds"] + ALARM_MARGIN_SECONDS)


if __name__ == "__main__":
    main()

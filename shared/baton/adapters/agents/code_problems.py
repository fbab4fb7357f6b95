"""Errors of a project's Python code, as its developer reads them."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

import baton
from baton.authoring.call_site import unknown_argument

INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
"""Folders of code that is not the developer's, by their names in ``sysconfig``."""


def describe_code_problem(problem: BaseException, folder: Path | None = None) -> str:
    """Return what the code raised on one line: ``file:line: type: message``.

    The place is the last one in ``folder``; without it, in code that is neither Baton's nor installed. A problem
    without such a place is described without one.
    """
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}: {type(problem).__name__}: {problem.msg}"
    misspelt = unknown_argument(problem)
    what = f"{type(problem).__name__}: {problem if misspelt is None else ': '.join(misspelt)}"
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if _is_within(Path(frame.filename), folder):
            return f"{frame.filename}:{frame.lineno}: {what}"
    return what


def _is_within(file: Path, folder: Path | None) -> bool:
    if folder is not None:
        return file.is_relative_to(folder)
    others = (Path(baton.__file__).parent, *(Path(sysconfig.get_path(name)) for name in INSTALLED))
    return not str(file).startswith("<") and not any(file.is_relative_to(other) for other in others)

"""Advice about calls of Baton's functions and classes with arguments that they do not have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import baton
from baton.domain.field_names import similar_name

_UNKNOWN = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
_OURS = Path(baton.__file__).parent


def unknown_argument(problem: BaseException) -> tuple[str, str] | None:
    """Return the name of an argument that a project has misspelt, and the problem; None for any other error."""
    match = _UNKNOWN.match(str(problem)) if isinstance(problem, TypeError) else None
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if match is None or trace is None or Path(trace.tb_frame.f_code.co_filename).is_relative_to(_OURS):
        return None
    called, name = match.groups()
    for function_name, function in _callables():
        if function_name == called:
            similar = similar_name(name, inspect.signature(function).parameters)
            advice = f" (did you mean {similar}?)" if similar else ""
            return name, f"{called.partition('.')[0]} has no such argument{advice}"
    return None


def _callables() -> Iterator[tuple[str, Any]]:
    """Yield the functions that projects call, by the names that Python has for them in errors."""
    from baton.authoring.agent_hooks import HookDecorator

    yield HookDecorator.__call__.__qualname__, HookDecorator.__call__
    for name in baton.__all__:
        value = getattr(baton, name)
        yield (f"{name}.__init__", value.__init__) if inspect.isclass(value) else (name, value)

"""Calls in source files: their positions, the lines of their arguments, and advice about misspelt arguments."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any

import baton
from baton.domain.definition import find_similar_name

FieldPath = Sequence[str | int]
"""Names of fields and indices of lists, from the outermost to the innermost."""


@dataclass(frozen=True)
class CallSite:
    """A call in a source file."""

    file: Path
    line: int
    span: tuple[int | None, ...] | None = None
    """First line, last line, first column and last column of the call; None if they are not known."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of arguments by the name of the field that they set, where the two differ."""
    first: str | None = None
    """The field that the first positional argument sets; None without one."""

    @classmethod
    def of_caller(cls, names: Mapping[str, str], first: str | None = None) -> CallSite:
        """Return the call in progress of the function that calls this method."""
        frame = sys._getframe(2)
        return cls.at(frame.f_code, frame.f_lasti, frame.f_lineno, names, first)

    @classmethod
    def at(
        cls, code: CodeType, lasti: int, line: int, names: Mapping[str, str] | None = None, first: str | None = None
    ) -> CallSite:
        """Return the call that a frame carries out: its code, its instruction ``lasti``, and its line (from 1)."""
        positions = next(islice(code.co_positions(), lasti // 2, None), None)
        return cls(Path(code.co_filename), line, positions, names or {}, first)

    def problem(self, path: FieldPath, what: str) -> str:
        """Return ``file:line: field: what``, which describes the problem ``what`` of the argument at ``path``."""
        return f"{self.where(path)}: {what}"

    def where(self, path: FieldPath) -> str:
        """Return the position of the argument at ``path`` as ``file:line: name``."""
        parts = [self.names.get(str(part), part) if not index else part for index, part in enumerate(path)]
        name = ".".join(str(part) for part in parts if part != "[key]") or "(call)"
        return f"{self.file}:{self.find_line(path)}: {name}"

    def find_line(self, path: FieldPath) -> int:
        """Return the line of the argument at ``path``, or of its innermost parent that the call contains."""
        node: ast.expr | None = self._call
        line = self.line
        for index, part in enumerate(path):
            node = self._find_argument(node, str(part)) if not index else _find_member(node, part)
            if node is None:
                break
            line = node.lineno
        return line

    def _find_argument(self, call: ast.expr | None, name: str) -> ast.expr | None:
        if not isinstance(call, ast.Call):
            return None
        if name == self.first and call.args:
            return call.args[0]
        return _find_keyword(call, self.names.get(name, name))

    @cached_property
    def _call(self) -> ast.Call | None:
        """The call in the file as it is now; None if the file has changed or cannot be parsed."""
        try:
            tree = ast.parse(self.file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if self.span is not None:
            return next((call for call in calls if _get_span(call) == tuple(self.span)), None)
        return next((call for call in calls if call.lineno == self.line), None)


def find_call_in(folder: Path, trace: TracebackType | None) -> CallSite | None:
    """Return the innermost call of a traceback that is in a file below ``folder``; None without such a call."""
    site = None
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).is_relative_to(folder):
            site = CallSite.at(trace.tb_frame.f_code, trace.tb_lasti, trace.tb_lineno)
        trace = trace.tb_next
    return site


def _get_span(node: ast.Call) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _find_keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _find_member(node: ast.expr | None, part: str | int) -> ast.expr | None:
    """Return the item, argument or value that ``part`` names in a list, call or dictionary; None if it is missing."""
    if isinstance(node, ast.List | ast.Tuple) and isinstance(part, int):
        return node.elts[part] if part < len(node.elts) else None
    if isinstance(node, ast.Call) and isinstance(part, str):
        return _find_keyword(node, part)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == part), None)
    return None


_UNKNOWN_ARGUMENT = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
_BATON_FOLDER = Path(baton.__file__).parent


def find_unknown_argument(problem: BaseException) -> tuple[str, str] | None:
    """Return the name of an argument of Baton's functions that a project has misspelt, and a text with advice.

    Return None for any other error.
    """
    match = _UNKNOWN_ARGUMENT.match(str(problem)) if isinstance(problem, TypeError) else None
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if match is None or trace is None or Path(trace.tb_frame.f_code.co_filename).is_relative_to(_BATON_FOLDER):
        return None
    called, name = match.groups()
    for function_name, function in _list_callables():
        if function_name == called:
            similar = find_similar_name(name, inspect.signature(function).parameters)
            advice = f" (did you mean {similar}?)" if similar else ""
            return name, f"{called.partition('.')[0]} has no such argument{advice}"
    return None


def _list_callables() -> Iterator[tuple[str, Any]]:
    """Yield the functions that projects call, with the names that Python uses for them in errors."""
    from baton.authoring.agent_hooks import HookDecorator

    yield HookDecorator.__call__.__qualname__, HookDecorator.__call__
    for name in baton.__all__:
        value = getattr(baton, name)
        yield (f"{name}.__init__", value.__init__) if inspect.isclass(value) else (name, value)

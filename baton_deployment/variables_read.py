"""The environment variables that code in Python reads, found in its syntax tree: nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LAMBDA = ("AWS_", "_HANDLER", "HOME", "LAMBDA_", "LANG", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TMPDIR", "TZ")
"""The beginnings of the names of variables that Lambda itself sets."""


@dataclass(frozen=True)
class VariableRead:
    """A place that reads an environment variable by a fixed name."""

    file: Path
    line: int
    name: str
    is_required: bool
    """True if the code raises ``KeyError`` without the variable."""


def variables_read(folder: Path) -> Iterator[VariableRead]:
    """Yield what the modules below ``folder`` read. A module that cannot be parsed is reported by other checks."""
    for file in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            continue
        handled = _handled(tree)
        for node in ast.walk(tree):
            match node:
                case ast.Subscript(value=mapping, slice=ast.Constant(value=str(name)), ctx=ast.Load()) if _is_environ(
                    mapping
                ):
                    yield VariableRead(file, node.lineno, name, is_required=name not in handled)
                case ast.Call(
                    func=ast.Attribute(value=mapping, attr="get"), args=[ast.Constant(value=str(name)), *_]
                ) if _is_environ(mapping):
                    yield VariableRead(file, node.lineno, name, is_required=False)
                case ast.Call(
                    func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[ast.Constant(value=str(name)), *_]
                ):
                    yield VariableRead(file, node.lineno, name, is_required=False)


def _handled(tree: ast.Module) -> set[str]:
    """Return the names whose absence a module handles: by ``"NAME" in os.environ``, or in a ``try``."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Constant(value=str(name)), comparators=[mapping]) if _is_environ(mapping):
                names.add(name)
            case ast.Try():
                names |= {
                    part.slice.value
                    for part in ast.walk(node)
                    if isinstance(part, ast.Subscript)
                    and isinstance(part.slice, ast.Constant)
                    and isinstance(part.slice.value, str)
                }
    return names


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )

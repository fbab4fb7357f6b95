"""The environment variables that code in Python reads, found in its syntax tree without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LAMBDA = re.compile(r"AWS_.*|LAMBDA_.*|_HANDLER|HOME|LANG|LD_LIBRARY_PATH|PATH|PYTHONPATH|TMPDIR|TZ")
"""The names of variables that Lambda or the operating system sets."""


@dataclass(frozen=True)
class VariableRead:
    """A position in code that reads an environment variable by a fixed name."""

    file: Path
    line: int
    name: str
    is_required: bool
    """Whether the code is subject to no condition or ``try``, so that it raises ``KeyError`` without the variable."""


def find_variables_read(folder: Path) -> Iterator[VariableRead]:
    """Yield the variables that modules below ``folder`` read. Other checks report modules that cannot be parsed."""
    for file in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            continue
        conditional = _find_conditional_parts(tree)
        for node in ast.walk(tree):
            match node:
                case ast.Subscript(value=mapping, slice=ast.Constant(value=str(name)), ctx=ast.Load()) if _is_environ(
                    mapping
                ):
                    yield VariableRead(file, node.lineno, name, is_required=id(node) not in conditional)
                case ast.Call(
                    func=ast.Attribute(value=mapping, attr="get"), args=[ast.Constant(value=str(name)), *_]
                ) if _is_environ(mapping):
                    yield VariableRead(file, node.lineno, name, is_required=False)
                case ast.Call(
                    func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[ast.Constant(value=str(name)), *_]
                ):
                    yield VariableRead(file, node.lineno, name, is_required=False)


def _find_conditional_parts(tree: ast.Module) -> set[int]:
    """Return the ids of the nodes that may not be executed, or whose errors may be handled."""
    conditions = (ast.BoolOp, ast.If, ast.IfExp, ast.Match, ast.Try, ast.While)
    return {id(part) for node in ast.walk(tree) if isinstance(node, conditions) for part in ast.walk(node)}


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )

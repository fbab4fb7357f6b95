"""The tests of the reader need nothing of Baton, as the reader itself does."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent
BATON = {"baton", "baton_client", "baton_local", "baton_testing"}


def test_no_test_of_the_reader_imports_baton() -> None:
    packages = {
        (path.name, name.split(".")[0])
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in names_of(node)
    }
    assert {file for file, package in packages if package in BATON} == set()


def names_of(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []

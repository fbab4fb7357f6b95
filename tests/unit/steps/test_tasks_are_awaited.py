"""Nothing that runs beside its caller is lost sight of: each task and each group of steps is awaited."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAMS = ("shared", "functions", "baton_local", "baton_project", "baton_testing")


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Return the module and the node of each call of an attribute or function with one of the names."""
    for program in PROGRAMS:
        for path in sorted((ROOT / program).rglob("*.py")):
            text = path.read_text()
            if not any(name in text for name in names):
                continue
            for node in ast.walk(ast.parse(text)):
                match node:
                    case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in names:
                        yield path.relative_to(ROOT).as_posix(), node


def test_steps_are_gathered_by_what_awaits_them_all() -> None:
    """``asyncio.gather`` returns at the first failure or cancellation, and leaves the other steps behind."""
    assert [module for module, _ in calls("gather")] == []

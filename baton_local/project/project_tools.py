"""The Python packages of a project's tools, found and imported again."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

from baton.adapters.agents.agent_modules import describe_code_problem


class ToolsDoNotImport(Exception):
    """An error of a module of the tools while it is imported. The message is ``file:line: problem``."""


def find_packages(folder: Path) -> list[str]:
    """Return the names of the packages and modules in ``folder``, sorted; none if there is no such folder."""
    if not folder.is_dir():
        return []
    names = {path.name for path in folder.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    names |= {path.stem for path in folder.glob("*.py")}
    return sorted(name for name in names if name.isidentifier())


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Put ``folder`` on the module path during the block. Afterwards its modules are removed from ``sys.modules``."""
    path = str(folder.absolute())
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
        for name in _find_imported(folder):
            del sys.modules[name]


@contextmanager
def imported_again(folder: Path) -> Iterator[None]:
    """Import again, from their present files, the modules of ``folder`` that were imported before.

    If a module or the block raises, the previous modules are restored. Raises ``ToolsDoNotImport`` for a module.
    """
    before = _find_imported(folder)
    forget_bytecode(folder)
    for name in before:
        del sys.modules[name]
    importlib.invalidate_caches()
    try:
        try:
            for name in sorted(name for name in before if _has_file(folder, name)):
                importlib.import_module(name)
        except BaseException as problem:
            raise ToolsDoNotImport(describe_code_problem(problem, folder)) from problem  # also one that exits
        yield
    except BaseException:
        for name in _find_imported(folder):
            del sys.modules[name]
        sys.modules.update(before)
        raise


def forget_bytecode(folder: Path) -> None:
    """Remove the bytecode of modules. Python would use it if an edit kept a file's size and the second of its time."""
    for source in folder.rglob("*.py"):
        Path(cache_from_source(str(source))).unlink(missing_ok=True)


def _find_imported(folder: Path) -> dict[str, ModuleType]:
    """Return the modules whose files are, or were, in ``folder``."""
    within = f"{folder.absolute()}{os.sep}"
    return {
        name: module
        for name, module in sys.modules.copy().items()
        if any(folder.startswith(within) for folder in _find_places(module))
    }


def _find_places(module: ModuleType) -> list[str]:
    """Return the file of a module, or the folders of a package without one."""
    if file := getattr(module, "__file__", None):
        return [file]
    return [str(folder) for folder in getattr(module, "__path__", ())]


def _has_file(folder: Path, module: str) -> bool:
    path = folder.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()

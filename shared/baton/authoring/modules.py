"""The Python modules of agents, which are a package in the folder of the agents' files."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from baton.authoring.agent import Agent
from baton.authoring.functions import AGENTS_PACKAGE, is_of


def list_module_files(folder: Path) -> list[Path]:
    """Return the files of the modules with agents, sorted.

    Modules whose names begin with ``_`` are left out, because other modules import them.
    """
    return sorted(path for path in folder.glob("*.py") if path.stem.isidentifier() and not path.stem.startswith("_"))


@contextmanager
def restore_modules_on_failure() -> Iterator[None]:
    """Restore the previous modules of agents if the block raises."""
    previous = _find_loaded()
    try:
        yield
    except BaseException:
        _replace_modules(previous)
        raise


@contextmanager
def renew_package(folder: Path) -> Iterator[None]:
    """Make ``folder`` the package of agents, whose modules the block imports from their current files.

    If the block raises, the previous modules are restored.
    """
    with restore_modules_on_failure():
        package = ModuleType(AGENTS_PACKAGE)
        package.__path__ = [str(folder)]
        _replace_modules({AGENTS_PACKAGE: package})
        importlib.invalidate_caches()
        yield


def import_agents(path: Path) -> list[Agent]:
    """Import one module of the package, and return the agents in its variables, also in lists and tuples.

    Raises what the module raises.
    """
    module = importlib.import_module(f"{AGENTS_PACKAGE}.{path.stem}")
    return _find_agents(vars(module))


def _find_agents(variables: Mapping[str, Any]) -> list[Agent]:
    """Return the agents among the values of ``variables`` and in their lists and tuples."""
    agents: dict[int, Agent] = {}
    for value in list(variables.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Agent):
                agents[id(item)] = item
    return list(agents.values())


def _replace_modules(modules: Mapping[str, ModuleType]) -> None:
    """Put ``modules`` in place of the loaded modules of agents."""
    for name in _find_loaded():
        del sys.modules[name]
    sys.modules.update(modules)


def _find_loaded() -> dict[str, ModuleType]:
    """Return the loaded modules of agents, by name."""
    return {name: module for name, module in sys.modules.copy().items() if is_of(name, [AGENTS_PACKAGE])}

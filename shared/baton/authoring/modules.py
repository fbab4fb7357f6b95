"""The modules of agents: a package in the folder of the agents' files."""

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


def module_files(folder: Path) -> list[Path]:
    """Return the files of the modules with agents. Those whose names begin with ``_`` are for the others to import."""
    return sorted(path for path in folder.glob("*.py") if path.stem.isidentifier() and not path.stem.startswith("_"))


@contextmanager
def kept_on_failure() -> Iterator[None]:
    """Have the modules of agents that were there before again if the block raises."""
    before = _loaded()
    try:
        yield
    except BaseException:
        _replace_with(before)
        raise


@contextmanager
def fresh_package(folder: Path) -> Iterator[None]:
    """Import the modules of ``folder`` from their files as they are now, in the block.

    If the block raises, the ones from before are the package again.
    """
    with kept_on_failure():
        package = ModuleType(AGENTS_PACKAGE)
        package.__path__ = [str(folder)]
        _replace_with({AGENTS_PACKAGE: package})
        importlib.invalidate_caches()
        yield


def import_agents(path: Path) -> list[Agent]:
    """Import one module of the package, and return the agents that are its variables."""
    module = importlib.import_module(f"{AGENTS_PACKAGE}.{path.stem}")
    return _agents_in(vars(module))


def _agents_in(variables: Mapping[str, Any]) -> list[Agent]:
    """Return the agents that are variables, or members of lists and tuples that are."""
    agents: dict[int, Agent] = {}
    for value in list(variables.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Agent):
                agents[id(item)] = item
    return list(agents.values())


def _replace_with(modules: Mapping[str, ModuleType]) -> None:
    for name in _loaded():
        del sys.modules[name]
    sys.modules.update(modules)


def _loaded() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.copy().items() if is_of(name, [AGENTS_PACKAGE])}

"""Packages whose names are imported one by one, when they are first used.

The ``__init__`` of a generated client re-exports every type of an API: hundreds of pydantic models, of which a function
uses a few. Building these classes takes longer than all other imports of a turn.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


def defer_imports(*packages: str) -> None:
    """Defer the imports in the ``__init__`` of these packages: each name is imported when it is first used.

    List parents before their children. A package is left unchanged if it is already loaded, if it is not installed, or
    if its ``__init__`` does more than re-export names of its modules.
    """
    for name in packages:
        spec = None if name in sys.modules else _find(name)
        if spec is None or spec.origin is None:
            continue
        exports = _read_exports(Path(spec.origin))
        if exports is not None:
            sys.modules[name] = _Package(spec, exports)


class _Package(ModuleType):
    """A package that imports its names when they are used."""

    def __init__(self, spec: ModuleSpec, exports: dict[str, tuple[str, str]]) -> None:
        super().__init__(spec.name)
        self.__spec__ = spec
        self.__file__ = spec.origin
        self.__loader__ = spec.loader
        self.__package__ = spec.name
        self.__path__ = list(spec.submodule_search_locations or ())
        self.__all__ = sorted(exports)
        self._exports = exports

    def __getattr__(self, name: str) -> Any:
        if name not in self._exports:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module, original = self._exports[name]
        value = getattr(import_module(f".{module}", self.__name__), original)
        setattr(self, name, value)
        return value


def _find(name: str) -> ModuleSpec | None:
    """Return the package's spec, without executing the packages that contain it; None if it is not installed."""
    parent, _, last = name.rpartition(".")
    if not parent:
        return find_spec(name)
    outer = sys.modules.get(parent)
    locations = list(outer.__path__) if outer is not None else None
    if locations is None:
        spec = _find(parent)
        locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    return PathFinder.find_spec(name, locations) if locations and last else None


def _read_exports(path: Path) -> dict[str, tuple[str, str]] | None:
    """Return module and name of each name that an ``__init__`` re-exports; None if it does anything else."""
    exports: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(path.read_bytes()).body:
        match statement:
            case ast.ImportFrom(level=1, module=str(module), names=names):
                exports |= {name.asname or name.name: (module, name.name) for name in names}
            case ast.ImportFrom(module="__future__") | ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                continue
            case _:
                return None
    return exports

"""Postpones building the validators of pydantic models that libraries declare by the hundred.

A library of a protocol declares all its shapes in one module, of which a function uses some. Pydantic builds a model's
validator when the class is made, unless the model's configuration postpones it to the first use. That saves 44 of the
69 ms in which AG-UI's models are imported, and 75 of FastAPI's 311: 6 % of a worker's start, and 11 % of that of
``http``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

POSTPONED = ("ag_ui._generated.models", "fastapi.openapi.models")
"""Modules with the models of AG-UI, and of the OpenAPI document."""


def postpone() -> None:
    """Postpone the models of ``POSTPONED``, if they are not loaded yet. A repetition is harmless."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def build(*modules: ModuleType) -> None:
    """Build the models that modules name, before several threads use them for the first time at once."""
    for module in modules:
        for model in _models(module):
            model.model_rebuild()  # does nothing if it is built


def _models(module: ModuleType) -> list[type[BaseModel]]:
    """Return the models that a module names."""
    from pydantic import BaseModel

    models = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, BaseModel)]
    return [model for model in models if model is not BaseModel]  # which has nothing to build


class _Finder(MetaPathFinder):
    """A finder that gives the postponed modules ``_Postponing`` as their loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in POSTPONED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Postponing(spec.loader)
        return spec


class _Postponing(Loader):
    """A loader that executes a module while models inherit the configuration that postpones them."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        from pydantic import BaseModel

        inherited = BaseModel.model_config
        before = inherited.get("defer_build", False)
        inherited["defer_build"] = True
        try:
            self._loader.exec_module(module)
        finally:
            inherited["defer_build"] = before
        for model in _models(module):
            model.model_config["defer_build"] = before  # for models that inherit from it

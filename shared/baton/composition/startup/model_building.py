"""Postponement of building the validators of pydantic models, of which some libraries declare hundreds.

A library of a protocol declares all its shapes in one module, but a function uses only some. Pydantic builds a model's
validator when the class is created, unless the model's configuration postpones this to the first use. Postponing saves
44 of the 69 ms in which AG-UI's models are imported, and 75 of FastAPI's 311: 6 % of the start of a worker, and 11 % of
the start of the function ``http``.
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
"""The modules with the models of AG-UI and of OpenAPI documents."""


def postpone() -> None:
    """Postpone the models in the modules ``POSTPONED``, if they are not loaded yet. Repeated calls do nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def build(*modules: ModuleType) -> None:
    """Build the models in the namespaces of ``modules``, so that no two threads build the same model."""
    for module in modules:
        for model in _list_models(module):
            model.model_rebuild()  # does nothing if the model is built already


def _list_models(module: ModuleType) -> list[type[BaseModel]]:
    """Return the models in the namespace of a module."""
    from pydantic import BaseModel

    models = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, BaseModel)]
    return [model for model in models if model is not BaseModel]


class _Finder(MetaPathFinder):
    """A finder that sets ``_Postponing`` as the loader of the postponed modules."""

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
    """A loader that executes a module while all models inherit a configuration that postpones building."""

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
        for model in _list_models(module):
            model.model_config["defer_build"] = before  # models of other modules that inherit from it are not postponed

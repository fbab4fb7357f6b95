"""Layers have code that deployed functions and operators run, and nothing that only the local cloud needs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires

import grimp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from baton.api.http.addresses import list_deferred_routes
from tests.infrastructure.stack import ROOT

COMMANDS = {
    "baton.adapters.aws.supervisor": "Lambda and the local cloud start functions by it",
    "baton.composition.admin": "operators start it",
    "baton_documents.__main__": "users start it",
    "baton_documents.child": "the extractor starts it as a process",
}
"""Modules of the library that are programs."""
LOADED_BY_NAME = {
    "boto3": "tools of a project may use it, and need one that fits the botocore of the layer",
    "sqlite-vec": "SQLite loads its library by the path of the package",
    "tzdata": "zoneinfo reads its files",
    "uvicorn": "the web adapter starts it as a process",
}
"""Packages that no module imports."""
OWN = ("baton-conversations", "baton-documents")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("baton", "baton_documents", "functions", include_external_packages=True)


@pytest.fixture(scope="module")
def loaded(graph: grimp.ImportGraph) -> frozenset[str]:
    """Every module that a function or a command imports, at its start or later."""
    result: set[str] = set()
    by_requests = (routes.module for routes in list_deferred_routes())
    waiting = [*COMMANDS, *by_requests, *(name for name in graph.modules if name.startswith("functions."))]
    while waiting:
        module = waiting.pop()
        if module not in result:
            result.add(module)
            waiting += graph.find_modules_directly_imported_by(module)
            parent = module.rpartition(".")[0]
            waiting += [parent] if parent in graph.modules else []
    return frozenset(result)


def test_every_module_of_the_library_is_used_by_a_function_or_a_command(
    graph: grimp.ImportGraph, loaded: frozenset[str]
) -> None:
    library = {name for name in graph.modules if name.split(".")[0] in ("baton", "baton_documents")}
    assert library - loaded == set()


def test_every_package_of_the_layers_is_imported_by_the_library(loaded: frozenset[str]) -> None:
    named = {canonicalize_name(item.name) for item in list_requirements()}
    assert named - distributions(loaded) == LOADED_BY_NAME.keys()


def test_the_library_imports_packages_of_the_layers_alone(loaded: frozenset[str]) -> None:
    assert distributions(loaded) - with_dependencies(list_requirements()) == set()


def list_requirements() -> list[Requirement]:
    """The declared packages of the layers."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return [Requirement(group) for name in ("functions", "extraction") for group in groups[name]]


def distributions(modules: Iterable[str]) -> set[str]:
    """The packages that have one of the modules. The library and stubs for type checkers are none."""
    owners = packages_distributions()
    results = {canonicalize_name(owner) for name in modules for owner in owners.get(name.split(".")[0], ())}
    return {
        name
        for name in results
        if name not in ("baton-conversations", "baton-documents") and not name.startswith("mypy-boto3-")
    }


def with_dependencies(requirements: Iterable[Requirement]) -> set[str]:
    """The names of packages and of all that they need, as far as the lock file keeps it."""
    result: set[tuple[str, str]] = set()
    waiting = [
        (canonicalize_name(requirement.name), extra)
        for requirement in requirements
        for extra in ("", *requirement.extras)
    ]
    while waiting:
        package = waiting.pop()
        if package not in result:
            result.add(package)
            for line in _requires(package[0]):
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": package[1]}):
                    waiting += [(canonicalize_name(needed.name), extra) for extra in ("", *needed.extras)]
    return {name for name, _ in result}


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except ModuleNotFoundError:
        return []

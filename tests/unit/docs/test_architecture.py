"""The trees of folders, the import rules and the list of ports in the documentation match the code."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from configparser import ConfigParser
from pathlib import Path

import baton
from baton import ports
from tests.unit.docs.pages import ROOT, block, table

ARCHITECTURE = ROOT / "docs" / "explanation" / "architecture.md"
LIBRARY = Path(baton.__file__).parent
INDENT = " " * 4


def _entries() -> tuple[list[str], list[str]]:
    """Return the paths of the tree: those at the root, and those below shared/baton."""
    lines = block(ARCHITECTURE, "tree").splitlines()
    paths = [(line.startswith(INDENT), line.split()[0]) for line in lines]
    return [path for is_inner, path in paths if not is_inner], [path for is_inner, path in paths if is_inner]


def _layers() -> list[str]:
    """Return the library's packages in the order of the import rules, highest first."""
    rules = ConfigParser()
    rules.read(ROOT / ".importlinter")
    return re.findall(r"\w+", rules["importlinter:contract:layers"]["layers"])


def _path(package: str) -> str:
    return f"{package}/" if (LIBRARY / package).is_dir() else f"{package}.py"


def test_the_tree_shows_every_folder_of_the_project() -> None:
    visible = {path.split("/")[0] for path in _entries()[0] if "/" in path}

    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._"} - {"dist"}
    assert visible == folders


def test_the_tree_shows_only_what_exists() -> None:
    missing = [path for path in _entries()[0] if not list(ROOT.glob(path.replace("<noun>", "*")))]

    assert missing == []


def test_the_tree_lists_the_packages_in_the_order_of_the_import_rules() -> None:
    visible = _entries()[1]

    modules = {module.name for module in pkgutil.iter_modules([str(LIBRARY)])}
    assert visible == [_path(package) for package in _layers()]
    assert set(visible) == {_path(module) for module in modules}


def test_every_package_has_a_row_that_says_what_it_may_import() -> None:
    rows = [package for row in table(ARCHITECTURE, "package") for package in re.findall(r"\w+", row)]

    assert sorted(rows) == sorted(_layers())


def test_the_list_of_ports_matches_the_protocols() -> None:
    modules = [importlib.import_module(module.name) for module in pkgutil.walk_packages(ports.__path__, "baton.ports.")]
    protocols = {
        value.__name__
        for module in modules
        for _, value in inspect.getmembers(module, inspect.isclass)
        if value.__module__ == module.__name__ and getattr(value, "_is_protocol", False)
    }

    assert sorted(table(ARCHITECTURE, "port")) == sorted(protocols)


def test_every_port_names_an_adapter_that_exists() -> None:
    adapters = {port: cells[-1] for port, cells in table(ARCHITECTURE, "port").items() if port != "Clock"}
    missing = {
        port: adapter
        for port, adapter in adapters.items()
        if not any((LIBRARY / "adapters" / (adapter.strip("`") + end)).exists() for end in (".py", "/__init__.py"))
    }

    assert missing == {}

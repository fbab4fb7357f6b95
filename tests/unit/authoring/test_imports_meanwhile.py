"""The modules of the process are looked through while other threads import."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from baton import TurnContext, resource
from baton.authoring.functions import Functions

ROOT = Path(__file__).parents[3]


class Pool:
    """A type that only the resource below has."""


@resource
def pool() -> Pool:
    return Pool()


class Importer:
    """Garbage that imports a module when it is collected, as another thread may do meanwhile."""

    def __init__(self, number: int, imported: list[str]) -> None:
        self.itself = self
        self.name = f"imported_meanwhile_{number}"
        self.imported = imported

    def __del__(self) -> None:
        sys.modules[self.name] = ModuleType(self.name)
        self.imported.append(self.name)


@pytest.fixture
def collector() -> Iterator[list[str]]:
    """Collect garbage often, also while pairs are made, and return the list for names of imported modules."""
    threshold = gc.get_threshold()
    imported: list[str] = []
    spare = [(number, imported) for number in range(10_000)]  # those that Python keeps for reuse start no collection
    yield imported
    assert spare
    gc.set_threshold(*threshold)
    for name in imported:
        del sys.modules[name]


@pytest.mark.nightly
def test_a_module_that_is_imported_meanwhile_breaks_no_search_for_resources(collector: list[str]) -> None:
    def uses(context: TurnContext, pool: Pool) -> Any: ...

    uses.__annotations__ = {"context": TurnContext, "pool": Pool}
    functions = Functions(lambda: [__name__])
    for number in range(20):
        gc.collect()
        gc.set_threshold(50 * number + 50, 1, 1)
        Importer(number, collector)
        assert functions.find_filled(uses).names == {"context", "pool"}
    gc.collect()
    assert len(collector) == 20


def test_no_code_looks_through_the_modules_of_the_process_without_a_copy() -> None:
    # Even `list(sys.modules.items())` collects garbage, and with that runs other threads, between two items.
    unsafe = re.compile(r"\bsys\.modules\.(?:items|values|keys)\(\)|\bfor \w+ in (?:list\(|sorted\()?sys\.modules\b")
    files = [
        path
        for folder in ("shared", "extraction", "baton_local", "baton_project", "baton_testing", "functions")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assert files
    assert [f"{path}: {line}" for path in files for line in path.read_text().splitlines() if unsafe.search(line)] == []

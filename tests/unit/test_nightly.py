"""A usual run leaves out the tests of each night, and counts them; naming their file runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from baton_local.root import ROOT
from tests import nightly

SLOW = ROOT / "tests" / "e2e" / "test_slow.py"
QUICK = ROOT / "tests" / "unit" / "test_quick.py"


@dataclass(eq=False)
class Item:
    """A collected test."""

    path: Path
    is_nightly: bool

    def get_closest_marker(self, name: str) -> bool:
        return self.is_nightly and name == "nightly"


def select_tests(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of the files whose tests are run, and the printed lines."""
    items: list[Any] = [Item(SLOW, is_nightly=True), Item(SLOW, is_nightly=False), Item(QUICK, is_nightly=False)]
    config: Any = SimpleNamespace(
        args=list(arguments),
        rootpath=ROOT,
        stash=pytest.Stash(),
        invocation_params=SimpleNamespace(dir=ROOT),
        hook=SimpleNamespace(pytest_deselected=lambda items: None),
    )
    lines: list[str] = []
    nightly.pytest_collection_modifyitems(config, items)
    reporter: Any = SimpleNamespace(config=config, section=lines.append, write_line=lines.append)
    nightly.pytest_terminal_summary(reporter)
    return [item.path.stem for item in items], lines


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "RUNS_ALL", False)
    monkeypatch.setattr(nightly, "CHOICE", "")


@pytest.mark.parametrize("arguments", [["tests"], ["tests/e2e"], ["tests/unit/test_quick.py"]])
def test_marked_tests_are_left_out_and_counted(arguments: list[str]) -> None:
    names, lines = select_tests(arguments)
    assert names == ["test_slow", "test_quick"]
    assert lines == ["1 tests were left out: `make all` runs them", "     1  tests/e2e"]


@pytest.mark.parametrize("argument", ["tests/e2e/test_slow.py", "tests/e2e/test_slow.py::test_it"])
def test_a_file_that_is_named_is_run_whole(argument: str) -> None:
    assert select_tests([argument]) == (["test_slow", "test_slow", "test_quick"], [])


def test_who_asks_for_the_usual_tests_gets_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "CHOICE", "usual")
    names, _ = select_tests(["tests/e2e/test_slow.py"])
    assert names == ["test_slow", "test_quick"]


def test_make_all_runs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "RUNS_ALL", True)
    assert select_tests(["tests"]) == (["test_slow", "test_slow", "test_quick"], [])

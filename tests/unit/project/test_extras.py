"""Commands of a project in an installation without the extra ``local``, or with ``test`` only."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from baton_client.command.application import make_command_line
from baton_local.root import ROOT
from baton_project import extras
from baton_project.extras import LOCAL, TEST, list_extra_packages
from baton_project.new import make

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
"""
NEW_AND_CHECK = """
from pathlib import Path
import baton_project.commands, baton_project.conversation_tests
from baton_project import check, new
from baton_project.project import Project

folder = Path(sys.argv[1]) / "my-shop"
new.make(folder)
agents, problems = check.check_agents(Project.find(folder))
assert (agents, problems) == (["assistant", "orders"], []), problems
assert check.find_obstacles(Project.find(folder)) == []
"""


TESTS = """
from typer.testing import CliRunner
import typer
from baton_project.conversation_tests import run_tests

app = typer.Typer()
app.command("test")(run_tests)
ended = CliRunner().invoke(app, ["--folder", str(folder), "--junit", str(folder / "report.xml")])
assert (ended.exit_code, (folder / "report.xml").exists()) == (0, True), ended.output
assert "2 passed" in ended.output
"""


owners_of_modules = cache(packages_distributions)
"""Reads what every distribution has installed: a second."""


def list_absent_modules(*installed: str) -> set[str]:
    """Return the modules that are absent without the extra ``local``, except those of the extras ``installed``."""
    names = set(map(canonicalize_name, list_extra_packages(LOCAL)))
    names -= {canonicalize_name(name) for extra in installed for name in list_extra_packages(extra)}
    return {
        module
        for module, owners in owners_of_modules().items()
        if names & set(map(canonicalize_name, owners)) and module not in ("h11", "platformdirs")
    }


def test_the_extra_has_all_that_the_table_of_the_declaration_says() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [Requirement(item) for item in declared["local"]]
    assert [item.extras for item in named if item.name == "baton-conversations"] == [{TEST}]
    others = {item.name for item in named if item.name != "baton-conversations"}
    assert sorted(list_extra_packages(LOCAL)) == sorted(others | {Requirement(item).name for item in declared[TEST]})
    assert {"moto", "numpy", "jinja2", "werkzeug"} <= list_absent_modules()
    assert {"moto", "numpy", "samtranslator"} <= list_absent_modules(TEST)


@pytest.mark.nightly
def test_a_project_is_made_and_checked_without_the_extra(tmp_path: Path) -> None:
    script = WITHOUT.format(absent=list_absent_modules()) + NEW_AND_CHECK
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.nightly
def test_conversation_tests_run_with_the_extra_for_them_only(tmp_path: Path) -> None:
    script = WITHOUT.format(absent=list_absent_modules(TEST)) + NEW_AND_CHECK + TESTS
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_an_installation_is_small() -> None:
    mb = 1_000_000
    sizes = {name: sum(map(size, closure(name))) for name in ("", TEST, LOCAL)}
    assert sizes[""] < 300 * mb
    assert sizes[TEST] - sizes[""] < 10 * mb
    assert sizes[LOCAL] < 350 * mb


def closure(extra: str) -> set[str]:
    """The distributions of an installation with an extra, as far as they are installed here."""
    results: dict[str, frozenset[str]] = {}
    remaining = [("baton-conversations", frozenset({extra} - {""}))]
    while remaining:
        name, extras = remaining.pop()
        name = canonicalize_name(name)
        if name in results and extras <= results[name]:
            continue
        results[name] = results.get(name, frozenset()) | extras
        try:
            needed = [Requirement(text) for text in importlib.metadata.requires(name) or ()]
        except PackageNotFoundError:
            continue
        remaining += [
            (requirement.name, frozenset(requirement.extras))
            for requirement in needed
            if requirement.marker is None
            or any(requirement.marker.evaluate({"extra": one}) for one in {"", *results[name]})
        ]
    return set(results)


@cache
def size(name: str) -> int:
    """The bytes of a distribution's files."""
    try:
        files = importlib.metadata.files(name) or ()
    except PackageNotFoundError:
        return 0
    return sum(location.stat().st_size for file in files if (location := Path(str(file.locate()))).is_file())


@pytest.mark.parametrize(
    ("command", "extra", "missing"),
    [
        (["dev"], LOCAL, "moto"),
        (["test"], TEST, "looptime"),
        (["eval"], TEST, "looptime"),
        (["deploy", "dev"], LOCAL, "moto"),
    ],
    ids=["dev", "test", "eval", "deploy"],
)
def test_commands_that_need_an_extra_name_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str], extra: str, missing: str
) -> None:
    def distribution(name: str) -> object:
        if name == missing:
            raise PackageNotFoundError(name)
        return importlib.metadata.distribution(name)

    monkeypatch.setattr(extras, "distribution", distribution)
    make(tmp_path / "my-shop")
    app = make_command_line(lambda: importlib.metadata.entry_points(group="baton.commands"))
    process = CliRunner().invoke(app, [*command, "--folder", str(tmp_path / "my-shop")])
    assert process.exit_code == 2
    assert process.stderr == (
        f"`baton {command[0]}` needs the extra `{extra}`, and {missing} is not installed: "
        f"run `pip install 'baton-conversations[{extra}]'`.\n"
    )

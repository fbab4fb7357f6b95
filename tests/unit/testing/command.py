"""The command `baton test`, over a project as `baton new` makes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import yaml
from typer.testing import CliRunner

from baton_project.conversation_tests import run_tests
from baton_project.project import Project

APP = typer.Typer(add_completion=False)
APP.command("test")(run_tests)


@dataclass(frozen=True)
class Ran:
    """The exit code and output of the command."""

    code: int
    output: str
    errors: str

    @property
    def report(self) -> dict[str, Any]:
        """The output of ``--json``."""
        results: dict[str, Any] = json.loads(self.output)
        return results


def run(project: Project, *arguments: str) -> Ran:
    """Run the command in the project."""
    done = CliRunner().invoke(APP, [*arguments, "--folder", str(project.folder)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


def write_conversation(project: Project, *steps: dict[str, Any], name: str = "talk", **fields: Any) -> str:
    """Write a file with one conversation of these steps, and return its path."""
    conversation = {"name": "A talk", "steps": list(steps), **fields.pop("conversation", {})}
    return save_tests(project, {**fields, "conversations": [conversation]}, name)


def save_tests(project: Project, content: dict[str, Any] | str, name: str = "talk") -> str:
    """Write a file of tests, and return its path."""
    path = project.folder / "tests" / f"{name}.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return str(path)


def cassette_of(path: str) -> Path:
    """The path of a file's cassette."""
    return Path(path).with_suffix(".cassette.json")

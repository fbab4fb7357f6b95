"""The command `baton eval`, over a project as `baton new` makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from baton_project.evals import app
from baton_project.project import Project
from tests.unit.testing.command import Ran


def run(project: Project, *arguments: str) -> Ran:
    """Run the command in the project."""
    done = CliRunner().invoke(app, [*arguments, "--folder", str(project.folder)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


def save_cases(project: Project, *cases: dict[str, Any]) -> Path:
    """Write a data set, and return its path."""
    path = project.folder / "evals" / "own.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path

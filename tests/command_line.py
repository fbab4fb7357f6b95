"""The command `baton` with the commands of all installed distributions, in this process."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from baton_client.command.application import GROUP, make_command_line


def run_baton(*arguments: str | Path, answers: str = "") -> Result:
    """Run a command. ``answers`` are the lines that a person would type."""
    application = make_command_line(lambda: entry_points(group=GROUP))
    return CliRunner().invoke(application, [str(argument) for argument in arguments], input=answers)


def make_project(folder: Path, samconfig: str) -> Path:
    """Create the smallest project with stages, and return its folder."""
    (folder / "pyproject.toml").write_text('[project]\nname = "shop"\nversion = "1"\n[tool.baton]\n')
    (folder / "samconfig.toml").write_text(samconfig)
    return folder

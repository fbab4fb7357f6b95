"""The reference of the command line is the command line's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from baton_client.command import app
from baton_client.command.exits import ExitCode
from tests.unit.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "command-line.md"


def commands(command: Any, name: str) -> Iterator[str]:
    """The rows of the page's table: each command with its arguments and options."""
    if hasattr(command, "commands"):
        for each, found in sorted(command.commands.items()):
            yield from commands(found, f"{name} {each}")
        return
    named = [each for each in command.params if each.name != "help"]
    arguments = [each.name.upper() for each in named if each.param_type_name == "argument"]
    options = [max(each.opts, key=len) for each in named if each.param_type_name == "option"]
    purpose = (command.help or "").replace("|", "\\|")
    yield f"| `{' '.join([name, *arguments])}` | {', '.join(f'`{each}`' for each in options)} | {purpose} |"


def test_the_reference_has_every_command_with_its_options() -> None:
    written = [line for line in PAGE.read_text().splitlines() if line.startswith("| `baton ")]
    assert written == list(commands(typer.main.get_command(app), "baton"))


def test_the_reference_has_every_exit_code() -> None:
    numbers = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert [int(number) for number in numbers] == sorted(ExitCode)

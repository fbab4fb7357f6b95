"""The reference of the command line is the command line's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from itertools import chain
from typing import Any

import typer.main

from baton_client.command import app
from baton_client.command.application import GROUP, SERVER_COMMANDS, make_command_line
from baton_client.command.exits import ExitCode
from tests.unit.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "command-line.md"


def commands(command: Any, name: str) -> Iterator[str]:
    """The rows of the page's table: each command with its arguments and options."""
    command = getattr(command, "whole", command)
    if hasattr(command, "commands"):
        for child, subcommand in sorted(command.commands.items()):
            yield from commands(subcommand, f"{name} {child}")
        return
    named = [parameter for parameter in command.params if parameter.name != "help"]
    arguments = [
        parameter.name.upper() if parameter.required else f"[{parameter.name.upper()}]"
        for parameter in named
        if parameter.param_type_name == "argument"
    ]
    options = [
        max(spellings, key=len)
        for parameter in named
        if parameter.param_type_name == "option"
        for spellings in (parameter.opts, parameter.secondary_opts)
        if spellings
    ]
    purpose = (command.help or "").partition("\n\n")[0].replace("|", "\\|")
    yield f"| `{' '.join([name, *arguments])}` | {', '.join(f'`{option}`' for option in options)} | {purpose} |"


def test_the_reference_has_every_command_with_its_options() -> None:
    written = [line for line in PAGE.read_text().splitlines() if line.startswith("| `baton ")]
    server: Any = typer.main.get_command(make_command_line(lambda: entry_points(group=GROUP)))
    of_server = [commands(server.get_command(None, name), f"baton {name}") for name in SERVER_COMMANDS]
    assert written == [*commands(typer.main.get_command(app), "baton"), *chain.from_iterable(of_server)]


def test_the_reference_has_every_exit_code() -> None:
    numbers = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert [int(number) for number in numbers] == sorted(ExitCode)

"""Commands that this distribution adds to ``baton``.

A command's modules are imported when it runs, since every start of ``baton`` imports this module.
Exit codes: 0; 1, something is wrong and is printed; 2, wrong usage, such as no project here; 130, Ctrl-C.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from baton_project.errors import exit_on_problems
from baton_project.extras import LOCAL, require_extra

Folder = Annotated[Path, typer.Option(help="The project's folder, or one in it.")]


def new(
    name: Annotated[str, typer.Argument(help="The folder's name, and the project's: my-assistant")],
    in_python: Annotated[bool, typer.Option("--python", help="Write the agents in Python and not in YAML.")] = False,
    wheels: Annotated[
        Path | None, typer.Option(help="Install Baton from this folder of wheels, which `make wheels` builds.")
    ] = None,
) -> None:
    """Make a project: agents, a tool, and what editors and deployments need."""
    with exit_on_problems():
        from baton_project.new import make

        version = make(Path(name), in_python=in_python, wheels=wheels)
        typer.echo(f"{name} is a project of Baton {version}. Next:\n\n  cd {name}")
        typer.echo("  uv sync && source .venv/bin/activate   (unless pip has installed Baton)\n  baton dev")


def dev(
    port: Annotated[int | None, typer.Option(envvar="PORT", help="0 takes a free one. Default: 8080.")] = None,
    folder: Folder = Path(),
) -> None:
    """Run the project on this machine. Edits of agents and tools are used by the next turn."""
    with exit_on_problems():
        require_extra(LOCAL, "dev")
        from baton_project.dev import run

        run(folder, port)


def check(
    folder: Folder = Path(), as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Report what agents, tools, servers and remote agents lack. Exit code 1: something is missing."""
    with exit_on_problems():
        from baton_project.check import report

        report(folder, typer.echo, as_json=as_json)

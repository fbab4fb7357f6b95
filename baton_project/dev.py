"""``baton dev``: the local cloud over a project, with hot reload."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from baton_project.new import write_schema
from baton_project.project import Project, ProjectProblem


def dev(
    port: Annotated[int | None, typer.Option(envvar="PORT", help="0 takes a free one. Default: 8080.")] = None,
    folder: Annotated[Path, typer.Option(help="The project's folder, or one in it.")] = Path(),
) -> None:
    """Run the project on this machine. Edits of agents and tools are used by the next turn."""
    try:
        project = Project.found(folder)
    except ProjectProblem as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(2) from None
    from baton_local.__main__ import leave, main

    os.environ.update(project.environment())
    write_schema(project.folder)
    data = Path(os.environ.get("BATON_DATA_DIR") or project.data)
    chosen = {} if port is None else {"port": port}
    leave(main(data_dir=data, tools_dir=project.tools, **chosen))

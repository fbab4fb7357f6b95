"""``baton new``: a folder that grows into a project."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from baton_local.agent_schema import agent_schema, written
from baton_project.project import ProjectProblem

SKELETON = Path(__file__).parent / "skeleton"
RENAMED = {"gitignore": ".gitignore", "project.toml": "pyproject.toml"}
"""Files that tools would take for this repository's own."""
SCHEMA = "agent-schema.json"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME = 40
"""Characters. It begins the names of stacks and buckets, which AWS limits."""


def new(name: Annotated[str, typer.Argument(help="The folder's name, and the project's: my-assistant")]) -> None:
    """Make a project: agents, a tool, a test, and what editors and deployments need."""
    folder = Path(name)
    try:
        make(folder)
    except ProjectProblem as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(2) from None
    typer.echo(f"{name} is a project of Baton {version('baton')}. Next:\n\n  cd {name}\n  baton dev")


def make(folder: Path) -> None:
    """Fill ``folder``, which must be new or empty. Raises ``ProjectProblem``."""
    name = folder.resolve().name
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ProjectProblem(
            f"{name!r} is no name of a project: small letters, digits and single hyphens, at most {MAX_NAME}."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ProjectProblem(f"{folder} is not empty: name a folder that is not there yet, or an empty one.")
        for source in sorted(SKELETON.rglob("*")):
            if source.is_dir() or source.suffix == ".pyc":
                continue
            target = folder / source.relative_to(SKELETON)
            target = target.with_name(RENAMED.get(target.name, target.name))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_filled(source, name), encoding="utf-8")
        write_schema(folder)
    except OSError as problem:
        raise ProjectProblem(f"{problem.filename} cannot be written: {problem.strerror}.") from problem


def write_schema(folder: Path) -> None:
    """Write the JSON Schema of agents of this version, unless it is there."""
    text = written(agent_schema())
    file = folder / SCHEMA
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def _filled(source: Path, name: str) -> str:
    text = source.read_text(encoding="utf-8")
    if source.suffix in {".toml", ".md"} and source.parent == SKELETON:
        return Template(text).substitute(name=name, version=version("baton"))
    return text

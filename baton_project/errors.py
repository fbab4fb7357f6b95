"""Errors that a developer can fix. Every message says how."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from baton_deployment.errors import DeploymentError
from baton_local.errors import LocalCloudError


class ProjectProblem(Exception):
    """The project cannot be used, or there is none."""


class CheckFailed(Exception):
    """A part of the project cannot be used; the problem is printed already."""


@contextmanager
def exit_on_problems() -> Iterator[None]:
    """Print a problem that the developer can fix without a traceback, and end with its exit code."""
    try:
        yield
    except ProjectProblem as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(2) from None
    except (DeploymentError, LocalCloudError) as problem:
        typer.echo(str(problem), err=True)
        raise typer.Exit(1) from None
    except CheckFailed:
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("\nStopped.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def problems_printed() -> Iterator[None]:
    """End the command with exit code 2 after printing a problem of the project or of its tests."""
    from baton_testing.errors import CannotRun

    try:
        yield
    except (CannotRun, ProjectProblem) as problem:
        typer.echo(_make_printable(str(problem).replace(f"{Path.cwd()}{os.sep}", "")), err=True)
        raise typer.Exit(2) from None


def _make_printable(text: str) -> str:
    """Return lines without characters that a terminal would obey: a problem may quote a file or a server."""
    return "".join(character if character.isprintable() or character in "\n\t" else " " for character in text)


def as_given(path: Path) -> Path:
    """Return a path as a person in this folder names it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path

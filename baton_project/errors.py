"""Errors that a developer can fix, and their exit codes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from baton_deployment.errors import DeploymentError
from baton_local.errors import LocalCloudError


class ProjectProblem(Exception):
    """An error because the project cannot be used, or there is none."""


class CheckFailed(Exception):
    """An error because a part of the project cannot be used. The problem has been printed."""


@contextmanager
def exit_on_problems() -> Iterator[None]:
    """Print a problem that the developer can fix, without a traceback, and end the command with its exit code."""
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
def exit_on_unusable_tests() -> Iterator[None]:
    """Print a problem of the project, or of its tests or evaluations, and end the command with exit code 2."""
    from baton_testing.errors import CannotRun

    try:
        yield
    except (CannotRun, ProjectProblem) as problem:
        typer.echo(_make_printable(str(problem).replace(f"{Path.cwd()}{os.sep}", "")), err=True)
        raise typer.Exit(2) from None


def _make_printable(text: str) -> str:
    """Return a text without control characters, which a problem may quote from a file or a server."""
    return "".join(character if character.isprintable() or character in "\n\t" else " " for character in text)


def shorten_path(path: Path) -> Path:
    """Return a path relative to the current folder if it is inside; otherwise the path itself."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path

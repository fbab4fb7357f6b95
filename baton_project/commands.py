"""Commands that this distribution adds to ``baton``.

A command's modules are imported when it runs, since every start of ``baton`` imports this module.
Exit codes: 0; 1, something is wrong and is printed; 2, wrong usage, such as no project here; 130, Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from baton_deployment.errors import DeploymentError
from baton_local.errors import LocalCloudError
from baton_project.errors import CheckFailed, ProjectProblem
from baton_project.extras import LOCAL, require_extra

Folder = Annotated[Path, typer.Option(help="The project's folder, or one in it.")]


@contextmanager
def _problems_printed() -> Iterator[None]:
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


def new(
    name: Annotated[str, typer.Argument(help="The folder's name, and the project's: my-assistant")],
    in_python: Annotated[bool, typer.Option("--python", help="Write the agents in Python and not in YAML.")] = False,
    wheels: Annotated[
        Path | None, typer.Option(help="Install Baton from this folder of wheels, which `make wheels` builds.")
    ] = None,
) -> None:
    """Make a project: agents, a tool, and what editors and deployments need."""
    with _problems_printed():
        from baton_project.new import make

        version = make(Path(name), in_python=in_python, wheels=wheels)
        typer.echo(f"{name} is a project of Baton {version}. Next:\n\n  cd {name}")
        typer.echo("  uv sync && source .venv/bin/activate   (unless pip has installed Baton)\n  baton dev")


def dev(
    port: Annotated[int | None, typer.Option(envvar="PORT", help="0 takes a free one. Default: 8080.")] = None,
    folder: Folder = Path(),
) -> None:
    """Run the project on this machine. Edits of agents and tools are used by the next turn."""
    with _problems_printed():
        require_extra(LOCAL, "dev")
        from baton_project.dev import run

        run(folder, port)


def check(
    folder: Folder = Path(), as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Say what agents, tools, servers and remote agents lack. Exit code 1: something is missing."""
    with _problems_printed():
        from baton_project.check import report

        report(folder, typer.echo, as_json=as_json)


def deploy(
    stage: Annotated[str, typer.Argument(help="A stage of the project's samconfig.toml: dev, prod")] = "",
    folder: Folder = Path(),
    check_only: Annotated[bool, typer.Option("--check", help="Check what it needs, and deploy nothing.")] = False,
    model: Annotated[bool, typer.Option("--model", help="With --check: ask the provider of models, too.")] = False,
    build_only: Annotated[bool, typer.Option("--build-only", help="Build, and deploy nothing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the commands, and run none.")] = False,
    account: Annotated[
        bool, typer.Option("--account", help="Once in an account and region: set API Gateway's logging role.")
    ] = False,
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Accept checks that cannot be made.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Ask nothing before deployed parameters and settings change, or the account's role."
        ),
    ] = False,
) -> None:
    """Check, build and deploy the project to AWS by SAM, publish its front ends, and try it."""
    with _problems_printed():
        require_extra(LOCAL, "deploy")
        from baton_project.deploy import carry_out, check_stage, set_up_account, shell_lines

        if account:
            set_up_account(typer.echo, asks=not yes)
        elif not stage:
            raise ProjectProblem("Name a stage of samconfig.toml: `baton deploy dev`.")
        elif dry_run:
            typer.echo(shell_lines(folder, stage))
        elif check_only:
            check_stage(folder, stage, typer.echo, asks_model=model, accepts_unchecked=unchecked)
        elif yes:
            carry_out(
                folder,
                stage,
                typer.echo,
                build_only=build_only,
                confirm=lambda question: True,
                accepts_unchecked=unchecked,
            )
        else:
            carry_out(folder, stage, typer.echo, build_only=build_only, accepts_unchecked=unchecked)


def restore(
    stage: Annotated[str, typer.Argument(help="A stage of the project's samconfig.toml: dev, prod")],
    folder: Folder = Path(),
    at: Annotated[str, typer.Option(help="The time to restore, at least five minutes ago: 2026-11-26T09:30:00Z")] = "",
    table: Annotated[str, typer.Option("--from", help="A restored table that exists. Without it, one is made.")] = "",
    tenant: Annotated[str, typer.Option(help="Only this tenant.")] = "",
    conversation: Annotated[str, typer.Option(help="Only this conversation of the tenant, with its forks.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace what has changed since.")] = False,
    removed: Annotated[
        bool, typer.Option("--removed", help="Put back what users may have removed on purpose.")
    ] = False,
    past_due: Annotated[str, typer.Option(help="Runs that were due since then: run (once, late) or skip.")] = "run",
    rate: Annotated[float, typer.Option(help="Write units a second.")] = 500,
    files_from: Annotated[str, typer.Option(help="Another bucket with the files of that time.")] = "",
    no_files: Annotated[bool, typer.Option("--no-files", help="Leave files out.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Show what would change, and write nothing.")] = False,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Do not go on where an earlier one stopped.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Carry it out without a question.")] = False,
) -> None:
    """Copy lost conversations, records and files back from a point in time, and overwrite nothing newer."""
    with _problems_printed():
        require_extra(LOCAL, "restore")
        from baton_deployment.restoring.choice import Choice
        from baton_deployment.restoring.command import RestoreRequest
        from baton_deployment.restoring.due_items import PastDue
        from baton_deployment.restoring.restored_table import parse_time
        from baton_project.operations import restore_stage

        if past_due not in list(PastDue):
            raise ProjectProblem("--past-due is run or skip.")
        chosen = Choice(tenant or None, conversation or None, replace, removed, PastDue(past_due), rate)
        moment = parse_time(at) if at else None
        request = RestoreRequest(chosen, moment, table or None, files_from or None, not no_files, plan, from_start)
        confirm = (lambda question: True) if yes else typer.confirm
        restore_stage(folder, stage, request, confirm, typer.echo)

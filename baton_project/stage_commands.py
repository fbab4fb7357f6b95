"""Commands that deploy and operate the stages of a project. In a checkout, targets of ``make`` run them.

Their modules are imported when a command runs, since every start of ``baton`` imports this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from baton_project.commands import Folder
from baton_project.errors import ProjectProblem, exit_on_problems
from baton_project.extras import LOCAL, require_extra

StageName = Annotated[str, typer.Argument(metavar="STAGE", help="A stage of samconfig.toml: dev, prod")]
Tenants = Annotated[list[str] | None, typer.Option(help="Only this tenant (repeatable).")]


@contextmanager
def _carrying_out(command: str) -> Iterator[None]:
    """Print problems of the block. Refuse the command if the packages of the extra ``local`` are missing."""
    with exit_on_problems():
        require_extra(LOCAL, command)
        yield


def deploy(
    stage: Annotated[str, typer.Argument(help="A stage of samconfig.toml: dev, prod")] = "",
    folder: Folder = Path(),
    check_only: Annotated[bool, typer.Option("--check", help="Check what it needs, and deploy nothing.")] = False,
    model: Annotated[bool, typer.Option("--model", help="With --check: ask the provider of models, too.")] = False,
    build_only: Annotated[bool, typer.Option("--build-only", help="Build, and deploy nothing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the commands, and run none.")] = False,
    account: Annotated[
        bool, typer.Option("--account", help="Once in an account and region: set API Gateway's logging role.")
    ] = False,
    policy: Annotated[
        str, typer.Option(help="Print the IAM policy of a deployer, of restore or of teardown, for the stage's names.")
    ] = "",
    unchecked: Annotated[bool, typer.Option("--unchecked", help="Accept checks that cannot be made.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Ask nothing before deployed parameters and settings change, or the account's role."
        ),
    ] = False,
) -> None:
    """Check, build and deploy the project to AWS by SAM, publish its front ends, and try it."""
    with _carrying_out("deploy"):
        from baton_deployment.deployment import deploy_account
        from baton_project.deploy import carry_out, check_stage, describe_steps, find_policy

        if account:
            deploy_account(typer.echo, asks=not yes)
        elif not stage:
            raise ProjectProblem("Name a stage of samconfig.toml: `baton deploy dev`.")
        elif policy:
            typer.echo(find_policy(folder, stage, policy))
        elif dry_run:
            typer.echo(describe_steps(folder, stage))
        elif check_only:
            check_stage(folder, stage, typer.echo, asks_model=model, accepts_unchecked=unchecked)
        else:
            carry_out(folder, stage, typer.echo, build_only=build_only, asks=not yes, accepts_unchecked=unchecked)


def settings(
    stage: StageName,
    folder: Folder = Path(),
    check: Annotated[bool, typer.Option("--check", help="Check and compare, and put nothing.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the deployed settings.")] = False,
    from_parameters: Annotated[
        bool, typer.Option("--from-parameters", help="Write settings.STAGE.yaml from parameters of earlier releases.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Put them without a question.")] = False,
) -> None:
    """Check settings.STAGE.yaml, show how it differs from the deployed settings, ask, and store it."""
    with _carrying_out("settings"):
        from baton_project import operations

        if check + show + from_parameters + yes > 1:
            raise ProjectProblem("--check, --show, --from-parameters and --yes exclude each other.")
        if from_parameters:
            operations.write_settings_file(folder, stage, typer.echo)
        elif show:
            operations.show_deployed_settings(folder, stage, typer.echo)
        elif check:
            operations.check_settings(folder, stage, typer.echo)
        else:
            operations.change_settings(folder, stage, typer.echo, asks=not yes)


def publish(stage: StageName, folder: Folder = Path()) -> None:
    """Upload the chat widget and the console to where a deployed stage serves them."""
    with _carrying_out("publish"):
        from baton_project.operations import publish_stage

        publish_stage(folder, stage, typer.echo)


def smoke(
    stage: Annotated[str, typer.Argument(help="A stage of samconfig.toml, unless --url names a server.")] = "",
    folder: Folder = Path(),
    url: Annotated[str, typer.Option(help="The base of /v1/... of any server; TOKEN has the token.")] = "",
    socket_url: Annotated[str, typer.Option(help="With --url: the address of its WebSocket.")] = "",
    document: Annotated[bool, typer.Option("--document", help="With --url: try a document, too.")] = False,
) -> None:
    """Try a deployed stage, or another server, as a user."""
    with _carrying_out("smoke"):
        from baton_project.operations import try_server, try_stage

        if url:
            try_server(url, socket_url, typer.echo, has_search=document)
        elif stage:
            try_stage(folder, stage, typer.echo)
        else:
            raise ProjectProblem("Name a stage of samconfig.toml (`baton smoke dev`), or a server by --url.")


def search(
    stage: StageName,
    action: Annotated[str, typer.Argument(help="migrate, reindex, rebuild, move, verify or repair")],
    folder: Folder = Path(),
    tenant: Tenants = None,
    agent: Annotated[list[str] | None, typer.Option(help="With move: this agent's documents (repeatable).")] = None,
    user: Annotated[list[str] | None, typer.Option(help="With move: this user's conversations (repeatable).")] = None,
    grant: Annotated[bool, typer.Option("--grant", help="With migrate: let the functions in.")] = False,
) -> None:
    """Make, rebuild, move, verify or repair the search indices of a deployed stage."""
    with _carrying_out("search"):
        from baton_deployment.search import COMMANDS, SearchRequest
        from baton_project.operations import administer_search

        if action not in COMMANDS:
            raise ProjectProblem(f"There is no {action!r}. Available: {', '.join(COMMANDS)}.")
        request = SearchRequest(action, tuple(tenant or ()), tuple(agent or ()), tuple(user or ()), grant)
        administer_search(folder, stage, request, typer.echo, report=lambda line: typer.echo(line, err=True))


def restore(
    stage: StageName,
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
    with _carrying_out("restore"):
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
        restore_stage(folder, stage, request, typer.echo, asks=not yes)


def teardown(
    stage: StageName,
    parts: Annotated[
        list[str] | None, typer.Argument(help="Parts to delete: stack, table, bucket, ... None: it only shows.")
    ] = None,
    folder: Folder = Path(),
    confirm: Annotated[str, typer.Option(help="The stack's name, where nobody can be asked.")] = "",
) -> None:
    """Show which parts of a stage exist, and delete the named parts after the stack's name is typed."""
    with _carrying_out("teardown"):
        from baton_project.operations import remove_stage

        remove_stage(folder, stage, parts or (), typer.echo, answer=confirm)

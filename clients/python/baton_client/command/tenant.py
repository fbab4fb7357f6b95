"""``baton tenant``: the export and the removal of a whole tenant."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.session import AsJson, Session, run
from baton_client.command.tenant_export import TenantExport
from baton_client.command.terminal_text import one_line
from baton_client.errors import NotFoundError

app = typer.Typer(no_args_is_help=True, help="Export or remove a whole tenant.")

ADDRESS = "/v1/tenant/removal"
POLL_SECONDS = 5
AT_WORK = ("counting", "removing", "verifying")
PLAN_VALID = timedelta(hours=23)
"""The age up to which a plan is confirmed. The server takes it for a day."""


@app.command()
def export(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="New, or with an export that was interrupted.")],
    as_json: AsJson = False,
) -> None:
    """Write everything that is stored of the token's tenant into a folder, with files and without secrets."""

    async def command(session: Session) -> None:
        tenant_export = TenantExport(session.connection, session.http, folder)
        with session.output.show_progress() as progress:
            progress.add_task("Exporting", total=None)
            state = await tenant_export.run()
        lines = [f"The tenant {one_line(state['tenantId'])}, as it was from {state['beganAt']} on, is in {folder}:"]
        lines += [f"  exported: {count} {split_name(kind)}" for kind, count in state["counts"].items()]
        lines += [f"  left out: {count} {split_name(kind)}" for kind, count in state["leftOut"].items()]
        session.output.print_value({"path": str(folder), **state}, lines)

    run(context, command, as_json=as_json)


@app.command()
def remove(
    context: typer.Context,
    tenant: Annotated[str, typer.Argument(help="The tenant of the token, which needs tenant:remove.")],
    keep_audit: Annotated[
        bool, typer.Option("--keep-audit/--remove-audit", help="Keep audit records, without content.")
    ] = True,
    confirm: Annotated[
        str | None, typer.Option(help="The tenant's id once more: removes it without a question.")
    ] = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="Count what would be removed, and end.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has ended: 17 minutes or more.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count all data of a tenant, ask for its id, close it for ever, and remove everything.

    A plan of the last day is used, and not made again. A removal that has failed goes on, with the choice of its first
    confirmation.
    """

    async def command(session: Session) -> None:
        before = await _find_removal(session)
        if before is not None and before["confirmedAt"] is not None:  # it may have failed, or been lost
            if before["tenantId"] != tenant:
                raise CommandError(f"The token is of the tenant {one_line(before['tenantId'])}: nothing was removed.")
            if plan_only:
                session.output.print_value(before, _format_lines(before))
                return
            await _report(session, await _confirm(session, before, before["audit"]), wait=wait)
            return
        if before is None or plan_only or not _can_be_confirmed(before):
            before = await session.connection.send("POST", ADDRESS)
        plan = await _follow(session, before, "Counting")
        if plan["tenantId"] != tenant:
            raise CommandError(f"The token is of the tenant {one_line(plan['tenantId'])}: nothing was removed.")
        if plan["status"] != "planned":
            raise CommandError("The plan could not be made. Try again.")
        if plan_only:
            session.output.print_value(plan, _format_lines(plan))
            return
        if confirm is None:
            for line in _format_lines(plan):
                session.output.note(line)
        question = f"Type {tenant} to close it for ever and remove all of this"
        if (confirm or session.ask(question, option="--confirm")) != tenant:
            raise CommandError("That is not the id of the tenant. Nothing was removed.", ExitCode.USAGE)
        confirmed = await _confirm(session, plan, "keep" if keep_audit else "remove")
        await _report(session, confirmed, wait=wait)

    run(context, command, as_json=as_json)


@app.command("removal-status")
def removal_status(
    context: typer.Context,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far the removal of the token's tenant is: what was removed, and what is left."""

    async def command(session: Session) -> None:
        await _report(session, await session.connection.get(ADDRESS), wait=wait)

    run(context, command, as_json=as_json)


async def _find_removal(session: Session) -> Json | None:
    """Return the tenant's removal; None if none was planned."""
    try:
        removal: Json = await session.connection.get(ADDRESS)
    except NotFoundError:
        return None
    return removal


def _can_be_confirmed(removal: Json) -> bool:
    """Return whether a plan can still be confirmed, even when the question is answered an hour later.

    A plan that is being counted is asked for again, because a count that was lost is restarted only by a request.
    """
    planned_at = removal["plannedAt"]
    age = datetime.now(UTC) - datetime.fromisoformat(planned_at) if planned_at is not None else None
    return removal["status"] == "planned" and age is not None and age < PLAN_VALID


async def _confirm(session: Session, removal: Json, audit: str) -> Json:
    body = {"tenantId": removal["tenantId"], "planId": removal["planId"], "audit": audit}
    confirmed: Json = await session.connection.send("POST", f"{ADDRESS}/confirm", body)
    return confirmed


async def _report(session: Session, removal: Json, *, wait: bool) -> None:
    if wait:
        removal = await _follow(session, removal, "Removing" if removal["confirmedAt"] is not None else "Counting")
    session.output.print_value(removal, _format_lines(removal))
    if removal["status"] == "failed":
        command = f"`baton tenant remove {one_line(removal['tenantId'])}`"
        if removal["confirmedAt"] is None:
            raise CommandError(f"The plan could not be made; nothing was removed. Repeat {command}.")
        raise CommandError(f"Not everything was removed. Repeat {command}: it goes on.")


async def _follow(session: Session, removal: Json, work: str) -> Json:
    """Return the removal once it is no longer at work."""
    with session.output.show_progress() as progress:
        progress.add_task(work, total=None)
        while removal["status"] in AT_WORK:
            await asyncio.sleep(POLL_SECONDS)
            removal = await session.connection.get(ADDRESS)
    return removal


def _format_lines(removal: Json) -> list[str]:
    lines = [f"Removal of {one_line(removal['tenantId'])}: {removal['status']} (plan {removal['planId']})"]
    names_by_label = {"planned": "plan"} if removal["status"] == "planned" else {"removed": "counts", "left": "residue"}
    for head, name in names_by_label.items():
        lines += [f"  {head}: {count} {split_name(kind)}" for kind, count in removal[name].items()]
    if removal["status"] == "completed":
        lines.append("Nothing is left.")
    return lines


def split_name(kind: str) -> str:
    """Return the name of a kind of records in words: ``acceptedTurns`` as "accepted turns"."""
    return one_line(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower() if kind.isalnum() else kind)

"""``baton procedures``: what agents have learned, and who has approved it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from baton_client.addresses import path
from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.session import AsJson, Session, Yes, run
from baton_client.command.terminal_text import one_line

app = typer.Typer(no_args_is_help=True, help="Read procedures and decide on them.")

PROCEDURE = "/v1/agents/{agent_id}/procedures/{procedure_id}"
AgentId = Annotated[str, typer.Argument(help="The agent's id.")]
ProcedureId = Annotated[str, typer.Argument(help="The procedure's id.")]
Version = Annotated[int | None, typer.Option(min=1, help="The version; by default the newest.")]
Reason = Annotated[str | None, typer.Option(help="The reason, which is stored with the decision.")]

COLUMNS = [
    ("AGENT", lambda item: item.get("agentId")),
    ("ID", lambda item: item["id"]),
    ("VERSION", lambda item: item["version"]),
    ("STATUS", lambda item: item["status"]),
    ("NAME", lambda item: one_line(item["name"], 50)),
    ("USED", lambda item: f"{item.get('used', 0)} ({item.get('wentWell', 0)} well)"),
]


@app.command("list")
def list_(
    context: typer.Context,
    agent_id: Annotated[
        str | None, typer.Argument(help="The agent; without it, procedures of all agents in one status are listed.")
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="pending, approved, rejected or retired; without an agent also offered.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The largest number of procedures.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List procedures, the last decision first."""

    async def command(session: Session) -> None:
        address = path("/v1/agents/{agent_id}/procedures", agent_id=agent_id) if agent_id else "/v1/procedures"
        items = await session.connection.list_items(address, limit=limit, status=status)
        session.output.print_rows(items, COLUMNS, empty="There are no such procedures.")

    run(context, command, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    agent_id: AgentId,
    procedure_id: ProcedureId,
    version: Version = None,
    as_json: AsJson = False,
) -> None:
    """Show a version of a procedure."""

    async def command(session: Session) -> None:
        procedure = await _get(session, agent_id, procedure_id, version)
        session.output.print_value(procedure, _format_lines(procedure))

    run(context, command, as_json=as_json)


@app.command()
def approve(
    context: typer.Context,
    agent_id: AgentId,
    procedure_id: ProcedureId,
    version: Version = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Approve a pending version, so that turns follow it. Without --yes, show it and ask first."""
    _decide(context, agent_id, procedure_id, version, "approve", None, is_agreed=yes, as_json=as_json)


@app.command()
def reject(
    context: typer.Context,
    agent_id: AgentId,
    procedure_id: ProcedureId,
    version: Version = None,
    reason: Reason = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Reject a pending version. Without --yes, show it and ask first."""
    _decide(context, agent_id, procedure_id, version, "reject", reason, is_agreed=yes, as_json=as_json)


@app.command()
def retire(
    context: typer.Context,
    agent_id: AgentId,
    procedure_id: ProcedureId,
    version: Version = None,
    reason: Reason = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Retire the approved version, or withdraw a pending one. Without --yes, show it and ask first."""
    _decide(context, agent_id, procedure_id, version, "retire", reason, is_agreed=yes, as_json=as_json)


@app.command()
def export(
    context: typer.Context,
    agent_id: AgentId,
    folder: Annotated[Path, typer.Argument(help="Gets a subfolder with a SKILL.md for each approved procedure.")],
    as_json: AsJson = False,
) -> None:
    """Write an agent's approved procedures as SKILL.md files. A file that exists with another text is not replaced."""

    async def command(session: Session) -> None:
        address = path("/v1/agents/{agent_id}/procedures", agent_id=agent_id)
        items = await session.connection.list_items(address, status="approved")
        texts: dict[Path, str] = {}
        for item in items:
            target = folder / _make_folder_name(item) / "SKILL.md"
            file_address = path(PROCEDURE + "/SKILL.md", agent_id=agent_id, procedure_id=item["id"])
            texts[target] = await session.connection.read_text(
                file_address, accept="text/markdown", version=item["version"]
            )
        conflicts = [
            str(target) for target, text in texts.items() if target.exists() and target.read_bytes() != text.encode()
        ]
        if conflicts:
            raise CommandError(f"{conflicts[0]} exists with another text; nothing was written.", ExitCode.CONFLICT)
        for target, text in texts.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        written = [{"path": str(target)} for target in texts]
        session.output.print_rows(
            written, [("PATH", lambda item: item["path"])], empty="The agent has none that is approved."
        )

    run(context, command, as_json=as_json)


def _decide(
    context: typer.Context,
    agent_id: str,
    procedure_id: str,
    version: int | None,
    decision: str,
    reason: str | None,
    *,
    is_agreed: bool,
    as_json: bool,
) -> None:
    async def command(session: Session) -> None:
        procedure = await _get(session, agent_id, procedure_id, version)
        if not is_agreed and not as_json:
            for line in _format_lines(procedure):
                session.output.print_line(line)
        session.confirm(f"{decision.capitalize()} version {procedure['version']}?", is_agreed=is_agreed)
        address = path(PROCEDURE, agent_id=agent_id, procedure_id=procedure_id)
        # Decide only on the version that was shown.
        precondition = {"If-Match": f'"{procedure["version"]}-{procedure["status"]}"'}
        fields: dict[str, Any] = {"version": procedure["version"]} | ({"reason": reason} if reason else {})
        if decision == "retire":
            answer = await session.connection.send("DELETE", address, headers=precondition, params=fields)
        else:
            answer = await session.connection.send("POST", f"{address}/{decision}", fields, headers=precondition)
        session.output.print_value(answer, [f"Version {answer['version']} is {answer['status']}."])

    run(context, command, as_json=as_json)


async def _get(session: Session, agent_id: str, procedure_id: str, version: int | None) -> Json:
    address = path(PROCEDURE, agent_id=agent_id, procedure_id=procedure_id)
    procedure: Json = await session.connection.get(address, version=version)
    return procedure


def _format_lines(item: Json) -> list[str]:
    lines = [f"{one_line(item['name'])} ({item['id']}, version {item['version']}, {item['status']})"]
    lines += [one_line(item.get("description"))]
    lines += [f"  when: {one_line(trigger)}" for trigger in item.get("triggers", [])]
    for number, step in enumerate(item.get("steps", []), 1):
        condition = f" (if {one_line(step['condition'])})" if step.get("condition") else ""
        lines.append(f"  {number}. {one_line(step['text'])}{condition}")
    lines += [f"  tool: {one_line(tool)}" for tool in item.get("allowedTools", [])]
    return lines


def _make_folder_name(item: Json) -> str:
    name = "".join(character if character.isalnum() or character in "-_." else "-" for character in str(item["id"]))
    return name.strip(".") or "procedure"

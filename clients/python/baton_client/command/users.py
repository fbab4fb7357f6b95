"""``baton users``: the data that are stored of a user, exported or forgotten."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from baton_client.addresses import path
from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.session import AsJson, Session, Yes, run
from baton_client.command.terminal_text import one_line

app = typer.Typer(no_args_is_help=True, help="Forget users, and export what is stored of them.")

UserId = Annotated[str, typer.Argument(help="`me`, or the id of another user; that needs user:manage.")]
POLL_SECONDS = 5


@app.command()
def forget(
    context: typer.Context,
    user_id: UserId,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the request has ended: 16 minutes or more.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forget everything that a user has said, and report what was removed."""

    async def command(session: Session) -> None:
        who = await session.connection.get("/v1/users/me") if user_id == "me" else {"userId": user_id}
        session.confirm(f"Forget everything that {one_line(who['userId'])} has said, for ever?", is_agreed=yes)
        request = await session.connection.send("DELETE", path("/v1/users/{user_id}/memory", user_id=user_id))
        await _report(session, request, wait=wait)

    run(context, command, as_json=as_json)


@app.command("forget-status")
def forget_status(
    context: typer.Context,
    request_id: str,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the request has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a request to forget, and what is left (the residue)."""

    async def command(session: Session) -> None:
        address = path("/v1/forget-requests/{request_id}", request_id=request_id)
        await _report(session, await session.connection.get(address), wait=wait)

    run(context, command, as_json=as_json)


@app.command()
def export(
    context: typer.Context,
    user_id: UserId,
    file: Annotated[Path, typer.Argument(help="The new file, which gets one JSON value a line. `-` prints them.")],
    content: Annotated[str, typer.Option(help="everything, or sessions: lines that can be imported.")] = "everything",
    as_json: AsJson = False,
) -> None:
    """Write everything that is stored of a user."""

    async def command(session: Session) -> None:
        address = path("/v1/users/{user_id}/export", user_id=user_id)
        await write_lines(session, address, file, has_end=content != "sessions", content=content)

    run(context, command, as_json=as_json)


async def write_lines(session: Session, address: str, file: Path, *, has_end: bool = True, **params: object) -> None:
    """Write an answer in JSON Lines to a new file, which exists only if it is complete. ``-`` is standard output.

    ``has_end`` is whether the answer's last line says that nothing is missing. Raises ``CommandError`` if the file
    exists.
    """
    if str(file) == "-":
        async for value in session.connection.read_lines(address, has_end=has_end, **params):
            session.output.print_json(value)
        return
    _check_new(file)
    draft = file.with_name(f"{file.name}.part")
    count = 0
    try:
        with draft.open("w") as opened, session.output.show_progress() as progress:
            task = progress.add_task("Lines", total=None)
            async for value in session.connection.read_lines(address, has_end=has_end, **params):
                opened.write(json.dumps(value) + "\n")
                count += 1
                progress.advance(task)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    session.output.print_value({"path": str(file), "lines": count}, [f"{count} lines are in {file}."])


async def _report(session: Session, request: Json, *, wait: bool) -> None:
    address = path("/v1/forget-requests/{request_id}", request_id=request["requestId"])
    with session.output.show_progress() as progress:
        progress.add_task("Forgetting", total=None, visible=wait)
        while wait and request["status"] == "running":
            await asyncio.sleep(POLL_SECONDS)
            request = await session.connection.get(address)
    session.output.print_value(request, _format_lines(request))
    if request["status"] == "failed":
        raise CommandError("Not everything was forgotten. Make the same request again.")


def _format_lines(request: Json) -> list[str]:
    lines = [f"Request {request['requestId']}: {request['status']}"]
    if request["status"] == "running":
        lines.append(f"Everything that was said until about {request.get('expectedCutoffAt')} will be forgotten.")
    lines += [f"  removed: {count} {one_line(kind)}" for kind, count in (request.get("counts") or {}).items()]
    residue = request.get("residue") or {}
    lines += [f"  left: {count} {one_line(kind)}" for kind, count in residue.items()]
    if request["status"] == "completed" and not residue:
        lines.append("Nothing is left.")
    return lines


def _check_new(file: Path) -> None:
    if file.exists():
        raise CommandError(f"{file} exists. Name another file, or remove it.", ExitCode.CONFLICT)

"""``baton apply``: brings a folder of agents, documents and procedures to a running deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from baton_client.addresses import given, path
from baton_client.agent_folders import OwnedFile
from baton_client.command.agent_versions import Override
from baton_client.command.connection import Json
from baton_client.command.documents import upload_document
from baton_client.command.exits import CommandError, ExitCode, find_exit_code
from baton_client.command.folder import AgentFile, read_folder
from baton_client.command.plan import AGENT, SHIPS, YAML, Step, describe_refusal, make_plan
from baton_client.command.session import AsJson, Session, Yes, run
from baton_client.command.uploads import describe_file
from baton_client.errors import APIStatusError, BadRequestError

MARKS = {"create": "+", "change": "~", "compare": "?", "none": " "}


def apply(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="With agents/*.yaml, documents/AGENT/ and procedures/AGENT/.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and end.")] = False,
    share: Annotated[
        int | None,
        typer.Option(
            min=0, max=100, help="Make changed agents candidates, which this percentage of new sessions uses."
        ),
    ] = None,
    override: Override = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Apply a folder to the server: show the changes, ask, and overwrite nothing that was changed in the meantime."""

    parameters = given(share=None if share is None else str(share), override=override)

    async def command(session: Session) -> None:
        steps = await make_plan(session.connection, read_folder(folder), parameters)
        if not session.output.is_json:
            _show(session, steps)
            if (folder / "libraries").is_dir():
                session.output.note("libraries/ is for all tenants and is not applied: `baton deploy` deploys it.")
        todo = [step for step in steps if step.action != "none"]
        if dry_run or not todo:
            _finish(session, steps, {})
            return
        session.confirm(f"Apply {len(todo)} changes to {session.profile.url}?", is_agreed=yes)
        results = await _carry_out(session, todo)
        _finish(session, steps, results)
        failed = {name: problem for name, problem in results.items() if isinstance(problem, APIStatusError)}
        if failed:
            first = next(step for step in todo if step.label in failed)
            raise CommandError(
                describe_refusal(first, failed[first.label]), ExitCode(find_exit_code(failed[first.label]))
            )

    run(context, command, as_json=as_json)


async def _carry_out(session: Session, todo: list[Step]) -> dict[str, str | APIStatusError]:
    """Return the result of each step, by name. A refused step does not prevent the others."""
    results: dict[str, str | APIStatusError] = {}
    waiting = todo
    with session.output.show_progress() as progress:
        task = progress.add_task("Applying", total=len(todo))
        while waiting:
            again = []
            for step in waiting:
                try:
                    results[step.label] = await _apply(session, step)
                    progress.advance(task)
                except BadRequestError as problem:
                    results[step.label] = problem
                    again.append(step)
                except APIStatusError as problem:
                    results[step.label] = problem
            # An agent may refer to an agent that has been made in this round.
            waiting = again if len(again) < len(waiting) else []
    return results


async def _apply(session: Session, step: Step) -> str:
    connection = session.connection
    match step.source:
        case AgentFile() as agent:
            # Replace only the version whose differences were shown.
            precondition = (
                {"If-Match": step.etag} if step.etag else {"If-None-Match": "*"} if step.action == "create" else {}
            )
            answer = await connection.send(
                "PUT",
                path(AGENT, agent_id=agent.agent_id),
                content=agent.text,
                headers={**YAML, **precondition},
                params=step.parameters,
            )
            used = f", used by {answer['share']} % of new sessions" if answer.get("share") is not None else ""
            return f"version {answer['version']}{used}"
        case OwnedFile() as file if step.kind == "document":
            announced = {**describe_file(file.file), "documentId": file.document_id}
            document = await upload_document(session, file.agent_id, file.file, announced)
            return f"version {document['version']}"
        case OwnedFile() as file:
            answer = await connection.send(
                "POST",
                path(AGENT + "/procedures", agent_id=file.agent_id),
                content=file.file.read_bytes(),
                headers={"Content-Type": "text/markdown"},
            )
            return f"version {answer['version']}, {answer['status']}"


def _show(session: Session, steps: list[Step]) -> None:
    for step in steps:
        note = f" ({step.note})" if step.note else ""
        session.output.print_line(f"{MARKS[step.action]} {step.label}{note}", style="bold")
        for line in step.lines:
            style = "green" if line.lstrip().startswith("+") else "red" if line.lstrip().startswith("-") else ""
            session.output.print_line(f"    {line}", style=style)


def _finish(session: Session, steps: list[Step], results: dict[str, str | APIStatusError]) -> None:
    if session.output.is_json:
        shapes: list[Json] = []
        for step in steps:
            result = results.get(step.label)
            is_error = isinstance(result, APIStatusError)
            outcome = {"result": None if is_error else result, "error": str(result) if is_error else None}
            shapes.append(step.to_json() | outcome)
        session.output.print_json({"items": shapes})
        return
    for name, result in results.items():
        session.output.print_line(f"{name}: {'not applied' if isinstance(result, APIStatusError) else result}")
    if not results:
        is_same = all(step.action == "none" and step.note != SHIPS for step in steps)
        session.output.note("Everything is as in the folder." if is_same else "Nothing was sent.")

"""``baton documents``: the documents that an agent searches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from baton_client.addresses import path
from baton_client.asynchronous.resources.documents import IN_PROGRESS
from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, describe_problem, find_exit_code
from baton_client.command.session import AsJson, Session, Yes, run
from baton_client.command.terminal_text import one_line
from baton_client.command.uploads import compute_checksum, describe_file, put
from baton_client.errors import APIStatusError

app = typer.Typer(no_args_is_help=True, help="List, upload, search and delete an agent's documents.")

DOCUMENTS = "/v1/agents/{agent_id}/documents"
LIBRARIES = "/v1/agents/{agent_id}/libraries"
POLL_SECONDS = 1
AgentId = Annotated[str, typer.Argument(help="The agent's id.")]

COLUMNS = [
    ("ID", lambda item: item["id"]),
    ("TITLE", lambda item: one_line(item.get("title"), 50)),
    ("STATUS", lambda item: f"{item.get('status')} {item.get('progress') or 0}%"),
    ("VERSION", lambda item: item.get("version")),
    ("PROBLEM", lambda item: one_line((item.get("error") or {}).get("message", ""), 60)),
]


@app.command("list")
def list_(
    context: typer.Context,
    agent_id: AgentId,
    library: Annotated[str | None, typer.Option(help="List this library of the agent's instead.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The largest number of documents.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List an agent's documents, the newest first, and the names of the libraries that it also searches."""

    async def command(session: Session) -> None:
        address = path(DOCUMENTS, agent_id=agent_id)
        if library is not None:
            address = path(LIBRARIES + "/{library}/documents", agent_id=agent_id, library=library)
        items = await session.connection.list_items(address, limit=limit)
        session.output.print_rows(items, COLUMNS, empty=f"The {'library' if library else 'agent'} has no documents.")
        if library is None and not as_json:
            libraries = (await session.connection.get(path(LIBRARIES, agent_id=agent_id)))["items"]
            named = ", ".join(f"{one_line(shelf['name'])} ({shelf['documents']})" for shelf in libraries)
            if named:
                session.output.note(
                    f"The agent also searches the libraries {named}. --library lists one; a deployment changes them."
                )

    run(context, command, as_json=as_json)


@app.command()
def upload(
    context: typer.Context,
    agent_id: AgentId,
    files: Annotated[list[Path], typer.Argument(help="PDF, HTML, Markdown, text, CSV and Office files.")],
    title: Annotated[str | None, typer.Option(help="The title that citations show; of one file.")] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the documents can be found, or could not be read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Upload documents. Those that the agent already has are not sent again. The server reads the others afterwards."""

    async def command(session: Session) -> None:
        described = [(file, describe_file(file)) for file in files]
        done = []
        for file, record in described:
            try:
                done.append(
                    await upload_document(session, agent_id, file, record | ({"title": title} if title else {}))
                )
            except APIStatusError as problem:
                raise CommandError(f"{file}: {describe_problem(problem)}", find_exit_code(problem)) from problem
        if wait:
            done = await _wait_until_read(session, agent_id, done)
        session.output.print_rows(done, COLUMNS, empty="")
        failed = [document for document in done if document.get("status") == "failed"]
        if wait and failed:
            raise CommandError(f"{len(failed)} of {len(done)} documents could not be read.")

    run(context, command, as_json=as_json)


@app.command()
def delete(
    context: typer.Context, agent_id: AgentId, document_id: str, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Delete a document. Later turns do not use it."""

    async def command(session: Session) -> None:
        address = path(DOCUMENTS + "/{document_id}", agent_id=agent_id, document_id=document_id)
        document = await session.connection.get(address)
        session.confirm(f"Delete {one_line(document['title'])} of {one_line(agent_id)}?", is_agreed=yes)
        session.output.print_value(await session.connection.send("DELETE", address), ["Deleted."])

    run(context, command, as_json=as_json)


@app.command()
def search(
    context: typer.Context,
    agent_id: AgentId,
    query: Annotated[str, typer.Argument(help="Words, or a question.")],
    limit: Annotated[int, typer.Option(min=1, max=40, help="The largest number of passages.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the passages that the agent would find, the best first."""

    async def command(session: Session) -> None:
        address = path("/v1/agents/{agent_id}/knowledge/search", agent_id=agent_id)
        answer = await session.connection.send("POST", address, {"query": query, "limit": limit})
        columns = [
            ("SCORE", lambda item: f"{item['score']:.2f}"),
            ("IN PROMPT", lambda item: "yes" if item.get("included") else one_line(item.get("reason") or "no")),
            ("TITLE", lambda item: one_line(item["source"].get("title"), 30)),
            ("TEXT", lambda item: one_line(item["text"], 120)),
        ]
        session.output.print_rows(answer["items"], columns, empty="Nothing was found.")
        if answer.get("note"):
            session.output.note(answer["note"])

    run(context, command, as_json=as_json)


async def _wait_until_read(session: Session, agent_id: str, documents: list[Json]) -> list[Json]:
    """Wait until the server has read documents, or could not, and return them."""
    waiting = {document["id"] for document in documents if document.get("status") in IN_PROGRESS}
    by_id = {document["id"]: document for document in documents}
    with session.output.show_progress() as progress:
        task = progress.add_task("Reading", total=len(documents), completed=len(documents) - len(waiting))
        while waiting:
            for document_id in sorted(waiting):
                address = path(DOCUMENTS + "/{document_id}", agent_id=agent_id, document_id=document_id)
                by_id[document_id] = await session.connection.get(address)
                if by_id[document_id].get("status") not in IN_PROGRESS:
                    waiting.remove(document_id)
                    progress.advance(task)
            if waiting:
                await asyncio.sleep(POLL_SECONDS)
    return [by_id[document["id"]] for document in documents]


async def upload_document(session: Session, agent_id: str, file: Path, announced: Json) -> Json:
    """Announce a file, and upload it unless the agent has it. Return the document."""
    body = {**announced, "sha256": compute_checksum(file)}
    answer = await session.connection.send("POST", path(DOCUMENTS, agent_id=agent_id), body)
    if answer.get("upload"):
        await put(session, file, answer["upload"])
    document: Json = answer["document"]
    return document

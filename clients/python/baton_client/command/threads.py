"""``baton threads``: conversations."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from baton_client.addresses import given, path
from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.run_view import ShownCall, format_question_lines
from baton_client.command.session import AsJson, Session, Yes, run
from baton_client.command.terminal_text import make_printable, one_line

app = typer.Typer(
    no_args_is_help=True,
    help="List, read and close conversations, cancel their background tasks, and send them events.",
)

THREAD = "/v1/threads/{thread_id}"
ThreadId = Annotated[str, typer.Argument(help="The conversation's id, or the host application's own.")]
Everybody = Annotated[bool, typer.Option("--everybody", help="Include the whole tenant; needs thread:read_all.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="The largest number of entries.")]


class State(StrEnum):
    """The states that conversations are listed by."""

    ACTIVE = "active"
    CLOSED = "closed"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    WAITING = "waiting"


def _describe_state(thread: Json) -> str:
    """Return the state of a conversation: that of its run, or ``waiting`` for a person, otherwise its status."""
    return str((thread.get("run") or {}).get("status") or ("waiting" if thread.get("interrupts") else thread["status"]))


COLUMNS = [
    ("ID", lambda item: item["id"]),
    ("TITLE", lambda item: one_line(item.get("title") or "-", 50)),
    ("STATE", _describe_state),
    ("LAST ACTIVITY", lambda item: item.get("lastActivityAt")),
    ("UNREAD", lambda item: item.get("unread") or "-"),
]
TASK_COLUMNS = [
    ("ID", lambda item: item["taskId"]),
    ("NAME", lambda item: one_line(item["name"], 40)),
    ("STATUS", lambda item: item["status"]),
    ("STARTED", lambda item: item["startedAt"]),
    ("PROGRESS", lambda item: one_line(item.get("progress") or "-", 60)),
]


@app.command("list")
def list_(
    context: typer.Context,
    everybody: Everybody = False,
    state: Annotated[State | None, typer.Option(help="Only conversations in this state.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent of the conversations.")] = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List conversations, the most recently active first."""
    state_name = state.value if state else None
    _list(context, as_json, limit, scope="tenant" if everybody else None, state=state_name, agentId=agent)


@app.command()
def search(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(help="Words that the title or the beginning must contain.")],
    everybody: Everybody = False,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Search conversations by words of their titles and beginnings."""
    _list(context, as_json, limit, q=" ".join(words), scope="tenant" if everybody else None)


@app.command()
def show(context: typer.Context, thread_id: ThreadId, limit: Limit = 50, as_json: AsJson = False) -> None:
    """Show a conversation and its newest messages."""

    async def command(session: Session) -> None:
        address = path(THREAD, thread_id=thread_id)
        thread = await session.connection.get(address)
        messages = await session.connection.list_newest_messages(address, limit)
        session.output.print_value({"thread": thread, "messages": messages}, _format_lines(thread, messages))

    run(context, command, as_json=as_json)


@app.command()
def rename(context: typer.Context, thread_id: ThreadId, title: str, as_json: AsJson = False) -> None:
    """Give a conversation a title."""

    async def command(session: Session) -> None:
        thread = await session.connection.send("PATCH", path(THREAD, thread_id=thread_id), {"title": title})
        session.output.print_value(thread, [f"Renamed to {one_line(thread['title'])}."])

    run(context, command, as_json=as_json)


@app.command()
def close(context: typer.Context, thread_id: ThreadId, as_json: AsJson = False) -> None:
    """Close a conversation after its running turn. The next message opens it again."""

    async def command(session: Session) -> None:
        answer = await session.connection.send("POST", path(THREAD + "/close", thread_id=thread_id))
        session.output.print_value(answer, ["Closed."])

    run(context, command, as_json=as_json)


@app.command()
def delete(context: typer.Context, thread_id: ThreadId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Forget a conversation with its forks."""

    async def command(session: Session) -> None:
        session.confirm(f"Forget the conversation {one_line(thread_id)} and its forks for ever?", is_agreed=yes)
        answer = await session.connection.send("DELETE", path(THREAD, thread_id=thread_id))
        line = (
            f"Being forgotten by request {answer['requestId']}: see `baton users forget-status {answer['requestId']}`."
        )
        session.output.print_value(answer, [line])

    run(context, command, as_json=as_json)


@app.command("mark-read")
def mark_read(
    context: typer.Context,
    thread_id: ThreadId,
    ordinal: Annotated[
        int | None,
        typer.Option(min=0, help="The ordinal of the last message that was read; by default the newest message's."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mark a conversation as read, up to its last message."""

    async def command(session: Session) -> None:
        address, last = path(THREAD, thread_id=thread_id), ordinal
        if last is None:
            newest = await session.connection.list_newest_messages(address, 1)
            last = newest[-1]["metadata"]["ordinal"] if newest else 0
        await session.connection.send("PUT", address + "/read", {"ordinal": last})
        session.output.print_value({"ordinal": last}, ["Read."])

    run(context, command, as_json=as_json)


@app.command()
def background(context: typer.Context, thread_id: ThreadId, as_json: AsJson = False) -> None:
    """List a conversation's background tasks, the newest first."""

    async def command(session: Session) -> None:
        tasks = await session.connection.get(path(THREAD + "/background", thread_id=thread_id))
        session.output.print_rows(tasks["items"], TASK_COLUMNS, empty="There are no background tasks.")

    run(context, command, as_json=as_json)


@app.command("cancel-background")
def cancel_background(
    context: typer.Context, thread_id: ThreadId, task_id: str, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Cancel a background task: its result no longer enters the conversation."""

    async def command(session: Session) -> None:
        address = path(THREAD + "/background/{task_id}", thread_id=thread_id, task_id=task_id)
        session.confirm(f"Cancel the task {one_line(task_id)}?", is_agreed=yes)
        session.output.print_rows([await session.connection.send("DELETE", address)], TASK_COLUMNS, empty="")

    run(context, command, as_json=as_json)


@app.command("send-event")
def send_event(
    context: typer.Context,
    thread_id: ThreadId,
    event_id: Annotated[str, typer.Argument(help="Your id of the event. Sending it again starts no second run.")],
    event_type: Annotated[str, typer.Argument(help="A type of event that the agent accepts.")],
    data: Annotated[str | None, typer.Option(help="Its data, as JSON.")] = None,
    user: Annotated[str | None, typer.Option(help="The user of the conversation, if it is not yours.")] = None,
    agent: Annotated[str | None, typer.Option(help="The main agent of a new conversation.")] = None,
    as_json: AsJson = False,
) -> None:
    """Start a run with an event; needs event:send."""

    async def command(session: Session) -> None:
        body = {"eventId": event_id, "type": event_type, "data": _parse(data), **given(userId=user, agentId=agent)}
        queued = await session.connection.send("POST", path(THREAD + "/events", thread_id=thread_id), body)
        session.output.print_value(queued, [f"Queued as the run {queued['runId']}."])

    run(context, command, as_json=as_json)


def _parse(data: str | None) -> Any:
    """Return the JSON value of ``--data``. Raises ``CommandError``."""
    try:
        return None if data is None else json.loads(data)
    except ValueError as problem:
        raise CommandError(f"--data is not JSON: {problem}.", ExitCode.USAGE) from None


def _list(context: typer.Context, as_json: bool, limit: int, **params: Any) -> None:
    async def command(session: Session) -> None:
        items = await session.connection.list_items("/v1/threads", limit=limit, **params)
        session.output.print_rows(items, COLUMNS, empty="There are no such conversations.")

    run(context, command, as_json=as_json)


def format_content(message: Json) -> str:
    """Return the text of a message whose content is a text or parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in content if isinstance(part, dict))
    return make_printable(content)


def _format_lines(thread: Json, messages: list[Json]) -> list[str]:
    lines = [f"{one_line(thread.get('title') or 'Without a title')} ({thread['id']}, {_describe_state(thread)})"]
    for message in messages:
        who = "You" if message.get("role") == "user" else message.get("name") or message.get("role")
        lines += ["", *format_message(str(who), message)]
    if waiting := thread.get("interrupts"):
        questions = [line for interrupt in waiting for line in format_question_lines(interrupt)]
        lines += ["", *questions, f"Answer with `baton chat {thread['id']}`."]
    return lines


def format_message(who: str, message: Json) -> list[str]:
    """Return a message as people read it: its text, the calls that its agent made, and whether it was stopped."""
    text, metadata = format_content(message), message.get("metadata") or {}
    who = f"{who} (a person)" if metadata.get("author") else who
    lines = [f"{one_line(who)}: {text}"] if text or not message.get("toolCalls") else []
    for call in message.get("toolCalls") or []:
        function = call.get("function") or {}
        label = (call.get("metadata") or {}).get("label")
        shown_call = ShownCall(str(function.get("name")), str(function.get("arguments")), label)
        lines.append(f"  > {one_line(who)} calls {shown_call}")
    if metadata.get("status") == "cancelled":
        lines.append("  (Stopped.)")
    return lines

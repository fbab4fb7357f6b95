"""``baton audit``: who did what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from baton_client.command.session import AsJson, Session, run
from baton_client.command.terminal_text import one_line
from baton_client.command.users import write_lines

app = typer.Typer(no_args_is_help=True, help="Read the audit log; needs audit:read.")

Since = Annotated[str | None, typer.Option("--from", help="The earliest time, with a zone: 2026-03-14T09:00:00Z.")]
Until = Annotated[str | None, typer.Option("--to", help="The latest time, in the same form.")]
User = Annotated[str | None, typer.Option(help="The user who did it.")]
Action = Annotated[str | None, typer.Option(help="The action, such as agent.write.")]
Outcome = Annotated[str | None, typer.Option(help="The outcome, such as denied.")]
Agent = Annotated[str | None, typer.Option(help="The agent.")]
Thread = Annotated[str | None, typer.Option(help="A conversation's UUID.")]

AGENT = "agentId"


def _describe_details(item: Mapping[str, Any]) -> str:
    """Return the details of a record, other than its agent, as ``name=value`` on one line."""
    details = {name: value for name, value in item.get("detail", {}).items() if name != AGENT}
    return one_line(
        " ".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in details.items()),
        80,
    )


COLUMNS = [
    ("AT", lambda item: item.get("timestamp")),
    ("USER", lambda item: item.get("userId")),
    ("ACTION", lambda item: item.get("action")),
    ("OUTCOME", lambda item: one_line(item.get("outcome"), 30)),
    ("AGENT", lambda item: one_line(item.get("detail", {}).get(AGENT, ""), 64)),
    ("CONVERSATION", lambda item: item.get("threadId") or ""),
    ("DETAIL", _describe_details),
]


@app.command("list")
def list_(
    context: typer.Context,
    since: Since = None,
    until: Until = None,
    user: User = None,
    action: Action = None,
    outcome: Outcome = None,
    agent: Agent = None,
    thread: Thread = None,
    limit: Annotated[int, typer.Option(min=1, help="The largest number of entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List records, the newest first."""
    filters = _make_filters(since, until, user, action, outcome, agent, thread)

    async def command(session: Session) -> None:
        items = await session.connection.list_items("/v1/audit", limit=limit, **filters)
        session.output.print_rows(items, COLUMNS, empty="There are no such records.")

    run(context, command, as_json=as_json)


@app.command()
def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The new file, which gets one JSON value a line. `-` prints them.")],
    since: Since = None,
    until: Until = None,
    user: User = None,
    action: Action = None,
    outcome: Outcome = None,
    agent: Agent = None,
    thread: Thread = None,
    as_json: AsJson = False,
) -> None:
    """Write records to a file. The export is itself audited."""
    filters = _make_filters(since, until, user, action, outcome, agent, thread)

    async def command(session: Session) -> None:
        await write_lines(session, "/v1/audit/export", file, **filters)

    run(context, command, as_json=as_json)


def _make_filters(
    since: str | None,
    until: str | None,
    user: str | None,
    action: str | None,
    outcome: str | None,
    agent: str | None,
    thread: str | None,
) -> dict[str, Any]:
    return {
        "from": since,
        "to": until,
        "userId": user,
        "action": action,
        "outcome": outcome,
        "agentId": agent,
        "threadId": thread,
    }

"""``baton workflows``: what users have completed."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from baton_client.command.session import AsJson, Session, run
from baton_client.command.terminal_text import one_line
from baton_client.command.threads import Everybody, Limit

app = typer.Typer(no_args_is_help=True, help="List completed workflows with their data.")

COLUMNS = [
    ("COMPLETED", lambda item: item["completedAt"]),
    ("AGENT", lambda item: item["agentId"]),
    ("USER", lambda item: one_line(item["userId"], 40)),
    ("NAME", lambda item: one_line(item["name"], 50)),
    ("DATA", lambda item: one_line(json.dumps(item["data"], ensure_ascii=False), 200)),
    ("RESULT", lambda item: one_line(item.get("result") or "-", 80)),
]


@app.command("list")
def list_(
    context: typer.Context,
    everybody: Everybody = False,
    user: Annotated[str | None, typer.Option(help="With --everybody: only this user's workflows.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent of the workflows.")] = None,
    state: Annotated[str | None, typer.Option(help="The final state.")] = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List completed workflows with their data and results, the newest first."""
    params: dict[str, Any] = {
        "scope": "tenant" if everybody else None,
        "userId": user,
        "agentId": agent,
        "state": state,
    }

    async def command(session: Session) -> None:
        items = await session.connection.list_items("/v1/workflows/completed", limit=limit, **params)
        session.output.print_rows(items, COLUMNS, empty="There are no such workflows.")

    run(context, command, as_json=as_json)

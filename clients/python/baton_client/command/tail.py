"""``baton tail``: a conversation's events as they come."""

from __future__ import annotations

from contextlib import aclosing
from typing import Annotated

import typer

from baton_client.addresses import path
from baton_client.command.connection import END_OF_RUN
from baton_client.command.run_view import RunView
from baton_client.command.session import AsJson, Session, run
from baton_client.command.threads import ThreadId


def tail(
    context: typer.Context,
    thread_id: ThreadId,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin with the events of the last 24 hours.")
    ] = False,
    one_run: Annotated[bool, typer.Option("--one-run", help="End when a run ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a conversation's events as they come, until Ctrl-C. With --json, one event a line."""

    async def command(session: Session) -> None:
        thread = await session.connection.get(path("/v1/threads/{thread_id}", thread_id=thread_id))
        view = RunView(session.output, shows_user=True)
        followed = session.connection.follow(thread_id, 0 if from_start else thread["lastSeq"])
        async with aclosing(followed) as events:
            async for event in events:
                if session.output.is_json:
                    session.output.print_json(event)
                else:
                    view.show(event)
                    if view.error and event["type"] == "RUN_ERROR":
                        session.output.print_error(view.error)
                if one_run and event["type"] in END_OF_RUN:
                    return

    run(context, command, as_json=as_json)

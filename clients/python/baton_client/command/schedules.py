"""``baton schedules``: reminders, and whatever else begins runs at a time."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import typer

from baton_client.addresses import given, path
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.session import AsJson, Session, Yes, run
from baton_client.command.terminal_text import one_line
from baton_client.command.threads import Limit

app = typer.Typer(no_args_is_help=True, help="Make, list, change, pause and cancel schedules and reminders.")

SCHEDULES = "/v1/schedules"
SCHEDULE = SCHEDULES + "/{schedule_id}"
ScheduleId = Annotated[str, typer.Argument(help="The schedule's id.")]
OfUser = Annotated[str | None, typer.Option("--user", help="Its user, if it is not yours; needs schedule:manage.")]

COLUMNS = [
    ("ID", lambda item: item["id"]),
    ("NEXT", lambda item: item.get("nextAt") or item["status"]),
    ("RULE", lambda item: one_line(item.get("rule") or "-", 60)),
    ("USER", lambda item: one_line(item.get("userId") or "-", 40)),
    ("TEXT", lambda item: one_line(item["text"], 80)),
]
LABELS = {
    "status": "Status",
    "nextAt": "Next",
    "rule": "Rule",
    "timeZone": "Time zone",
    "endsAt": "Ends",
    "agentId": "Agent",
    "threadId": "Conversation",
    "runs": "Runs",
    "lastAt": "Last",
    "lastRunId": "Last run",
    "userId": "User",
}
"""The fields that ``show`` prints."""


@app.command("list")
def list_(
    context: typer.Context,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Include the whole tenant; needs schedule:manage.")
    ] = False,
    status: Annotated[str | None, typer.Option(help="active, paused or finished.")] = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List schedules, the next ones first."""
    params: dict[str, Any] = {"scope": "tenant" if everybody else None, "status": status}

    async def command(session: Session) -> None:
        items = await session.connection.list_items(SCHEDULES, limit=limit, **params)
        session.output.print_rows(items, COLUMNS, empty="There are no such schedules.")

    run(context, command, as_json=as_json)


@app.command()
def show(context: typer.Context, schedule_id: ScheduleId, user: OfUser = None, as_json: AsJson = False) -> None:
    """Show a schedule: its times, its conversation and its last run."""

    async def command(session: Session) -> None:
        schedule = await session.connection.get(path(SCHEDULE, schedule_id=schedule_id), userId=user)
        named = [f"{label}: {one_line(schedule[name])}" for name, label in LABELS.items() if schedule.get(name)]
        session.output.print_value(schedule, [one_line(schedule["text"]), *named])

    run(context, command, as_json=as_json)


@app.command()
def create(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="The text that is sent to the agent.")],
    at: Annotated[str | None, typer.Option(help="The time, such as 2027-03-14T09:00.")] = None,
    rule: Annotated[str | None, typer.Option(help="A rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=MO,FR.")] = None,
    time_zone: Annotated[str | None, typer.Option(help="An IANA time zone, or user: wherever the user is.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that gets the text.")] = None,
    thread: Annotated[str | None, typer.Option(help="The conversation that its runs enter.")] = None,
    as_json: AsJson = False,
) -> None:
    """Schedule a text to an agent, for a time or by a rule."""
    named = given(at=at, rule=rule, timeZone=time_zone, agentId=agent, threadId=thread)

    async def command(session: Session) -> None:
        schedule = await session.connection.send("POST", SCHEDULES, {"id": str(uuid.uuid4()), "text": text, **named})
        session.output.print_rows([schedule], COLUMNS, empty="")

    run(context, command, as_json=as_json)


@app.command()
def change(
    context: typer.Context,
    schedule_id: ScheduleId,
    text: Annotated[str | None, typer.Option(help="The text that is sent to the agent.")] = None,
    at: Annotated[str | None, typer.Option(help="The time, such as 2027-03-14T09:00.")] = None,
    rule: Annotated[str | None, typer.Option(help="A rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=MO,FR.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change the text or the times of one of your schedules. Options that are left out change nothing."""
    body = given(text=text, at=at, rule=rule)
    _change(context, schedule_id, None, body, as_json=as_json)


@app.command()
def pause(context: typer.Context, schedule_id: ScheduleId, user: OfUser = None, as_json: AsJson = False) -> None:
    """Pause a schedule: times that pass meanwhile are skipped."""
    _change(context, schedule_id, user, {"paused": True}, as_json=as_json)


@app.command()
def resume(context: typer.Context, schedule_id: ScheduleId, user: OfUser = None, as_json: AsJson = False) -> None:
    """Resume a paused schedule at its next time."""
    _change(context, schedule_id, user, {"paused": False}, as_json=as_json)


@app.command()
def cancel(
    context: typer.Context, schedule_id: ScheduleId, user: OfUser = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Cancel a schedule. A run that has begun continues."""

    async def command(session: Session) -> None:
        address = path(SCHEDULE, schedule_id=schedule_id)
        schedule = await session.connection.get(address, userId=user)
        session.confirm(f"Cancel {one_line(schedule['text'], 80)}?", is_agreed=yes)
        answer = await session.connection.send("DELETE", address, params={"userId": user})
        session.output.print_value(answer, ["Cancelled."])

    run(context, command, as_json=as_json)


def _change(context: typer.Context, schedule_id: str, user: str | None, body: dict[str, Any], *, as_json: bool) -> None:
    async def command(session: Session) -> None:
        address = path(SCHEDULE, schedule_id=schedule_id)
        if not body:
            raise CommandError("Say what to change: --text, --at or --rule.", ExitCode.USAGE)
        changed = await session.connection.send("PATCH", address, body, params={"userId": user})
        session.output.print_rows([changed], COLUMNS, empty="")

    run(context, command, as_json=as_json)

"""``baton agents``: versions of a tenant's agent with their figures, shares of new sessions, promotion and rollback."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from baton_client.addresses import given, path
from baton_client.command.exits import CommandError
from baton_client.command.session import AsJson, Session, run

AGENT = "/v1/agents/{agent_id}"
COUNTS = ("turns", "failures", "inputTokens", "outputTokens", "ups", "downs", "unpriced")
PAGE = 20
"""The number of newest versions that are shown."""
Json = dict[str, Any]

AgentId = Annotated[str, typer.Argument(help="The agent's id.")]
Number = Annotated[int, typer.Argument(help="The candidate.", min=1)]
Override = Annotated[str | None, typer.Option(help="The reason for which it needs no evaluation. It is audited.")]
Comment = Annotated[str | None, typer.Option(help="The reason, for readers of the versions.")]

COLUMNS = [
    ("VERSION", lambda item: str(item["version"])),
    ("STATE", lambda item: _describe_state(item)),
    ("SHARE", lambda item: f"{item['share']} %" if item["share"] is not None else ""),
    ("TURNS", lambda item: str(item["turns"])),
    ("FAILURES", lambda item: str(item["failures"])),
    ("TOKENS", lambda item: str(item["inputTokens"] + item["outputTokens"])),
    ("COST", lambda item: f"{item['cost']:.4f}" if item["cost"] is not None else "-"),
    ("UP", lambda item: str(item["ups"])),
    ("DOWN", lambda item: str(item["downs"])),
    ("EVALUATION", lambda item: _describe_evaluation(item["evaluation"])),
]


def versions(
    context: typer.Context,
    agent_id: AgentId,
    days: Annotated[int, typer.Option(min=1, max=366, help="Count turns of the last days.")] = 7,
    as_json: AsJson = False,
) -> None:
    """List the newest versions of an agent with their figures beside each other; needs agent:write."""

    async def command(session: Session) -> None:
        address = path(AGENT, agent_id=agent_id)
        items = await session.connection.list_items(f"{address}/versions", limit=PAGE)
        since = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        figures: dict[int, Json] = {}
        cursor: str | None = None
        while True:
            params = {"cursor": cursor} if cursor is not None else {"from": since}
            page = await session.connection.get(f"{address}/figures", **params)
            for item in page["items"]:
                figures[item["version"]] = add(figures.get(item["version"]), item)
            cursor = page["nextCursor"]
            if cursor is None:
                break
        nothing = dict.fromkeys(COUNTS, 0) | {"cost": None}
        rows = [{**item, **figures.get(item["version"], nothing)} for item in items]
        session.output.print_rows(rows, COLUMNS, empty="The agent has no versions.")

    run(context, command, as_json=as_json)


def share(
    context: typer.Context,
    agent_id: AgentId,
    version: Number,
    percent: Annotated[int, typer.Argument(min=0, max=100, help="The percentage of new sessions that use it.")],
    override: Override = None,
    as_json: AsJson = False,
) -> None:
    """Set the percentage of new sessions that use the candidate; needs agent:write."""
    body = {"version": version, "share": percent} | given(override=override)
    _change(context, "PUT", agent_id, "share", body, as_json=as_json)


def promote(
    context: typer.Context, agent_id: AgentId, version: Number, override: Override = None, as_json: AsJson = False
) -> None:
    """Put the candidate in force for all new sessions; needs agent:write."""
    _change(context, "POST", agent_id, "promote", {"version": version} | given(override=override), as_json=as_json)


def roll_back(
    context: typer.Context,
    agent_id: AgentId,
    version: Annotated[
        int | None, typer.Argument(min=1, help="The version to put in force again; default: the candidate ends.")
    ] = None,
    comment: Comment = None,
    override: Override = None,
    as_json: AsJson = False,
) -> None:
    """End the candidate, or put an older version in force again, also for running sessions; needs agent:write."""
    if version is None:
        run(context, lambda session: _end_candidate(session, agent_id), as_json=as_json)
    else:
        body = {"version": version} | given(comment=comment, override=override)
        _change(context, "POST", agent_id, "rollback", body, as_json=as_json)


def add(total: Json | None, figures: Json) -> Json:
    """Return the sum of a version's figures from earlier pages and from another page."""
    if total is None:
        return dict(figures)
    costs = [part["cost"] for part in (total, figures) if part["cost"] is not None]
    sums = {name: total[name] + figures[name] for name in COUNTS}
    return {**total, **sums, "cost": sum(costs) if costs else None}


async def _end_candidate(session: Session, agent_id: str) -> None:
    """End the candidate.

    Raises ``CommandError`` without one: the request would change nothing, and a bad version would stay in force.
    """
    address = path(AGENT, agent_id=agent_id)
    items = await session.connection.list_items(f"{address}/versions", limit=PAGE)
    if not any(item["state"] == "candidate" for item in items):
        raise CommandError(
            f"{agent_id} has no candidate. Name the version to put in force again: `baton agents versions {agent_id}` "
            "lists them."
        )
    answer = await session.connection.send("DELETE", f"{address}/candidate", None)
    session.output.print_value(answer, _format_lines(agent_id, answer))


def _change(
    context: typer.Context, method: str, agent_id: str, action: str, body: Json | None, *, as_json: bool
) -> None:
    async def command(session: Session) -> None:
        answer = await session.connection.send(method, path(f"{AGENT}/{action}", agent_id=agent_id), body)
        session.output.print_value(answer, _format_lines(agent_id, answer))

    run(context, command, as_json=as_json)


def _format_lines(agent_id: str, answer: Json) -> list[str]:
    repeats = f" It repeats version {answer['restores']}." if answer.get("restores") is not None else ""
    lines = [f"{agent_id}: version {answer['version']} is in force.{repeats}"]
    if answer.get("candidate") is not None:
        lines.append(f"Version {answer['candidate']} is used by {answer['share']} % of new sessions.")
    return lines


def _describe_state(item: Json) -> str:
    repeats = f", repeats {item['restores']}" if item["restores"] is not None else ""
    state: str = item["state"]
    return state.replace("_", " ") + repeats


def _describe_evaluation(evaluation: Json | None) -> str:
    if evaluation is None:
        return ""
    passed = evaluation["passed"]
    return f"{passed:.1%} of {evaluation['runs']}" if passed is not None else "not judged"

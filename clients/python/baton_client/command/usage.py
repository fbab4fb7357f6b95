"""``baton usage``: what the tenant has used in a month."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from baton_client.command.session import AsJson, Session, run
from baton_client.command.terminal_text import one_line

COUNTS = ("turns", "failures", "inputTokens", "outputTokens", "cachedInputTokens", "unpriced")
TOKENS = ("inputTokens", "outputTokens", "cachedInputTokens")
Json = dict[str, Any]


def usage(
    context: typer.Context,
    month: Annotated[str | None, typer.Argument(help="The month, such as 2026-03; by default the current one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add up the tenant's turns, tokens, cost and storage of a month, in UTC; needs tenant:manage."""

    async def command(session: Session) -> None:
        total: Json | None = None
        cursor: str | None = None
        while total is None or cursor is not None:
            params = {"cursor": cursor} if cursor is not None else {"month": month}
            page = await session.connection.get("/v1/usage", **params)
            total, cursor = add(total, page), page.get("nextCursor")
        session.output.print_value(total, format_lines(total))

    run(context, command, as_json=as_json)


def add(total: Json | None, page: Json) -> Json:
    """Return the sum of the usage of earlier pages and of another page, without a cursor."""
    if total is None:
        return {name: value for name, value in page.items() if name != "nextCursor"}
    storage = {name: total["storage"][name] + page["storage"][name] for name in ("objects", "bytes")}
    return {
        **total,
        **_add_counts(total, page, COUNTS),
        "threads": total["threads"] + page["threads"],
        "agents": _join(total["agents"], page["agents"], "agentId", COUNTS),
        "models": _join(total["models"], page["models"], "model", TOKENS),
        "storage": storage,
    }


def format_lines(usage: Json) -> list[str]:
    """Return the usage in lines for people."""
    cost = _format_money(usage["cost"] if usage["turns"] else 0.0)
    head = [
        f"Month: {usage['month']}",
        f"Turns: {usage['turns']:,} ({usage['failures']:,} failed)",
        f"Tokens: {usage['inputTokens']:,} in ({usage['cachedInputTokens']:,} cached), {usage['outputTokens']:,} out",
        f"Cost: {cost}" + (f", without {usage['unpriced']:,} turns" if usage["unpriced"] else ""),
    ]
    if usage.get("meteredCost") is not None:
        head.append(f"Cost of all calls, as limits count it: {_format_money(usage['meteredCost'])}")
    head.append(f"Storage: {usage['storage']['bytes']:,} bytes in {usage['storage']['objects']:,} objects")
    agents = [
        f"Agent {one_line(agent['agentId'] or '-', 60)}: {agent['turns']:,} turns, {_format_money(agent['cost'])}"
        for agent in usage["agents"]
    ]
    models = [
        f"Model {one_line(model['model'], 60)}: {model['inputTokens']:,} in, {model['outputTokens']:,} out, "
        f"{_format_money(model['cost'])}"
        for model in usage["models"]
    ]
    return [*head, *agents, *models]


def _join(entries: list[Json], others: list[Json], key: str, counts: tuple[str, ...]) -> list[Json]:
    """Return both lists as one list, in which entries with the same key are added up."""
    joined: dict[str | None, Json] = {entry[key]: entry for entry in entries}
    for entry in others:
        before = joined.get(entry[key])
        joined[entry[key]] = entry if before is None else {**before, **_add_counts(before, entry, counts)}
    return list(joined.values())


def _add_counts(total: Json, other: Json, counts: tuple[str, ...]) -> Json:
    costs = [cost for cost in (total["cost"], other["cost"]) if cost is not None]
    # Costs are whole billionths: rounding undoes the errors of adding binary fractions.
    return {**{name: total[name] + other[name] for name in counts}, "cost": round(sum(costs), 9) if costs else None}


def _format_money(cost: float | None) -> str:
    return "unknown" if cost is None else f"{cost:,.4f}"

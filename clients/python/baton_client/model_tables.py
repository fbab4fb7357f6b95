"""Reports on models as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ABILITIES = {
    "text": "text",
    "tool_call": "tool call",
    "parallel_calls": "parallel calls",
    "structured_answer": "structured answer",
    "image": "image",
    "embedding": "embedding",
}
"""The abilities that are tried, in the words of the table."""
_WIDTH = max(map(len, ABILITIES.values()))
_WORKS = {True: "yes", False: "no", None: "-"}
_SPACE = " " * (_WIDTH + 8)


def is_usable(report: Mapping[str, Any]) -> bool:
    """Return whether the deployment can work with a model, by its report as the server sends it.

    Models that agents ask need text and tool calls; the model for titles and summaries needs text only.
    """
    model = report["model"]
    if model["kind"] == "embedding" or model["agents"] or model["fallbackOf"] or "chat" in model["uses"]:
        return bool(report["works"])
    return all(check["works"] for check in report["checks"] if check["ability"] == "text")


def format_report(report: Mapping[str, Any]) -> list[str]:
    """Return the lines of a report as the server sends it: the model, a row for each ability, and what to change."""
    model = report["model"]
    lines = [_format_line(f"{model['name']} ({_describe_users(model)})")]
    for check in report["checks"]:
        name = ABILITIES.get(check["ability"], check["ability"])
        lines.append(
            _format_line(f"{name:<{_WIDTH}}  {_WORKS[check['works']]:<3} {_format_remark(check)}", indent="  ")
        )
        if check["advice"]:
            lines.append(_format_line(check["advice"], indent=f"{_SPACE}-> "))
    return lines + [_format_line(advice, indent="  -> ") for advice in report["advice"]]


def _describe_users(model: Mapping[str, Any]) -> str:
    users = [
        *(
            {"chat": "default model", "light": "titles and summaries", "embedding": "search"}.get(use, use)
            for use in model["uses"]
        )
    ]
    for what, agents in (("agents", model["agents"]), ("fallback of", model["fallbackOf"])):
        if agents:
            users.append(f"{what} {', '.join(agents)}")
    return "; ".join(users)


def _format_remark(check: Mapping[str, Any]) -> str:
    """Return the remark of a row, its error with the reason, and the options that were not sent."""
    error = ": ".join(filter(None, (check["error"], check["reason"])))
    dropped = f"not sent: {', '.join(check['dropped'])}" if check["dropped"] else None
    remarks: Sequence[str | None] = (check["remark"], error, dropped)
    return "; ".join(filter(None, remarks))


def _format_line(text: str, *, indent: str = "") -> str:
    """Return text on one line without control characters, because endpoints write parts of it."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return f"{indent}{line.rstrip()}"

"""Runs that began by themselves in a stored conversation, as steps of a test."""

from __future__ import annotations

import json
from collections.abc import Sequence

from baton.domain.schedules.run_source import CauseKind
from baton.domain.threads.message import EVENT
from baton_testing.recordings.stored_thread import Json


def find_cause(messages: Sequence[Json]) -> Json | None:
    """Return the source of a run's first message; None if a user's message or an action began the run."""
    first = messages[0]
    return first["metadata"]["source"] if first["role"] == EVENT else None


def make_event_step(message: Json, cause: Json) -> Json:
    """Return the event that began a run as a step of a test."""
    text = str(message.get("content") or "null")
    try:
        data = json.loads(text)
    except ValueError:  # a placeholder for personal data stands in the place of a number
        data = text
    return {"event": {"type": cause["type"], "id": cause["id"], "data": data}}


def list_unmade(causes: Sequence[Json], tools: Sequence[str]) -> list[str]:
    """Return a sentence for each kind of run that a test cannot begin. ``tools`` are the names of the called tools."""
    kinds = {cause["kind"] for cause in causes}
    parts: list[str] = []
    if CauseKind.SCHEDULE in kinds and "schedule" not in tools:
        parts.append("A schedule that was made outside of this conversation begins no run in a test.")
    if CauseKind.TASK in kinds:
        parts.append(
            "Runs that began with results of work in the background. In a test they begin in the step that asks for it."
        )
    return parts

"""The events of desks that receivers of webhooks get, as the steps of one conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton.domain.threads.thread import Thread

EVENTS = ("desk.waiting", "desk.taken", "desk.returned")


def find_event_problems(bodies: Iterable[dict[str, Any]], thread: Thread) -> list[str]:
    """Return what is wrong about the events: steps that do not follow each other, or do not lead to the thread."""
    problems, seen = [], set[str]()
    at: str | None = None
    for body in bodies:
        if body["id"] in seen:
            continue  # receivers drop repetitions
        seen.add(body["id"])
        desk_id = body["data"]["deskId"]
        is_possible = at != desk_id if body["type"] == "desk.waiting" else at == desk_id
        if not is_possible:
            problems.append(f"{body['type']} of {desk_id} while the conversation is at {at}")
        at = None if body["type"] == "desk.returned" else desk_id
    where = thread.active_agent_id if thread.conversation.desk is not None else None
    if at != where:
        problems.append(f"the events lead to {at}, and the conversation is at {where}")
    return problems

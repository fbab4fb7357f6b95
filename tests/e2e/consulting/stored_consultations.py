"""Records and events of consultations."""

from __future__ import annotations

from tests.e2e.users import Json, User


def of_type(events: list[Json], kind: str) -> list[Json]:
    """The events of one type."""
    return [event for event in events if event["type"] == kind]


def results_by_tool(events: list[Json]) -> dict[str, str]:
    """The result of each tool's call."""
    names = {event["toolCallId"]: event["toolCallName"] for event in of_type(events, "TOOL_CALL_START")}
    return {names[event["toolCallId"]]: event["content"] for event in of_type(events, "TOOL_CALL_RESULT")}


async def records(user: User, thread_id: str, collection: str) -> list[Json]:
    """The stored ``tool-calls`` or ``tasks`` of a thread."""
    items: list[Json] = (await user.read(f"/threads/{thread_id}/{collection}"))["items"]
    return items

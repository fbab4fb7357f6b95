"""Rules for every stream of events, with any reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

Json = dict[str, Any]

_EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
_CLOSED_BY = {
    "TEXT_MESSAGE_END": ("TEXT_MESSAGE_START", "messageId"),
    "REASONING_MESSAGE_END": ("REASONING_MESSAGE_START", "messageId"),
    "REASONING_END": ("REASONING_START", "messageId"),
    "TOOL_CALL_END": ("TOOL_CALL_START", "toolCallId"),
    "STEP_FINISHED": ("STEP_STARTED", "stepName"),
    "SUBAGENT_FINISHED": ("SUBAGENT_STARTED", "subagentRunId"),
    "SUBAGENT_ERROR": ("SUBAGENT_STARTED", "subagentRunId"),
}
_OPENED = dict(_CLOSED_BY.values())
_CONTENT_OF = {
    "TEXT_MESSAGE_CONTENT": ("TEXT_MESSAGE_START", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("REASONING_MESSAGE_START", "messageId"),
    "TOOL_CALL_ARGS": ("TOOL_CALL_START", "toolCallId"),
}


def check_ag_ui(event: Json) -> None:
    """The event is one of AG-UI's, under its wire names and without absent values."""
    _EVENTS.validate_python(event, by_name=False)
    assert not [name for name, value in event.items() if value is None], event


def check_run(events: Sequence[Json], *, attempt: int = 1) -> None:
    """Check that a run begins and ends, closes all that it opens, and numbers its events by one.

    ``attempt`` is the one that was carried through.
    """
    assert [event["type"] for event in events[:2]] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert [event["type"] for event in events].count("RUN_STARTED") == 1
    check_numbered(events)
    started = events[0]
    stamp = {"threadId": started["threadId"], "runId": started["runId"], "attempt": attempt}
    opened: set[tuple[str, str]] = set()
    for event in events:
        check_ag_ui(event)
        assert {name: event["metadata"][name] for name in stamp} == stamp
        kind = event["type"]
        if kind in _OPENED:
            opened.add((kind, event[_OPENED[kind]]))
        elif kind in _CONTENT_OF:
            assert (_CONTENT_OF[kind][0], event[_CONTENT_OF[kind][1]]) in opened
        elif kind in _CLOSED_BY:
            opener, name = _CLOSED_BY[kind]
            opened.remove((opener, event[name]))
    assert not opened, f"left open: {opened}"


def check_numbered(events: Iterable[Json]) -> None:
    """Check that sequence numbers grow by one."""
    numbers = [event["metadata"]["seq"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def text_of(events: Iterable[Json]) -> str:
    """The text streamed in the events."""
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


def select_sequenced(events: Iterable[Json]) -> list[Json]:
    """Return the events of the thread's sequence, without acknowledgements, heartbeats and snapshots of a resume."""
    return [event for event in events if "seq" in event.get("metadata", {})]

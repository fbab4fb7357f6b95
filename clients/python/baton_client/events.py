"""The events of a run: AG-UI's own models, by the package that the protocol publishes, and what Baton adds.

Baton's numbers are in an event's ``metadata``: ``seq``, ``runId``, ``threadId``, ``attempt``. An event of a type that
this version does not know is an ``UnknownEvent``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    Event,
    EventType,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic import TypeAdapter, ValidationError

from baton_client.errors import UnexpectedAnswerError

__all__ = [
    "ActivityDeltaEvent",
    "ActivitySnapshotEvent",
    "AnyEvent",
    "CustomEvent",
    "Event",
    "EventType",
    "MessagesSnapshotEvent",
    "ReasoningEndEvent",
    "ReasoningMessageContentEvent",
    "ReasoningMessageEndEvent",
    "ReasoningMessageStartEvent",
    "ReasoningStartEvent",
    "Received",
    "RunErrorEvent",
    "RunFinishedEvent",
    "RunStartedEvent",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "SubagentErrorEvent",
    "SubagentFinishedEvent",
    "SubagentStartedEvent",
    "TextMessageContentEvent",
    "TextMessageEndEvent",
    "TextMessageStartEvent",
    "ToolCallArgsEvent",
    "ToolCallEndEvent",
    "ToolCallResultEvent",
    "ToolCallStartEvent",
    "UnknownEvent",
    "metadata_of",
    "parse_event",
    "seq_of",
]

_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
_TYPES = frozenset(event_type.value for event_type in EventType)
ESSENTIAL = frozenset({EventType.TEXT_MESSAGE_CONTENT, EventType.RUN_FINISHED, EventType.RUN_ERROR})
"""Events without which nobody knows what was said or how it ended. Others may have changed in a later server."""
DELIVERED = "delivered"
"""The outcome of a run whose message people answer. AG-UI's models allow no such outcome."""
MAX_SHOWN = 200
"""The most characters of a wrong event that an error repeats."""


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event that this version of the client does not know, or knows in another form."""

    type: str
    metadata: dict[str, Any] | None = None
    raw: dict[str, Any] = field(default_factory=dict)
    """The event as it was sent."""


AnyEvent = Event | UnknownEvent


@dataclass(frozen=True, slots=True)
class Received:
    """An event, and the JSON text in which it was sent."""

    event: AnyEvent
    data: str


def parse_event(data: str) -> AnyEvent:
    """Return the event in a server-sent event's ``data``. Raises ``UnexpectedAnswerError`` if it is not an event."""
    try:
        raw = json.loads(data)
    except ValueError as problem:
        raise UnexpectedAnswerError(f"An event of the stream is not JSON: {data[:MAX_SHOWN]!r}.") from problem
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise UnexpectedAnswerError(f"An event of the stream has no type: {data[:MAX_SHOWN]!r}.")
    metadata = raw.get("metadata")
    if raw["type"] == EventType.RUN_FINISHED and raw.get("outcome") == {"type": DELIVERED}:
        raw = _move_outcome(raw)
        metadata = raw["metadata"]
    if raw["type"] not in _TYPES:
        return UnknownEvent(raw["type"], metadata if isinstance(metadata, dict) else None, raw)
    try:
        return _EVENTS.validate_python(raw)
    except ValidationError as problem:
        if raw["type"] not in ESSENTIAL:
            return UnknownEvent(raw["type"], metadata if isinstance(metadata, dict) else None, raw)
        wrong = problem.errors(include_url=False)[0]["msg"]
        raise UnexpectedAnswerError(f"A {raw['type']} event is not as AG-UI describes it: {wrong}.") from problem


def _move_outcome(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the end of a run whose message people answer as AG-UI has it: the outcome is in the metadata."""
    others = {name: value for name, value in raw.items() if name != "outcome"}
    return {**others, "metadata": {**(raw.get("metadata") or {}), "outcome": DELIVERED}}


def metadata_of(event: AnyEvent) -> dict[str, Any]:
    """Return the metadata that Baton adds to an event; empty if there are none."""
    metadata = event.metadata if isinstance(event, BaseEvent | UnknownEvent) else None
    return metadata or {}


def seq_of(event: AnyEvent) -> int | None:
    """Return an event's number in its conversation; ``None`` for an event without a number."""
    seq = metadata_of(event).get("seq")
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else None

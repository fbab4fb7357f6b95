"""AG-UI as clients of its 0.0.5x line speak it: the events they are told, and the messages they send.

Baton's events are AG-UI 1.0 (``domain.events``). The clients of the line before check every event against schemas that
lack some of it, and give the run up at the first one that does not fit. What they do not know is told in their own
words, event for event, so that the numbers stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from baton.domain.content import FILE_ID, FILE_PROVIDER
from baton.domain.events import Event
from baton.domain.interrupt import APPROVAL

Json = dict[str, Any]
Tell = Callable[[Event], Event]
"""How an event is told to one client."""

KNOWN_EVENTS = frozenset(
    {
        "RUN_STARTED",
        "RUN_FINISHED",
        "RUN_ERROR",
        "STEP_STARTED",
        "STEP_FINISHED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "MESSAGES_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
        "CUSTOM",
    }
)
"""What both lines know. 0.0.58 ends a run at any other type."""

TOOL_CALL = "tool_call"
"""Why a run waits for an approval, in the word by which clients of that line find the call to put the question to."""

_VERSION = re.compile(r"(\d+)\.\d+", re.ASCII)
_FILE_URL = re.compile(rf"{FILE_PROVIDER}:({FILE_ID.pattern})")


def how_to_tell(protocol_version: str | None) -> Tell:
    """How events are told to a client that sends this ``protocolVersion``, or none.

    Clients of the 1.x line send one with every run; those before it have none to send. One that cannot be read is a
    later one's (AG-UI's rules on versions).
    """
    if protocol_version is None:
        return in_older_words
    version = _VERSION.fullmatch(protocol_version)
    return in_older_words if version is not None and int(version[1]) < 1 else as_it_is


def as_it_is(event: Event) -> Event:
    """The event in the words of AG-UI 1.0."""
    return event


def in_older_words(event: Event) -> Event:
    """The event as the 0.0.5x line knows it; one that it lacks is CUSTOM, under its name in lower case."""
    body = event.body
    if event.type not in KNOWN_EVENTS:
        return replace(event, body=_custom(body))
    change = _CHANGES.get(event.type)
    return event if change is None else replace(event, body=change(body))


def _custom(body: Json) -> Json:
    value = {name: value for name, value in body.items() if name not in ("type", "metadata")}
    metadata = {"metadata": body["metadata"]} if "metadata" in body else {}
    return {"type": "CUSTOM", "name": str(body["type"]).lower(), "value": value, **metadata}


def _run_started(body: Json) -> Json:
    if "input" not in body:
        return body
    # All of these must be there in that line, also where there is nothing to say.
    whole = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, **body["input"]}
    return {**body, "input": {**whole, "messages": [_message(each) for each in whole["messages"]]}}


def _run_finished(body: Json) -> Json:
    outcome = body.get("outcome")
    match outcome:
        case None | {"type": "success"}:
            return body
        case {"type": "interrupt", "interrupts": interrupts}:
            return {**body, "outcome": {"type": "interrupt", "interrupts": [_interrupt(each) for each in interrupts]}}
    # That line knows runs that are over, and runs that wait. What else there is to say is the run's result.
    return {
        **{name: value for name, value in body.items() if name != "outcome"},
        "result": {"outcome": outcome["type"]},
    }


def _interrupt(interrupt: Json) -> Json:
    return {**interrupt, "reason": TOOL_CALL} if interrupt["reason"] == APPROVAL else interrupt


def _messages_snapshot(body: Json) -> Json:
    return {**body, "messages": [_message(each) for each in body["messages"]]}


def _message(message: Json) -> Json:
    content = message.get("content")
    return {**message, "content": [_part(each) for each in content]} if isinstance(content, list) else message


def _part(part: Json) -> Json:
    match part:
        case {"source": {"type": "file", "value": value, **rest}}:
            # That line has data and addresses only. This is an address that ``upgraded`` reads back.
            others = {name: value for name, value in rest.items() if name != "provider"}
            return {**part, "source": {"type": "url", "value": f"{FILE_PROVIDER}:{value}", **others}}
    return part


_CHANGES: Mapping[str, Callable[[Json], Json]] = {
    "RUN_STARTED": _run_started,
    "RUN_FINISHED": _run_finished,
    "MESSAGES_SNAPSHOT": _messages_snapshot,
}


def upgraded(message: Json) -> Json:
    """A message that a client sends, with those parts of its content in AG-UI 1.0 that 1.0 has no longer."""
    content = message.get("content")
    return {**message, "content": [_upgraded_part(each) for each in content]} if isinstance(content, list) else message


def _upgraded_part(part: Any) -> Any:
    match part:
        case {"type": "binary", "mimeType": str(mime_type)}:
            return _media_part(part, mime_type)
        case {"source": {"type": "url", "value": str(value), **rest}} if file := _FILE_URL.fullmatch(value):
            return {**part, "source": {"type": "file", "value": file[1], "provider": FILE_PROVIDER, **rest}}
    return part


_PROVIDER = {"id": {"provider": FILE_PROVIDER}}
"""An id can only be an upload's."""


def _media_part(part: Json, mime_type: str) -> Json:
    """What became of 0.0.5x's ``binary``: an image, document, audio or video."""
    kind = mime_type.partition("/")[0]
    named = {"filename": part["filename"]} if part.get("filename") else None
    for field, source in (("data", "data"), ("url", "url"), ("id", "file")):
        if part.get(field):
            return {
                "type": kind if kind in ("image", "audio", "video") else "document",
                "source": {"type": source, "value": part[field], "mimeType": mime_type, **_PROVIDER.get(field, {})},
                "metadata": named,
            }
    return part

"""Conversions of events for front ends: calls of the front ends' tools, and older versions of AG-UI."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from baton.domain.runs.interrupt import APPROVAL, CLIENT_TOOL
from baton.domain.threads.content import FILE_ID, FILE_PROVIDER
from baton.domain.threads.events import Event
from baton_documents.media_types import MediaType

TOOL_RESULT = "tool_call_result"
"""The name of the CUSTOM event in place of a result that the client has sent itself. It does not repeat the result."""


def make_front_end_conversion(convert: Convert, answered: Collection[str] = ()) -> Convert:
    """Return a conversion that adapts events to AG-UI's clients and then applies ``convert``.

    ``answered`` are the ids of calls whose results are in the request. The client has messages with them already.
    """

    def to_client(event: Event) -> Event:
        body = event.body
        match body:
            case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}:
                return convert(replace(event, body=_split_interrupts(body, interrupts)))
            case {"type": "RUN_FINISHED", "outcome": {"type": "delivered" as outcome}}:
                # AG-UI has no such outcome. Clients of 1.0 remove it, and clients of 0.0.5x end the run with an error.
                return convert(
                    replace(event, body=body | {"metadata": {**body.get("metadata", {}), "outcome": outcome}})
                )
            case {"type": "TOOL_CALL_RESULT", "toolCallId": call_id} if call_id in answered:
                value = {"toolCallId": call_id, "messageId": body["messageId"]}
                metadata = body.get("metadata", {})
                result = {"type": "CUSTOM", "name": TOOL_RESULT, "value": value, "metadata": metadata}
                return convert(replace(event, body=result))
        return convert(event)

    return to_client


def _split_interrupts(body: dict[str, Any], interrupts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the end of a run with only the interrupts for people. Calls of the client's tools are in its metadata.

    Without interrupts for people there is no ``outcome``, because after ``success`` assistant-ui would not send the
    results of the calls.
    """
    waiting = [interrupt for interrupt in interrupts if interrupt["reason"] == CLIENT_TOOL]
    if not waiting:
        return body
    questions = [interrupt for interrupt in interrupts if interrupt["reason"] != CLIENT_TOOL]
    finished = {name: value for name, value in body.items() if name != "outcome"}
    outcome = {"outcome": {"type": "interrupt", "interrupts": questions}} if questions else {}
    return {**finished, **outcome, "metadata": {**body.get("metadata", {}), "clientTools": waiting}}


Json = dict[str, Any]
Convert = Callable[[Event], Event]
"""Converts an event for one client."""

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
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    }
)
"""Event types of both versions. Clients of 0.0.58 abort a run if they get an event of another type."""

TOOL_CALL = "tool_call"
"""The reason of an interrupt by which clients of 0.0.5x recognise an approval of a call."""

_VERSION = re.compile(r"(\d+)\.\d+", re.ASCII)
_FILE_URL = re.compile(rf"{FILE_PROVIDER}:({FILE_ID.pattern})")


def select_conversion(protocol_version: str | None) -> Convert:
    """Return the conversion of events for a client with this ``protocolVersion``; None if it sends none.

    Clients of 1.x send the version with every run; older clients do not. By AG-UI's rules, an unreadable version is a
    later version.
    """
    if protocol_version is None:
        return downgrade
    version = _VERSION.fullmatch(protocol_version)
    return downgrade if version is not None and int(version[1]) < 1 else keep


def keep(event: Event) -> Event:
    """Return the event unchanged, as AG-UI 1.0."""
    return event


def downgrade(event: Event) -> Event:
    """Return the event for clients of 0.0.5x. Types that they do not know become CUSTOM, with the type as its name."""
    body = event.body
    if event.type not in KNOWN_EVENTS:
        return replace(event, body=_to_custom(body))
    change = _CONVERSIONS.get(event.type)
    return event if change is None else replace(event, body=change(body))


def _to_custom(body: Json) -> Json:
    value = {name: value for name, value in body.items() if name not in ("type", "metadata")}
    metadata = {"metadata": body["metadata"]} if "metadata" in body else {}
    return {"type": "CUSTOM", "name": str(body["type"]).lower(), "value": value, **metadata}


def _convert_run_started(body: Json) -> Json:
    if "input" not in body:
        return body
    # 0.0.5x requires all of these fields, even if they are empty.
    run_input = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, **body["input"]}
    messages = [_convert_message(message, _convert_part) for message in run_input["messages"]]
    return {**body, "input": {**run_input, "messages": messages}}


def _convert_run_finished(body: Json) -> Json:
    outcome = body.get("outcome")
    match outcome:
        case None | {"type": "success"}:
            return body
        case {"type": "delivered"}:
            return {**body, "outcome": {"type": "success"}}
        case {"type": "interrupt", "interrupts": interrupts}:
            changed = [item | {"reason": TOOL_CALL} if item["reason"] == APPROVAL else item for item in interrupts]
            return {**body, "outcome": {"type": "interrupt", "interrupts": changed}}
    # 0.0.5x has only finished and interrupted runs. Other outcomes become the run's result.
    finished = {name: value for name, value in body.items() if name != "outcome"}
    return {**finished, "result": {"outcome": outcome["type"]}}


def _convert_message(message: Json, convert_part: Callable[[Any], Any]) -> Json:
    content = message.get("content")
    return {**message, "content": [convert_part(part) for part in content]} if isinstance(content, list) else message


def _convert_part(part: Json) -> Json:
    match part:
        case {"source": {"type": "file", "value": value, **rest}}:
            # 0.0.5x has only data and addresses. ``upgrade`` converts this address back.
            others = {name: value for name, value in rest.items() if name != "provider"}
            return {**part, "source": {"type": "url", "value": f"{FILE_PROVIDER}:{value}", **others}}
    return part


_CONVERSIONS: Mapping[str, Callable[[Json], Json]] = {
    "RUN_STARTED": _convert_run_started,
    "RUN_FINISHED": _convert_run_finished,
    "MESSAGES_SNAPSHOT": lambda body: {
        **body,
        "messages": [_convert_message(message, _convert_part) for message in body["messages"]],
    },
}


def upgrade(message: Json) -> Json:
    """Convert a client's message to AG-UI 1.0, including content parts that exist only in 0.0.5x."""
    return _convert_message(message, _upgrade_part)


def _upgrade_part(part: Any) -> Any:
    match part:
        case {"type": "binary", "mimeType": str(mime_type)}:
            return _to_media_part(part, mime_type)
        case {"source": {"type": "url", "value": str(value), **rest}} if file := _FILE_URL.fullmatch(value):
            return {**part, "source": {"type": "file", "value": file[1], "provider": FILE_PROVIDER, **rest}}
    return part


_PROVIDER = {"id": {"provider": FILE_PROVIDER}}
"""The provider of parts with an id, which are uploads."""


def _to_media_part(part: Json, mime_type: str) -> Json:
    """Convert a ``binary`` part of 0.0.5x to an image, document, audio or video."""
    kind = MediaType.parse(mime_type).kind
    named = {"filename": part["filename"]} if part.get("filename") else None
    for field, source in (("data", "data"), ("url", "url"), ("id", "file")):
        if part.get(field):
            return {
                "type": kind if kind in ("image", "audio", "video") else "document",
                "source": {"type": source, "value": part[field], "mimeType": mime_type, **_PROVIDER.get(field, {})},
                "metadata": named,
            }
    return part

"""Show calls of the client's tools as AG-UI's clients expect them over HTTP.

In Baton's own events they are interrupts, beside approvals. AG-UI's clients run the call that has no result when the
run has finished, and send the result as a tool message. They refuse to go on from an interrupt without ``resume``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from baton.api.older_clients import Convert
from baton.domain.events import Event
from baton.domain.interrupt import CLIENT_TOOL

TOOL_RESULT = "tool_call_result"
"""The name of the CUSTOM event with a result that the client has sent itself."""


def for_front_ends(convert: Convert, brought: Collection[str] = ()) -> Convert:
    """Return the conversion for AG-UI's clients, before ``convert``.

    ``brought`` are the ids of calls whose results the request has brought. The client has messages with them already.
    """

    def converted(event: Event) -> Event:
        body = event.body
        match body:
            case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}:
                return convert(replace(event, body=_finished(body, interrupts)))
            case {"type": "TOOL_CALL_RESULT", "toolCallId": call_id} if call_id in brought:
                return convert(replace(event, body=_own_result(body)))
        return convert(event)

    return converted


def _finished(body: dict[str, Any], interrupts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the end of a run with the interrupts for people only; the others stand in its metadata.

    Without any there is no ``outcome``: with ``success``, assistant-ui takes the calls for done and does not go on.
    """
    waiting = [each for each in interrupts if each["reason"] == CLIENT_TOOL]
    if not waiting:
        return body
    asked = [each for each in interrupts if each["reason"] != CLIENT_TOOL]
    ended = {name: value for name, value in body.items() if name != "outcome"}
    outcome = {"outcome": {"type": "interrupt", "interrupts": asked}} if asked else {}
    return {**ended, **outcome, "metadata": {**body.get("metadata", {}), "clientTools": waiting}}


def _own_result(body: dict[str, Any]) -> dict[str, Any]:
    value = {"toolCallId": body["toolCallId"], "messageId": body["messageId"]}
    return {"type": "CUSTOM", "name": TOOL_RESULT, "value": value, "metadata": body.get("metadata", {})}

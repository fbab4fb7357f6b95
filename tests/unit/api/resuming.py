"""Requests that answer interrupts."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.unit.api.served import Served

APPROVED = {"approved": True}


def resume(served: Served, *interrupts: dict[str, Any], payload: Any = APPROVED) -> dict[str, Any]:
    """The body that answers interrupts."""
    answers = [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload} for interrupt in interrupts]
    nothing: dict[str, Any] = {"messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": served.harness.thread_id, "runId": "r-2", "resume": answers} | nothing


def events_of(answer: httpx.Response) -> list[Any]:
    """The events of a stream."""
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n") if line.startswith("data: ")]

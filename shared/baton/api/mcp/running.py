"""The progress and the cancellation of a turn that a tool call over MCP has begun."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from baton.api.mcp.access import McpCaller
from baton.api.runs.background_turn import BackgroundTurn
from baton.domain.errors import StoreUnavailable, ThreadUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import Event
from baton.domain.threads.turn_requests import TurnRequest
from baton.ports.threads.run_records import McpCall

logger = Logger(child=True)


async def cancel(caller: McpCaller, request: TurnRequest, turn: BackgroundTurn[Any]) -> None:
    """Wait until the run of a call has begun, and cancel the run unless it is over. A failure is logged and counted."""
    await turn.wait_for_start()
    if turn.is_over:
        return
    try:
        await caller.app.controls.cancel(caller.scope, request.thread.id, request.run_id)
    except Exception:
        logger.exception("a run was not cancelled")
        count(Metric.RUNS_NOT_STOPPED)


MAX_CHARS = 300
"""Characters of a sentence that reports progress."""


def to_progress(event: Event) -> str | None:
    """Return the sentence that reports an event; None for events that are not a step of the work."""
    body = event.body
    match event.type:
        case "TEXT_MESSAGE_START":
            text = f"{body.get('name') or 'The agent'} is answering."
        case "TOOL_CALL_START":
            text = f"Using {body.get('toolCallName')}."
        case "STEP_STARTED":
            text = f"Step: {body.get('stepName')}."
        case "ACTIVITY_SNAPSHOT":
            content = body.get("content")
            label = content.get("label") if isinstance(content, dict) else None
            text = label if isinstance(label, str) else ""
        case _:
            return None
    return text[:MAX_CHARS] or None


MAX_REQUEST_ID = 256
"""Characters of a request id, as JSON. Calls with longer ids cannot be cancelled."""


async def note_call(caller: McpCaller, request_id: Any, request: TurnRequest) -> None:
    """Store the run that a call begins, so that another process can cancel it.

    Nothing is stored without a session, or for a request id that is too long. A failure is logged and counted.
    """
    key = _to_key(request_id)
    if caller.session_id is None or key is None:
        return
    try:
        call = McpCall(caller.session_id, key, request.thread.id, request.run_id)
        await caller.app.ports.mcp_calls.note_begun(caller.scope, call)
    except StoreUnavailable:
        logger.warning("a call cannot be cancelled, because it could not be noted")
        count(Metric.RUNS_NOT_STOPPED)


async def cancel_named(caller: McpCaller, message: Mapping[str, Any]) -> None:
    """Cancel the run of the call that ``message`` names if it is ``notifications/cancelled``.

    The notification may reach another process than the call. It is ignored, as the protocol permits, if the call is
    unknown or has ended.
    """
    if message.get("method") != "notifications/cancelled" or "id" in message or caller.session_id is None:
        return
    params = message.get("params")
    key = _to_key(params.get("requestId")) if isinstance(params, dict) else None
    if key is None:
        return
    try:
        call = await caller.app.ports.mcp_calls.find(caller.scope, caller.session_id, key)
        if call is not None:
            await caller.app.controls.cancel(caller.scope, call.thread_id, call.run_id)
    except ThreadUnavailable:
        return  # the thread was deleted meanwhile, with its run
    except StoreUnavailable:
        logger.warning("a call was not cancelled")
        count(Metric.RUNS_NOT_STOPPED)


def _to_key(request_id: Any) -> str | None:
    """Return a request id as JSON; None for a value that is no valid id, or too long."""
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return None
    if isinstance(request_id, int) and not -(2**63) <= request_id < 2**63:
        return None
    key = json.dumps(request_id)
    return key if len(key) <= MAX_REQUEST_ID else None

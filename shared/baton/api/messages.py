"""POST /v1/messages: one message, one answer, no stream."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter

from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.runs import TURN_ERRORS, TURN_SECONDS
from baton.api.schemas import MessageAnswer, MessageRequest
from baton.api.services import ApiServices, Services
from baton.conversation.requests import message_request
from baton.conversation.run import FinishedRun
from baton.domain.errors import (
    ModelError,
    ThreadBusy,
    error_from_code,
)
from baton.domain.message import OutcomeType, RunEnd
from baton.domain.thread import thread_state
from baton.domain.usage import Usage

router = APIRouter(tags=["messages"])


@router.post(
    "/messages",
    summary="Send a message and wait for the answer",
    response_model=MessageAnswer,
    responses=responses(*TURN_ERRORS, ModelError, ThreadBusy),
)
async def send_message(scope: Caller, services: Services, message: MessageRequest) -> dict[str, Any]:
    """Answer one message and return the turn's messages.

    The same `messageId` again gives the same answer, without a second turn. A model failure is a 502 problem.
    """
    asked = message_request(
        scope,
        thread_id=message.session_id,
        message_id=message.message_id if message.message_id is not None else services.clock.new_id(),
        content=message.message,
        agent_id=message.agent_id,
    )
    # Shielded: a caller that hangs up must not stop the turn it has begun.
    finished = await asyncio.shield(
        asyncio.ensure_future(services.turns.run(scope, asked, lambda event: None, seconds=TURN_SECONDS))
    )
    return _answer(services, finished)


def _answer(services: ApiServices, finished: FinishedRun) -> dict[str, Any]:
    last = finished.messages[-1]
    end = last.end
    if end is not None and end.outcome is OutcomeType.ERROR:
        raise error_from_code(end.error_code or "", end.error_detail)
    thread = finished.thread
    return {
        "sessionId": thread.id,
        "runId": last.run_id,
        "messages": [
            message.as_ag_ui().model_dump(by_alias=True, mode="json")
            for message in finished.messages
            if message.is_said
        ],
        "state": thread_state(services.agents.describe, thread),
        "usage": (end.usage if end else Usage()).as_json(),
        "outcome": _outcome(end),
    }


def _outcome(end: RunEnd | None) -> dict[str, Any]:
    """How the run ended, as RUN_FINISHED tells it."""
    if end is None or end.outcome is not OutcomeType.INTERRUPT:
        return {"type": end.outcome.value if end else OutcomeType.SUCCESS.value}
    interrupts = [each.as_ag_ui().model_dump(by_alias=True, mode="json", exclude_none=True) for each in end.interrupts]
    return {"type": end.outcome.value, "interrupts": interrupts}

"""POST /v1/messages: one message, one answer, no stream."""

from __future__ import annotations

from fastapi import APIRouter

from baton.api.answers import whole_answer
from baton.api.authentication import Caller
from baton.api.dependencies import UseCases
from baton.api.problems import responses
from baton.api.runs import BRANCH_ERRORS, TURN_ERRORS
from baton.api.schemas import MessageAnswer, MessageRequest
from baton.domain.errors import ModelError, ThreadBusy
from baton.requests.parsing import message_request

router = APIRouter(tags=["messages"])


@router.post(
    "/messages",
    summary="Send a message and wait for the answer",
    response_model_exclude_unset=True,
    responses=responses(*TURN_ERRORS, *BRANCH_ERRORS, ModelError, ThreadBusy),
)
async def send_message(scope: Caller, app: UseCases, message: MessageRequest) -> MessageAnswer:
    """Answer one message and return the turn's messages.

    `branch` answers an earlier message again, or replaces it by this one. A repeated `messageId` gets the same answer,
    without a second turn. A model failure is a 502 problem.
    """
    asked = message_request(
        scope,
        thread_id=message.session_id,
        message_id=message.message_id if message.message_id is not None else app.ports.clock.new_id(),
        content=message.message,
        agent_id=message.agent_id,
        branch=message.branch,
        content_field="message",
        time_zone=message.time_zone,
    )
    return await whole_answer(app, scope, asked)

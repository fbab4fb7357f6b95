"""The route POST /v1/messages, and turns whose messages are returned as one response."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from fastapi import APIRouter

from baton.api.http.dependencies import Caller, UseCases
from baton.api.http.problems import responses
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.runs import BRANCH_ERRORS, TURN_ERRORS, TURN_SECONDS
from baton.api.threads.message_schemas import Message, MessageAnswer, SentMessageRequest
from baton.composition.app import App
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import find_result
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread_state import describe_thread_state
from baton.domain.threads.turn_requests import TurnRequest
from baton.threads.requests.parsing import parse_locale, parse_message_request
from baton.turns.finished_runs import FinishedRun

router = APIRouter(prefix="/v1", tags=["messages"])


@router.post(
    "/messages",
    summary="Send a message and wait for the answer",
    response_model_exclude_unset=True,
    responses=responses(TURN_ERRORS, BRANCH_ERRORS, "model_error thread_busy"),
)
async def send_message(scope: Caller, app: UseCases, message: SentMessageRequest) -> MessageAnswer:
    """Answer one message and return the turn's messages.

    `branch` answers an earlier message again, or replaces it by this message. A message that enters the run in progress
    (`whileBusy`) gets the messages of that run. A repeated `messageId` gets the same answer, without a second turn. A
    failure of the model is a 502 problem.
    """
    scope = scope.in_language(parse_locale(message.locale))
    request = parse_message_request(
        scope,
        thread_id=message.session_id,
        message_id=message.message_id if message.message_id is not None else app.ports.clock.new_id(),
        content=message.message,
        agent_id=message.agent_id,
        branch=message.branch,
        content_field="message",
        time_zone=message.time_zone,
        while_busy=message.while_busy,
        over_spending=message.over_spending,
    )
    return await run_and_answer(app, scope, request)


async def run_and_answer(app: App, scope: Scope, turn: TurnRequest) -> MessageAnswer:
    """Run the turn and return its messages. Raises the error that refuses the turn or with which it ends."""
    return await wait_for_answer(app, scope, app.turns.run(scope, turn, lambda event: None, seconds=TURN_SECONDS))


async def wait_for_answer(app: App, scope: Scope, turn: Coroutine[Any, Any, FinishedRun | None]) -> MessageAnswer:
    """Wait for the turn and return its messages. The turn continues if the caller closes the connection.

    Raises the error that refuses the turn or with which it ends.
    """
    finished = await BackgroundTurn(lambda _: turn).wait_for_result()
    assert finished is not None  # noqa: S101 - only answers to interrupts may end without a run
    last, thread = finished.messages[-1], finished.thread
    end = last.end
    if end is not None and end.outcome is OutcomeType.ERROR:
        raise end.error
    return MessageAnswer(
        session_id=thread.id,
        run_id=last.run_id,
        messages=[Message.from_record(message) for message in finished.messages if message.is_said],
        result=find_result(finished.messages),
        state=describe_thread_state((await app.agents.in_session(scope, thread)).describe, thread),
        usage=end.usage if end else Usage(),
        outcome=_serve_outcome(end),
    )


def _serve_outcome(end: RunEnd | None) -> dict[str, Any]:
    """Return the run's outcome in the form of RUN_FINISHED."""
    if end is None or end.outcome is not OutcomeType.INTERRUPT:
        return {"type": end.outcome.value if end else OutcomeType.SUCCESS.value}
    interrupts = [
        interrupt.as_ag_ui().model_dump(by_alias=True, mode="json", exclude_none=True) for interrupt in end.interrupts
    ]
    return {"type": end.outcome.value, "interrupts": interrupts}

"""The route POST /v1/runs, for AG-UI clients of the versions 1.x and 0.0.5x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from ag_ui.core import RunAgentInput, UserMessage
from fastapi import APIRouter, Body, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import model_validator

from baton.api.http.dependencies import Caller, TokenSeconds, UseCases
from baton.api.http.problems import get_request_id, responses
from baton.api.runs import sse
from baton.api.runs.abandoned_runs import AbandonedRuns
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.front_ends import make_front_end_conversion, select_conversion, upgrade
from baton.api.runs.run_input import (
    add_results,
    make_waiting_events,
    read_results,
    read_results_before,
    select_newest,
    to_request,
)
from baton.domain import errors
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.events import Event
from baton.domain.threads.turn_requests import ClientOffer, DecisionRequest, MessageRequest
from baton.domain.wire_model import RUN_ID, THREAD_ID
from baton.tenants.privacy.readers import sees_all
from baton.threads.outbox.reader_events import ReaderEvents
from baton.threads.requests.parsing import parse_client_offer, parse_locale, parse_message_request, parse_time_zone
from baton.threads.requests.thread_access import audit_read

TURN_SECONDS = 840.0
"""The time limit of a turn: Lambda's fifteen minutes, less the time to commit and to end the stream."""

TURN_ERRORS = (
    "limit_reached thread_unavailable thread_led_by_parent unknown_agent agent_mismatch message_id_conflict"
    " message_too_large unsupported_part nothing_running waits_for_approval queue_full message_withdrawn"
)
"""The errors that refuse a message before its run begins."""

BRANCH_ERRORS = "branch_unavailable branch_crosses_handoff not_regenerable too_many_branches"
"""The errors that refuse to begin a branch."""

RUN_BOUNDARIES = ("RUN_STARTED", *sse.RUN_ENDS)
"""The types of the events at the beginning and end of a run."""

router = APIRouter(prefix="/v1", tags=["runs"])

EXAMPLE = {
    "threadId": THREAD_ID,
    "runId": RUN_ID,
    "state": {},
    "messages": [{"id": "m-1", "role": "user", "content": "What can you do?"}],
    "tools": [],
    "context": [],
    "forwardedProps": {"agentId": "assistant"},
    "protocolVersion": "1.0",
}
STREAM_EXAMPLE = (
    'id: 1\ndata: {"type":"RUN_STARTED","threadId":"550e8400-e29b-41d4-a716-446655440000","runId":"2c5e...","metadata":'
    '{"messageId":"m-1","threadId":"550e8400-e29b-41d4-a716-446655440000","runId":"2c5e...","seq":1,"attempt":1}}\n\n'
)


class RunInput(RunAgentInput):
    """The fields of AG-UI's run input that are read, including those of version 0.0.5x."""

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, raw: Any) -> Any:
        raw = select_newest(raw)
        if not isinstance(raw, dict) or not isinstance(raw.get("messages"), list):
            return raw
        messages = [upgrade(message) if isinstance(message, dict) else message for message in raw["messages"]]
        return {**raw, "messages": messages}


@router.post(
    "/runs",
    summary="Run an agent",
    response_class=StreamingResponse,
    responses={
        200: {"description": "AG-UI events.", "content": {sse.MEDIA_TYPE: {"example": STREAM_EXAMPLE}}},
        **responses(TURN_ERRORS, BRANCH_ERRORS, "interrupt_unavailable tool_name_taken"),
    },
)
async def run(
    request: Request,
    scope: Caller,
    app: UseCases,
    timing: sse.Timings,
    token_seconds: TokenSeconds,
    run_input: Annotated[RunInput, Body(openapi_examples={"question": {"value": EXAMPLE}})],
) -> Response:
    """Answer the last user message of the input, as a stream of AG-UI events.

    Other messages of the input are ignored, because the store has them. The message's `id` is the idempotency key.
    `forwardedProps.agentId` selects the main agent of a new conversation. The agent's model may call the client's
    `tools`, and its prompt contains the client's `context`, unless the agent's definition forbids it. A run that calls
    such a tool ends; tool messages at the end of `messages` contain the results and continue it. The client's `state`
    is ignored. `resume` answers the interrupts of a run and continues it; only the run's user and holders of
    `tool:approve` may do so. `forwardedProps.branch` answers an earlier message again, or replaces it by this message.
    `forwardedProps.timeZone` is the IANA name of the user's time zone, `forwardedProps.locale` the user's language if
    the token has none. `forwardedProps.whileBusy` selects the treatment of a message that is sent during a run:
    `queue`, `steer` or `interrupt`; the response has the events of the run that the message enters. A client that ends
    its request stops the run, unless it returns within seconds by `GET /v1/threads/{id}/events` or the same request.
    With `forwardedProps.onDisconnect: "continue"` the run continues, and can be followed at any time. Without
    `protocolVersion`, which clients of version 1.x send, the events are valid for version 0.0.5x too.
    """
    tools = [tool.model_dump(by_alias=True, exclude={"metadata"}) for tool in run_input.tools or ()]
    offer = parse_client_offer(tools, [item.model_dump(by_alias=True) for item in run_input.context or ()])
    time_zone = parse_time_zone(_read_property(run_input.forwarded_props, "timeZone"), "forwardedProps.timeZone")
    locale = parse_locale(_read_property(run_input.forwarded_props, "locale"), "forwardedProps.locale")
    scope = scope.in_language(locale)
    begins_branch = _read_property(run_input.forwarded_props, "branch") is not None
    results = [] if begins_branch else read_results(run_input.messages)
    turn: MessageRequest | DecisionRequest
    if run_input.resume or results:
        turn, owner = await to_request(app, scope, run_input, results, offer, _make_message_request)
    else:
        turn, owner = _make_message_request(scope, run_input, offer), scope
    if owner.user_id == scope.user_id:  # the approver of another user's calls may be in another time zone
        turn = replace(turn, time_zone=time_zone)

    is_stopped = _is_stopped_when_left(run_input.forwarded_props)
    abandoned_runs: AbandonedRuns = request.app.state.abandoned_runs
    may_read = owner.user_id == scope.user_id or scope.has(Permission.THREAD_READ_ALL)
    if may_read:
        await audit_read(app.ports.audit, scope, turn.thread.id, owner.user_id, "thread.read")

    run_ids: list[str] = []

    async def run_turn(emit: Callable[[Event], None]) -> None:
        def note_and_emit(event: Event) -> None:
            if event.run_id is not None and not run_ids:
                run_ids.append(event.run_id)  # a repeated message has another run than the request's ``runId``
            # A user who may approve the calls but not read the conversation gets only the run's beginning and end.
            if may_read or event.type in RUN_BOUNDARIES:
                emit(event)

        if await app.turns.run(owner, turn, note_and_emit, seconds=TURN_SECONDS) is None:
            thread = await app.ports.store.get_thread(owner, turn.thread.id)
            for event in make_waiting_events(run_input, thread):
                emit(event)

    answered_ids = {result.tool_call_id for result in (*results, *read_results_before(run_input.messages))}
    convert = make_front_end_conversion(select_conversion(run_input.protocol_version), answered_ids)
    abandoned_runs.note_message(owner, turn.thread.id, turn.message_id)
    reader = None if sees_all(scope, owner.user_id) else ReaderEvents(app.privacy.readers, after=0)
    background_turn = BackgroundTurn(run_turn, get_request_id(request))
    stream = sse.RunStream(background_turn, get_request_id(request), timing, convert, reader)
    frames = await stream.begin(token_seconds)

    async def stop() -> None:
        if not background_turn.is_over:
            await app.controls.cancel(scope, turn.thread.id, run_ids[0] if run_ids else turn.run_id)

    async def stop_later_if_left(_: object) -> None:
        if is_stopped and owner.user_id == scope.user_id and not background_turn.is_over:
            seconds = timing.leaving_seconds
            abandoned_runs.stop_later(scope, turn.thread.id, turn.message_id, stop, seconds=seconds)

    return sse.respond(abandoned_runs.count(owner, turn.thread.id, frames), timing, stop_later_if_left)


def _is_stopped_when_left(props: Any) -> bool:
    choice: object = _read_property(props, "onDisconnect")
    if choice not in (None, "stop", "continue"):
        raise errors.InvalidRequest("forwardedProps.onDisconnect must be 'stop' or 'continue'.")
    return choice != "continue"


def _make_message_request(scope: Scope, run_input: RunAgentInput, offer: ClientOffer | None) -> MessageRequest:
    branch = _read_property(run_input.forwarded_props, "branch")
    if isinstance(branch, dict) and branch.get("regenerate") is True:
        # There is no new message. The id of the last user message would be that of an earlier turn.
        message_id = branch.get("messageId")
        return parse_message_request(
            scope,
            thread_id=run_input.thread_id,
            message_id=run_input.run_id if message_id is None else message_id,
            content=None,
            over_spending=_read_property(run_input.forwarded_props, "overSpending"),
            run_id=run_input.run_id,
            branch=branch,
            client=offer,
        )
    message = next((message for message in reversed(run_input.messages) if isinstance(message, UserMessage)), None)
    if message is None:
        raise errors.InvalidRequest("messages must hold a user message; its id is the idempotency key.")
    parts = message.content
    return parse_message_request(
        scope,
        thread_id=run_input.thread_id,
        message_id=message.id,
        content=parts if isinstance(parts, str) else [part.model_dump(by_alias=True) for part in parts],
        agent_id=_read_property(run_input.forwarded_props, "agentId"),
        while_busy=_read_property(run_input.forwarded_props, "whileBusy"),
        over_spending=_read_property(run_input.forwarded_props, "overSpending"),
        run_id=run_input.run_id,
        branch=branch,
        client=add_results(offer, scope, read_results_before(run_input.messages)),
    )


def _read_property(props: Any, name: str) -> Any:
    """Return a property of ``forwardedProps`` or of its ``runConfig``, in which assistant-ui passes them; else None."""
    if not isinstance(props, dict):
        return None
    nested = props.get("runConfig")
    return props.get(name) if props.get(name) is not None or not isinstance(nested, dict) else nested.get(name)

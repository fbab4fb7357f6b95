"""Routes of users' requests that are not messages: cancel, exit, continue, close, and rate an answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request

from baton.api.http.dependencies import Caller, MessageId, ThreadId, UseCases
from baton.api.http.problems import get_request_id, responses
from baton.api.threads.message_schemas import FeedbackRequest, MessageAnswer, RatedMessage
from baton.api.threads.messages import run_and_answer
from baton.api.threads.thread_schemas import CancelAnswer, CancelRequest, CloseAnswer, ContinueRequest
from baton.domain.tenants.identity import resolve_thread_ref
from baton.domain.threads.feedback import Rating, parse_comment
from baton.threads.desks.desk_access import make_person
from baton.threads.requests.parsing import parse_run_id
from baton.threads.sessions.sessions import ClosedThread

router = APIRouter(prefix="/v1/threads/{thread_id}", tags=["threads"])


@router.post("/cancel", summary="Stop the running turn", status_code=202)
async def cancel(
    thread_id: ThreadId, scope: Caller, app: UseCases, body: Annotated[CancelRequest | None, Body(title="Asked")] = None
) -> CancelAnswer:
    """Stop the running turn, or the run named by `runId`. The streamed text is kept and marked as cancelled.

    If no run is in progress, nothing happens, and `runId` is null.
    """
    canonical = resolve_thread_ref(scope, thread_id).id
    named_run_id = parse_run_id(body.run_id if body else None)
    return CancelAnswer(thread_id=canonical, run_id=await app.controls.cancel(scope, canonical, named_run_id))


@router.post(
    "/exit",
    summary="Leave the specialist",
    response_model_exclude_unset=True,
    responses=responses("not_in_handoff thread_busy store_unavailable"),
)
async def exit_specialist(request: Request, thread_id: ThreadId, scope: Caller, app: UseCases) -> MessageAnswer:
    """Return to the main agent at once, in a turn that calls no model, and return the turn's messages.

    The specialist's answer in progress is stopped. Its workflow can be continued later.
    """
    canonical = resolve_thread_ref(scope, thread_id).id
    action_request = await app.controls.request_exit(scope, canonical, request_id=get_request_id(request))
    return await run_and_answer(app, scope, action_request)


@router.post(
    "/continue",
    summary="Continue a workflow",
    response_model_exclude_unset=True,
    responses=responses(
        "thread_led_by_parent unknown_agent workflow_unavailable handoff_in_progress "
        "model_error thread_busy store_unavailable"
    ),
)
async def continue_workflow(thread_id: ThreadId, scope: Caller, app: UseCases, body: ContinueRequest) -> MessageAnswer:
    """Continue one of the caller's unfinished workflows in this conversation, and return the turn's messages.

    The workflow may have begun in any conversation. A new conversation begins with the default agent.
    """
    request = await app.controls.request_continue(scope, resolve_thread_ref(scope, thread_id), body.workflow_id)
    return await run_and_answer(app, scope, request)


@router.post("/close", summary="End the session", status_code=202, responses=responses("store_unavailable"))
async def close(request: Request, thread_id: ThreadId, scope: Caller, app: UseCases) -> CloseAnswer:
    """Close the conversation after its running and queued turns, and start the closing of its episode.

    A repeated request gets the same answer. `episodeId` is null if the session has no messages. A closed conversation
    can be read; a message reopens it. The person of a desk who has taken the conversation can close it too.
    """
    canonical = resolve_thread_ref(scope, thread_id).id
    taken, closed_by = await app.desk_access.find_taken_conversation(scope, canonical), None
    if taken is not None:
        detail = {"deskId": taken.desk.id, "userId": taken.thread.user_id}
        await app.ports.audit.record(scope, "thread.close", thread_id=canonical, outcome="requested", detail=detail)
        scope, closed_by = taken.owner, make_person(scope)
    elif (episode_id := await app.desk_access.find_closed_episode_id(scope, canonical)) is not None:
        return CloseAnswer.of(ClosedThread(canonical, episode_id))
    closing = app.controls.close(scope, canonical, request_id=get_request_id(request), closed_by=closed_by)
    return CloseAnswer.of(await closing)


@router.post(
    "/messages/{message_id}/feedback", summary="Rate an answer", responses=responses("not_found store_unavailable")
)
async def rate_answer(
    thread_id: ThreadId, message_id: MessageId, caller: Caller, app: UseCases, body: FeedbackRequest
) -> RatedMessage:
    """Store the caller's rating of an answer in one of the caller's own conversations, with a comment.

    It replaces earlier feedback on the same answer, and is in the list of messages. `none` withdraws the feedback.
    """
    rating = Rating(body.rating) if body.rating != "none" else None
    comment = parse_comment(body.comment)
    rated = await app.sessions.ratings.rate(
        caller, resolve_thread_ref(caller, thread_id).id, message_id, rating, comment
    )
    return RatedMessage.of(rated)

"""Branching a conversation, and merging its result."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body

from baton.api.http.dependencies import Caller, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.runs.runs import TURN_SECONDS
from baton.api.threads.access import readable_thread, serve_thread
from baton.api.threads.message_schemas import MessageAnswer
from baton.api.threads.messages import answer_of
from baton.api.threads.thread_schemas import ForkRequest, MergeRequest, SandboxRequest, ServedThread
from baton.domain.tenants.identity import thread_ref

router = APIRouter(prefix="/v1/threads", tags=["threads"])


@router.post(
    "/{thread_id}/fork",
    summary="Branch a conversation",
    status_code=201,
    responses=responses("unknown_agent thread_busy store_unavailable"),
)
async def fork(thread_id: ThreadId, scope: Caller, app: UseCases, body: ForkRequest) -> ServedThread:
    """Create a conversation with another agent that begins with the last messages of this one.

    Its messages never reach this one by themselves. It is listed under `GET /v1/threads?parentThreadId=` only. Every
    request creates another fork.
    """
    child = await app.forks.fork(
        scope,
        thread_ref(scope, thread_id).id,
        agent_id=body.agent_id,
        include_history_messages=body.include_history_messages,
    )
    return await serve_thread(app, scope, child)


@router.post(
    "/{thread_id}/sandbox",
    summary="Copy a conversation into a sandbox",
    status_code=201,
    responses=responses("not_found unknown_agent thread_busy store_unavailable"),
)
async def make_sandbox(thread_id: ThreadId, scope: Caller, app: UseCases, body: SandboxRequest) -> ServedThread:
    """Create a conversation of the caller's own that begins as this one did up to one of its turns.

    Every reader of a conversation may copy it and continues in the copy as in any fork: it makes no episode, and
    nothing of it reaches this conversation. Without `pii:read`, personal data in it is replaced. It has the newest 200
    messages at most. The agent that answered the turn continues, without its workflow and handoff.
    """
    source = await readable_thread(app, scope, thread_id)
    child = await app.sandboxes.make(scope, source, body.message_id, is_answered=body.include_turn)
    return await serve_thread(app, scope, child)


@router.post(
    "/{thread_id}/merge",
    summary="Merge a fork's answer",
    response_model_exclude_unset=True,
    responses=responses(
        "thread_led_by_parent not_a_fork nothing_to_merge message_too_large thread_busy store_unavailable"
    ),
)
async def merge(
    thread_id: ThreadId, scope: Caller, app: UseCases, body: Annotated[MergeRequest | None, Body(title="Asked")] = None
) -> MessageAnswer:
    """Add this fork's last answer to the conversation it was branched from, and give that turn's messages: one.

    It is a turn of the parent's that asks no model, with the fork's agent as its speaker and `source` `specialist`.
    Repeated, the answer is the same, until the fork has answered something else. The body may be left out.
    """
    canonical = thread_ref(scope, thread_id).id
    return await answer_of(app, scope, app.merges.merge(scope, canonical, seconds=TURN_SECONDS))

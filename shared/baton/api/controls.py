"""Cancel and close, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request

from baton.api.authentication import Caller
from baton.api.problems import request_id, responses
from baton.api.schemas import CancelAnswer, CancelRequest, CloseAnswer
from baton.api.services import Services
from baton.api.threads import ThreadId
from baton.conversation.requests import optional_run_id
from baton.domain.errors import InvalidRequest, StoreUnavailable, ThreadUnavailable, TokenExpired, Unauthorized
from baton.domain.identity import thread_ref

router = APIRouter(prefix="/threads", tags=["threads"])


@router.post(
    "/{thread_id}/cancel",
    summary="Stop the running turn",
    status_code=202,
    response_model=CancelAnswer,
    responses=responses(Unauthorized, TokenExpired, ThreadUnavailable, InvalidRequest),
)
async def cancel(
    thread_id: ThreadId, scope: Caller, services: Services, asked: Annotated[CancelRequest | None, Body()] = None
) -> dict[str, Any]:
    """Stop the running turn, or the run named by `runId`. What was streamed is kept, marked cancelled.

    With nothing running, nothing happens, and `runId` is null.
    """
    canonical = thread_ref(scope, thread_id).id
    named = optional_run_id(asked.run_id if asked else None)
    return {"threadId": canonical, "runId": await services.controls.cancel(scope, canonical, named)}


@router.post(
    "/{thread_id}/close",
    summary="End the session",
    status_code=202,
    response_model=CloseAnswer,
    responses=responses(Unauthorized, TokenExpired, ThreadUnavailable, StoreUnavailable),
)
async def close(request: Request, thread_id: ThreadId, scope: Caller, services: Services) -> dict[str, Any]:
    """Close the conversation after its running and queued turns, and begin its episode.

    Repeated, the answer is the same. `episodeId` is null if nothing had been said since the last end. A closed
    conversation can be read; a message reopens it.
    """
    canonical = thread_ref(scope, thread_id).id
    closed = await services.controls.close(scope, canonical, request_id=request_id(request))
    return closed.as_json()

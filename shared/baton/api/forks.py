"""Fork a conversation."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from baton.api.authentication import Caller
from baton.api.paths import ThreadId
from baton.api.problems import responses
from baton.api.schemas import ForkRequest, Thread
from baton.api.services import Services
from baton.domain.errors import (
    InvalidRequest,
    MalformedJson,
    StoreUnavailable,
    ThreadBusy,
    ThreadUnavailable,
    TokenExpired,
    Unauthorized,
    UnknownAgent,
)
from baton.domain.identity import thread_ref

router = APIRouter(prefix="/threads", tags=["threads"])


@router.post(
    "/{thread_id}/fork",
    summary="Branch a conversation",
    status_code=201,
    response_model=Thread,
    responses=responses(
        MalformedJson,
        Unauthorized,
        TokenExpired,
        ThreadUnavailable,
        UnknownAgent,
        InvalidRequest,
        ThreadBusy,
        StoreUnavailable,
    ),
)
async def fork(thread_id: ThreadId, scope: Caller, services: Services, asked: ForkRequest) -> dict[str, Any]:
    """Create a conversation with another agent that begins with the last messages of this one.

    Its messages never reach this one by themselves. It is listed under `GET /v1/threads?parentThreadId=` only. Every
    request creates another fork.
    """
    child = await services.forks.fork(
        scope,
        thread_ref(scope, thread_id).id,
        agent_id=asked.agent_id,
        include_history_messages=asked.include_history_messages,
    )
    return child.as_json(services.agents.describe)

"""The caller's unfinished workflows."""

from __future__ import annotations

from fastapi import APIRouter

from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.schemas import Listing
from baton.api.services import Services
from baton.domain.errors import TokenExpired, Unauthorized
from baton.domain.thread_state import Workflow, resumable_workflow

router = APIRouter(prefix="/workflows", tags=["workflows"])


@router.get(
    "",
    summary="List unfinished workflows",
    responses=responses(Unauthorized, TokenExpired),
)
async def list_workflows(caller: Caller, services: Services) -> Listing[Workflow]:
    """Return the caller's active and resumable workflows of all conversations, latest change first, on one page.

    `POST /v1/threads/{id}/continue` continues one.
    """
    unfinished = await services.workflows.unfinished(caller)
    describe = (await services.agents.of(caller)).describe
    items = [resumable_workflow(describe, workflow) for workflow, _ in unfinished]
    return Listing[Workflow](items=items, next_cursor=None)

"""The caller's unfinished workflows."""

from __future__ import annotations

from fastapi import APIRouter

from baton.api.authentication import Caller
from baton.api.dependencies import UseCases
from baton.api.schemas import Listing
from baton.domain.thread_state import Workflow, resumable_workflow

router = APIRouter(prefix="/workflows", tags=["workflows"])


@router.get("", summary="List unfinished workflows")
async def list_workflows(caller: Caller, app: UseCases) -> Listing[Workflow]:
    """Return the caller's active and resumable workflows of all conversations, latest change first, on one page.

    `POST /v1/threads/{id}/continue` continues one.
    """
    unfinished = await app.ports.workflows.unfinished(caller)
    describe = (await app.agents.of(caller)).describe
    items = [resumable_workflow(describe, workflow) for workflow, _ in unfinished]
    return Listing[Workflow](items=items, next_cursor=None)

"""The caller's unfinished workflows."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.schemas import Listing, Workflow
from baton.api.services import Services
from baton.domain.errors import TokenExpired, Unauthorized

router = APIRouter(prefix="/workflows", tags=["workflows"])


@router.get(
    "",
    summary="List unfinished workflows",
    response_model=Listing[Workflow],
    responses=responses(Unauthorized, TokenExpired),
)
async def list_workflows(caller: Caller, services: Services) -> dict[str, Any]:
    """Return the caller's active and resumable workflows of all conversations, latest change first, on one page.

    `POST /v1/threads/{id}/continue` continues one.
    """
    unfinished = await services.workflows.unfinished(caller)
    items = []
    for workflow, _ in unfinished:
        agent = services.agents.describe(workflow.agent_id)
        items.append(workflow.as_json(agent.workflow if agent is not None else None))
    return {"items": items, "nextCursor": None}

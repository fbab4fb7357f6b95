"""Evaluations: results that developers publish for the people of their tenant who write agents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from baton.api.agents.evaluation_schemas import EVALUATION_ID, EvaluationRequest, PublishedEvaluation, WholeEvaluation
from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.domain.tenants.identity import Permission

router = APIRouter(prefix="/v1/evaluations", tags=["evaluations"])

EvaluationId = Annotated[str, Path(description="The evaluation's id.", max_length=64, examples=[EVALUATION_ID])]


@router.post(
    "",
    status_code=201,
    summary="Publish an evaluation",
    responses={
        200: {"model": WholeEvaluation, "description": "The stored evaluation, if this one was published before."},
        **responses("forbidden not_found store_unavailable"),
    },
)
async def publish_evaluation(
    body: EvaluationRequest, caller: Caller, app: UseCases, response: Response
) -> WholeEvaluation:
    """Keep the results of an evaluation for 180 days. Needs `agent:write`, is audited.

    Repeated: 200 and the stored evaluation. A tenant has at most 200; the oldest of the publisher with the most make
    room for others.
    """
    caller.require(Permission.AGENT_WRITE, "evaluation.publish")
    entry, details = body.read(caller.user_id)
    evaluation, is_new = await app.evaluations.publish(caller, entry, details)
    if not is_new:
        response.status_code = 200
    return WholeEvaluation.from_record(evaluation)


@router.get("", summary="List evaluations", responses=responses("forbidden store_unavailable"))
async def list_evaluations(
    caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[PublishedEvaluation]:
    """Return the tenant's evaluations, the one that began last first, without metrics and cases."""
    caller.require(Permission.AGENT_WRITE, "evaluation.read")
    entries, next_cursor = await app.ports.evaluations.page(caller, limit=limit, cursor=cursor)
    return Listing[PublishedEvaluation](
        items=[PublishedEvaluation.of(entry) for entry in entries], next_cursor=next_cursor
    )


@router.get(
    "/{evaluation_id}", summary="Read an evaluation", responses=responses("forbidden not_found store_unavailable")
)
async def get_evaluation(evaluation_id: EvaluationId, caller: Caller, app: UseCases) -> WholeEvaluation:
    """Return one evaluation with its metrics and cases. Needs `agent:write`."""
    caller.require(Permission.AGENT_WRITE, "evaluation.read")
    return WholeEvaluation.from_record(await app.evaluations.get(caller, evaluation_id))


@router.delete(
    "/{evaluation_id}",
    status_code=204,
    summary="Delete an evaluation",
    responses=responses("forbidden not_found store_unavailable"),
)
async def delete_evaluation(evaluation_id: EvaluationId, caller: Caller, app: UseCases) -> None:
    """Delete an evaluation. Repeated: the same answer. Needs `agent:write`, is audited."""
    caller.require(Permission.AGENT_WRITE, "evaluation.delete")
    await app.evaluations.remove(caller, evaluation_id)

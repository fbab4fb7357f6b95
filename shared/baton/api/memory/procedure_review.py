"""Review of procedures: what waits for a decision in the whole tenant, and what a version was made of."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.memory.procedure_schemas import ProcedureSourceMessage, ProcedureSourceTurns, ServedProcedure
from baton.api.memory.procedures import PROCEDURE, Agent, ProcedureId, Version
from baton.domain.errors import InvalidRequest
from baton.domain.memory.procedure import REVIEWED, ProcedureStatus
from baton.domain.tenants.identity import Permission
from baton.memory.procedures.procedure_sources import READ

router = APIRouter(prefix="/v1", tags=["procedures"], responses=responses("forbidden store_unavailable"))


@router.get("/procedures", summary="List all agents' procedures")
async def list_all_procedures(
    scope: Caller,
    app: UseCases,
    status: Annotated[ProcedureStatus, Query(description="The status of the versions.")] = ProcedureStatus.PENDING,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ServedProcedure]:
    """Return versions of all agents' procedures in one status, by their last decision, newest first.

    By default what waits for a decision. `offered` lists the private skills that users ask to share, each under its
    maker (`createdBy`). Agents that the caller may not talk to are left out. Needs `procedure:approve`.
    """
    scope.require(Permission.PROCEDURE_APPROVE, "procedure.read")
    agents = (await app.agents.of(scope)).visible(scope)
    if status is ProcedureStatus.OFFERED:
        ids = [agent.id for agent in agents]
        procedures, after = await app.procedures.skills.offered(scope, ids, limit=limit, cursor=cursor)
    elif status in REVIEWED:
        procedures, after = await app.procedures.administration.of_all_agents(
            scope, agents, status, limit=limit, cursor=cursor
        )
    else:
        raise InvalidRequest("status: private skills that are not offered are their makers' own.")
    return Listing[ServedProcedure](
        items=[ServedProcedure.from_record(procedure) for procedure in procedures], next_cursor=after
    )


@router.get(f"{PROCEDURE}/source", summary="Read what a procedure was made of")
async def get_source(
    agent: Agent, procedure_id: ProcedureId, scope: Caller, app: UseCases, version: Version = None
) -> ProcedureSourceTurns:
    """Return the messages and calls of the task that a version was made of, and nothing else of the conversation.

    Needs `procedure:approve`. Personal data of other users is replaced, unless the caller holds `pii:read`. Reading
    another user's conversation is audited.
    """
    scope.require(Permission.PROCEDURE_APPROVE, READ)
    versions = await app.procedures.administration.read(
        scope, agent.id, procedure_id, version=version, limit=1, before=None
    )
    source = versions.shown.source
    turns = await app.procedures.sources.read(scope, source)
    return ProcedureSourceTurns(
        version=versions.shown.version,
        thread_id=source.thread_id if source is not None else None,
        run_id=source.run_id if source is not None else None,
        messages=[ProcedureSourceMessage.of(message) for message in turns.messages],
        missing=turns.missing,
        redacted=turns.is_redacted,
    )

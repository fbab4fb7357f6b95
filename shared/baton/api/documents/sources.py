"""Sources of agents' documents: create, list, follow, refresh, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from baton.api.documents.document_schemas import SOURCE_ID, DeletedSource, SentSourceRequest, ServedSource
from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.threads.access import KnowledgeAgentId, managed_agent
from baton.knowledge.sources import SourceRequest as Request

router = APIRouter(prefix="/v1/agents/{agent_id}/sources", tags=["documents"], responses=responses("forbidden"))

SourceId = Annotated[str, Path(description="The source's id.", max_length=64, examples=[SOURCE_ID])]


@router.post(
    "", summary="Add a source", status_code=201, responses=responses("source_conflict source_refused store_unavailable")
)
async def add_source(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, body: SentSourceRequest
) -> ServedSource:
    """Keep documents up to date from a list of addresses, a sitemap or an S3 prefix. Needs `document:write`.

    It is read for the first time within minutes, and then every `refreshHours`. Pages that are as they were are not
    taken in again; those that are gone are deleted. A repeated request gets the source that is there.
    """
    agent = await managed_agent(app, caller, agent_id, "source.create")
    return ServedSource.from_record(await app.knowledge.sources.create(caller, agent, Request(**body.model_dump())))


@router.get("", summary="List sources")
async def list_sources(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, limit: Limit = 20, cursor: Cursor = None
) -> Listing[ServedSource]:
    """Return the agent's sources, by id. Needs `document:write`."""
    agent = await managed_agent(app, caller, agent_id, "source.list")
    sources, next_cursor = await app.knowledge.sources.of_agent(caller, agent, limit=limit, cursor=cursor)
    return Listing[ServedSource](
        items=[ServedSource.from_record(source) for source in sources], next_cursor=next_cursor
    )


@router.get("/{source_id}", summary="Read a source's status")
async def get_source(agent_id: KnowledgeAgentId, source_id: SourceId, caller: Caller, app: UseCases) -> ServedSource:
    """Return one source, with what its last refresh did and what failed. Needs `document:write`."""
    agent = await managed_agent(app, caller, agent_id, "source.read")
    return ServedSource.from_record(await app.knowledge.sources.get(caller, agent, source_id))


@router.post(
    "/{source_id}/refresh", summary="Refresh a source", status_code=202, responses=responses("store_unavailable")
)
async def refresh_source(
    agent_id: KnowledgeAgentId, source_id: SourceId, caller: Caller, app: UseCases
) -> ServedSource:
    """Have a source read within minutes. One that is being read stays as it is. Needs `document:write`."""
    agent = await managed_agent(app, caller, agent_id, "source.refresh")
    return ServedSource.from_record(await app.knowledge.sources.refresh(caller, agent, source_id))


@router.delete("/{source_id}", summary="Delete a source", status_code=202, responses=responses("store_unavailable"))
async def delete_source(
    agent_id: KnowledgeAgentId, source_id: SourceId, caller: Caller, app: UseCases
) -> DeletedSource:
    """Delete a source. Its documents are deleted within minutes. Needs `document:write`."""
    agent = await managed_agent(app, caller, agent_id, "source.delete")
    return DeletedSource.of(await app.knowledge.sources.delete(caller, agent, source_id))

"""Routes of agents' documents, and of the sources that keep documents up to date."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Path

from baton.api.documents.document_schemas import (
    DOCUMENT_ID,
    SOURCE_ID,
    DeletedDocument,
    DeletedSource,
    DocumentAnswer,
    DocumentListing,
    SentDocumentRequest,
    SentSourceRequest,
    ServedDocument,
    ServedLibrary,
    ServedSource,
)
from baton.api.http.dependencies import Caller, Cursor, Limit, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.threads.access import KnowledgeAgentId, check_managed_agent
from baton.composition.app import App
from baton.concurrency.tasks import gather_all
from baton.domain.errors import SearchUnavailable, UnknownLibrary
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.knowledge.document_rules import check_request
from baton.knowledge.documents import MAX_IN_LIBRARY, Details
from baton.knowledge.sources import SourceRequest

router = APIRouter(prefix="/v1/agents/{agent_id}", tags=["documents"], responses=responses("forbidden"))

DocumentId = Annotated[str, Path(description="The document's id.", max_length=64, examples=[DOCUMENT_ID])]
SourceId = Annotated[str, Path(description="The source's id.", max_length=64, examples=[SOURCE_ID])]


@router.post(
    "/documents",
    summary="Add or replace a document",
    status_code=201,
    responses=responses(
        "document_busy limit_reached document_of_source document_too_large unsupported_document store_unavailable"
    ),
)
async def add_document(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, body: SentDocumentRequest
) -> DocumentAnswer:
    """Return the document and an address that accepts its file for 15 minutes. Needs `document:write`.

    The file is ingested as soon as it is uploaded; read the document to follow the progress. With the `documentId` of
    an existing document, the file becomes its new version, and the old version is used until the new version is ready.
    Fields among `title`, `url` and `requiredPermission` that the request leaves out keep their values.

    Without a `documentId`, the id is derived from `name`, `contentType` and `sha256`. With one of `documentId` and
    `sha256`, a repeated request makes no second document or version: a request that equals the newest version returns
    that version. If the file of that version was uploaded already, the request equals it only with the same `sha256`.
    """
    managed_id = await check_managed_agent(app, caller, agent_id, "document.create")
    details = cast("Details", body.model_dump(include=set(Details.__annotations__), exclude_unset=True))
    request = check_request(details=details, **body.model_dump(exclude=set(Details.__annotations__)))
    prepared = await app.knowledge.documents.prepare(caller, managed_id, request)
    return DocumentAnswer.of(prepared, document=ServedDocument.from_record(prepared.document))


@router.get("/documents", summary="List documents")
async def list_documents(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, limit: Limit = 20, cursor: Cursor = None
) -> DocumentListing:
    """Return the agent's documents, newest first. Needs `document:write`."""
    managed_id = await check_managed_agent(app, caller, agent_id, "document.list")
    return await _list_documents(app, caller, managed_id, limit, cursor)


@router.get("/libraries", summary="List an agent's libraries")
async def list_libraries(agent_id: KnowledgeAgentId, caller: Caller, app: UseCases) -> Listing[ServedLibrary]:
    """Return the project's libraries that the agent searches besides its own documents. Needs `document:write`.

    They belong to the deployment, and can only be changed by a deployment.
    """
    await check_managed_agent(app, caller, agent_id, "library.list")
    names = (await app.agents.get(caller, agent_id)).libraries
    counts, fills = await gather_all(
        gather_all(*(app.ports.documents.count(ProjectScope(), name, up_to=MAX_IN_LIBRARY) for name in names)),
        gather_all(*(_read_index_fill(app, ProjectScope(), name) for name in names)),
    )
    libraries = [
        ServedLibrary(name=name, documents=count, index_fill_percent=fill)
        for name, count, fill in zip(names, counts, fills, strict=True)
    ]
    return Listing[ServedLibrary](items=libraries, next_cursor=None)


@router.get("/libraries/{library}/documents", summary="List a library's documents")
async def list_library_documents(
    agent_id: KnowledgeAgentId,
    library: Annotated[str, Path(description="The library's name.", max_length=64, examples=["manual"])],
    caller: Caller,
    app: UseCases,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> DocumentListing:
    """Return the documents of one of the agent's libraries, newest first. Needs `document:write`."""
    await check_managed_agent(app, caller, agent_id, "library.list")
    if library not in (await app.agents.get(caller, agent_id)).libraries:
        raise UnknownLibrary
    return await _list_documents(app, ProjectScope(), library, limit, cursor)


@router.get("/documents/{document_id}", summary="Read a document's status")
async def get_document(
    agent_id: KnowledgeAgentId, document_id: DocumentId, caller: Caller, app: UseCases
) -> ServedDocument:
    """Return one document, with the ingestion status of its newest version. Needs `document:write`."""
    managed_id = await check_managed_agent(app, caller, agent_id, "document.read")
    return ServedDocument.from_record(await app.knowledge.documents.get(caller, managed_id, document_id))


@router.delete(
    "/documents/{document_id}",
    summary="Delete a document",
    status_code=202,
    responses=responses("document_busy document_of_source store_unavailable"),
)
async def delete_document(
    agent_id: KnowledgeAgentId, document_id: DocumentId, caller: Caller, app: UseCases
) -> DeletedDocument:
    """Delete a document with all its versions. Needs `document:write`.

    Turns stop using it at once. Its file and its chunks are removed within minutes; until then its id cannot be used
    again.
    """
    managed_id = await check_managed_agent(app, caller, agent_id, "document.delete")
    return DeletedDocument.of(await app.knowledge.documents.delete(caller, managed_id, document_id))


@router.post(
    "/sources",
    summary="Add a source",
    status_code=201,
    responses=responses("limit_reached source_conflict source_refused store_unavailable"),
)
async def add_source(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, body: SentSourceRequest
) -> ServedSource:
    """Keep documents up to date from a list of addresses, a sitemap or an S3 prefix. Needs `document:write`.

    The source is read for the first time within minutes, and then every `refreshHours`. Pages that have not changed are
    not ingested again; documents of pages that no longer exist are deleted. A repeated request gets the existing
    source.
    """
    managed_id = await check_managed_agent(app, caller, agent_id, "source.create")
    return ServedSource.from_record(
        await app.knowledge.sources.create(caller, managed_id, SourceRequest(**body.model_dump()))
    )


@router.get("/sources", summary="List sources")
async def list_sources(
    agent_id: KnowledgeAgentId, caller: Caller, app: UseCases, limit: Limit = 20, cursor: Cursor = None
) -> Listing[ServedSource]:
    """Return the agent's sources, by id. Needs `document:write`."""
    managed_id = await check_managed_agent(app, caller, agent_id, "source.list")
    sources, next_cursor = await app.knowledge.sources.of_agent(caller, managed_id, limit=limit, cursor=cursor)
    return Listing[ServedSource](items=list(map(ServedSource.from_record, sources)), next_cursor=next_cursor)


@router.get("/sources/{source_id}", summary="Read a source's status")
async def get_source(agent_id: KnowledgeAgentId, source_id: SourceId, caller: Caller, app: UseCases) -> ServedSource:
    """Return one source, with the results and failures of its last refresh. Needs `document:write`."""
    managed_id = await check_managed_agent(app, caller, agent_id, "source.read")
    return ServedSource.from_record(await app.knowledge.sources.get(caller, managed_id, source_id))


@router.post(
    "/sources/{source_id}/refresh",
    summary="Refresh a source",
    status_code=202,
    responses=responses("store_unavailable"),
)
async def refresh_source(
    agent_id: KnowledgeAgentId, source_id: SourceId, caller: Caller, app: UseCases
) -> ServedSource:
    """Refresh a source within minutes. If it is being read already, nothing changes. Needs `document:write`."""
    managed_id = await check_managed_agent(app, caller, agent_id, "source.refresh")
    return ServedSource.from_record(await app.knowledge.sources.refresh(caller, managed_id, source_id))


@router.delete(
    "/sources/{source_id}", summary="Delete a source", status_code=202, responses=responses("store_unavailable")
)
async def delete_source(
    agent_id: KnowledgeAgentId, source_id: SourceId, caller: Caller, app: UseCases
) -> DeletedSource:
    """Delete a source. Its documents are deleted within minutes. Needs `document:write`."""
    managed_id = await check_managed_agent(app, caller, agent_id, "source.delete")
    return DeletedSource.of(await app.knowledge.sources.delete(caller, managed_id, source_id))


async def _list_documents(app: App, scope: Scope, owner: str, limit: int, cursor: str | None) -> DocumentListing:
    """Return a page of the documents of ``owner``, which is an agent or, in ``ProjectScope``, a library."""
    (documents, next_cursor), fill = await gather_all(
        app.knowledge.documents.of_agent(scope, owner, limit=limit, cursor=cursor), _read_index_fill(app, scope, owner)
    )
    items = list(map(ServedDocument.from_record, documents))
    return DocumentListing(items=items, next_cursor=next_cursor, index_fill_percent=fill)


async def _read_index_fill(app: App, scope: Scope, owner: str) -> int | None:
    try:
        return await app.ports.search.fill_percent(scope, owner)
    except SearchUnavailable:  # the documents are listed without the number
        return None

"""Compare the index of knowledge with the stored documents, and start the pipeline for missing ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from baton.concurrency.tasks import gather_each
from baton.domain.documents.document import (
    Document,
    DocumentRef,
    DocumentVersion,
    derive_chunk_source_id,
    parse_chunk_source_id,
)
from baton.domain.documents.search import IndexName, SearchFilter
from baton.domain.tenants.identity import make_stored_scope
from baton.ports.documents.documents import DocumentStore, Ingestions
from baton.ports.documents.search import SearchAdministration, SearchIndex

OPERATOR = "~operator"
"""The user id of an operator's scope."""
PAGE = 100
"""The number of documents that are read at once."""
COUNTS_AT_ONCE = 10
"""The number of documents whose chunks are counted at the same time."""


@dataclass(frozen=True, slots=True)
class KnowledgeCheck:
    """The results of the check of one tenant's documents."""

    documents: int
    """The number of documents that turns use."""
    indexed: int
    """The number of these documents with every chunk in the index."""
    chunks: int
    """The number of chunks of these documents in the index."""
    missing: tuple[DocumentRef, ...]
    """The documents with missing chunks, in the version that turns use."""
    orphaned: tuple[str, ...]
    """The sources in the index that belong to no stored document. Turns never use them."""

    @property
    def is_sound(self) -> bool:
        """True if nothing has to be fixed."""
        return not (self.missing or self.orphaned)


Position = tuple[str, str | None]
"""An agent and the cursor of a page of its documents."""


@dataclass(frozen=True, slots=True)
class KnowledgeIndexCheck:
    """A comparison of documents with their index. It may run while documents are uploaded and used."""

    documents: DocumentStore
    ingestions: Ingestions
    search: SearchIndex
    administration: SearchAdministration | None
    """Lists the sources of a tenant. None if the engine cannot list them; orphaned sources are then not found."""

    async def verify(self, tenant: str, agents: Sequence[str]) -> KnowledgeCheck:
        """Compare the documents of a tenant's ``agents``. Raises ``SearchUnavailable`` and ``StoreUnavailable``."""
        # Sources are read before documents, so that a document which is stored meanwhile does not make an orphan.
        sources = []
        if self.administration is not None:
            sources = [
                source.source_id async for source in self.administration.list_sources(IndexName.KNOWLEDGE, tenant)
            ]
        documents = indexed = chunks = 0
        missing: list[DocumentRef] = []
        document_ids: set[str] = set()
        async for _, page in self._read_pages(tenant, agents):
            document_ids.update(source for document in page for source in _list_sources(document))
            for document, version, count in await self._count_chunks(tenant, page):
                documents, chunks = documents + 1, chunks + count
                if count == version.chunks:
                    indexed += 1
                else:
                    missing.append(DocumentRef(tenant, document.agent_id, document.id, version.number))
        orphaned = tuple(source for source in sources if source not in document_ids)
        return KnowledgeCheck(documents, indexed, chunks, tuple(missing), orphaned)

    async def rebuild(
        self, tenant: str, agents: Sequence[str], start: Position | None = None
    ) -> AsyncIterator[tuple[bool, Position]]:
        """Start the pipeline for documents that are not completely in the index, from the page ``start`` on, if given.

        Yield, for each document that turns use, whether a run was started, and the position from which a rebuild can
        continue. A repetition starts no run for documents that are indexed or wait for a run.
        """
        async for position, page in self._read_pages(tenant, agents, start):
            for document, version, count in await self._count_chunks(tenant, page):
                is_started = False
                if count != version.chunks:
                    ref = DocumentRef(tenant, document.agent_id, document.id, version.number, rebuilds=True)
                    is_started = await self.ingestions.rebuild(ref, created_at=document.created_at)
                yield is_started, position

    async def remove(self, tenant: str, agents: Sequence[str], check: KnowledgeCheck) -> None:
        """Remove the orphaned sources of a check from the index, except those of documents stored since."""
        scope = make_stored_scope(tenant, OPERATOR)
        for source in check.orphaned:
            try:
                document_id, _ = parse_chunk_source_id(source)
            except ValueError:
                document_id = source  # an id of another form is that of no document
            stored = [await self.documents.get(scope, agent_id, document_id) for agent_id in agents]
            if not any(source in _list_sources(document) for document in stored if document is not None):
                await self.search.delete(scope, IndexName.KNOWLEDGE, SearchFilter(source_id=source))

    async def _count_chunks(self, tenant: str, page: Sequence[Document]) -> list[tuple[Document, DocumentVersion, int]]:
        """Return the documents that turns use, each with the version and the number of its chunks in the index."""

        async def count(used: tuple[Document, DocumentVersion]) -> tuple[Document, DocumentVersion, int]:
            document, version = used
            source = SearchFilter(
                agent_id=document.agent_id, source_id=derive_chunk_source_id(document.id, version.number)
            )
            return *used, await self.search.count(make_stored_scope(tenant, OPERATOR), IndexName.KNOWLEDGE, source)

        used = [(document, document.in_use) for document in page]
        return await gather_each(
            [(document, version) for document, version in used if version is not None], count, at_once=COUNTS_AT_ONCE
        )

    async def _read_pages(
        self, tenant: str, agents: Sequence[str], start: Position | None = None
    ) -> AsyncIterator[tuple[Position, Sequence[Document]]]:
        cursor: str | None = None
        if start is not None and start[0] in agents:
            agents, cursor = agents[agents.index(start[0]) :], start[1]
        for agent_id in agents:
            while True:
                position = (agent_id, cursor)
                page, cursor = await self.documents.of_agent(
                    make_stored_scope(tenant, OPERATOR), agent_id, limit=PAGE, cursor=cursor
                )
                yield position, page
                if cursor is None:
                    break


def _list_sources(document: Document) -> set[str]:
    """Return the sources that a document may have in the index, also those of versions in progress or to be removed."""
    versions = {version.number for version in (document.active, document.next) if version is not None}
    return {derive_chunk_source_id(document.id, number) for number in {*versions, *document.stale}}

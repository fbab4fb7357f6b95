"""Documents of agents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from baton_client.addresses import given, path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.asynchronous.transport import AsyncTransport
from baton_client.asynchronous.waiting import wait_until
from baton_client.calls import in_thread
from baton_client.models import (
    DeletedDocument,
    DeletedSource,
    Document,
    DocumentAnswer,
    FoundKnowledge,
    Library,
    Source,
)
from baton_client.uploads import Upload

DOCUMENTS = "/v1/agents/{agent_id}/documents"
DOCUMENT = DOCUMENTS + "/{document_id}"
LIBRARIES = "/v1/agents/{agent_id}/libraries"
SOURCES = "/v1/agents/{agent_id}/sources"
SOURCE = SOURCES + "/{source_id}"
IN_PROGRESS = frozenset({"waiting", "processing"})


class AsyncSources(AsyncResource):
    """``client.documents.sources``: pages and buckets from which documents are kept up to date."""

    async def create(
        self,
        agent_id: str,
        kind: str,
        *,
        urls: Sequence[str] | None = None,
        url: str | None = None,
        prefix: str | None = None,
        refresh_hours: int | None = None,
        title: str | None = None,
        required_permission: str | None = None,
        source_id: str | None = None,
    ) -> Source:
        """Add a source. With a ``source_id`` the call is safe to repeat."""
        body = {"kind": kind} | given(
            urls=list(urls) if urls is not None else None,
            url=url,
            prefix=prefix,
            refreshHours=refresh_hours,
            title=title,
            requiredPermission=required_permission,
            sourceId=source_id,
        )
        address = path(SOURCES, agent_id=agent_id)
        return await self._post(address, Source, body, is_repeatable=source_id is not None)

    def list(self, agent_id: str, *, limit: int | None = None) -> AsyncPager[Source]:
        """List an agent's sources."""
        return self._list(path(SOURCES, agent_id=agent_id), Source, limit=limit)

    async def get(self, agent_id: str, source_id: str) -> Source:
        """Return a source."""
        return await self._get(path(SOURCE, agent_id=agent_id, source_id=source_id), Source)

    async def refresh(self, agent_id: str, source_id: str) -> Source:
        """Have a source read within minutes, before its next refresh is due."""
        return await self._post(path(SOURCE + "/refresh", agent_id=agent_id, source_id=source_id), Source)

    async def delete(self, agent_id: str, source_id: str) -> DeletedSource:
        """Delete a source with its documents."""
        return await self._delete(path(SOURCE, agent_id=agent_id, source_id=source_id), DeletedSource)


class AsyncDocuments(AsyncResource):
    """``client.documents``."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
        self.sources = AsyncSources(transport)

    async def upload(
        self,
        agent_id: str,
        content: bytes | Path,
        *,
        name: str | None = None,
        content_type: str | None = None,
        title: str | None = None,
        url: str | None = None,
        required_permission: str | None = None,
        document_id: str | None = None,
    ) -> Document:
        """Upload a document, for which ``documents.wait`` waits. The same content is not uploaded again.

        ``document_id`` replaces that document. Raises ``ConfigurationError`` without a name or a type.
        """
        file = await in_thread(Upload.of, content, name, content_type)
        digest = hashlib.sha256(file.data).hexdigest()
        body = {**file.announced, "sha256": digest} | given(
            title=title, url=url, requiredPermission=required_permission, documentId=document_id
        )
        # The request is safe to repeat, because the server knows documents by their digests.
        answer: DocumentAnswer = await self._post(path(DOCUMENTS, agent_id=agent_id), DocumentAnswer, body)
        if answer.upload is not None:
            await self._transport.upload(answer.upload, file.data)
        return answer.document

    async def wait(self, agent_id: str, document_id: str, *, timeout: float = 600.0) -> Document:
        """Wait until a document is read, or has failed, and return it.

        Raises ``APITimeoutError`` after ``timeout`` seconds; the server continues.
        """

        async def read() -> Document:
            return await self.get(agent_id, document_id)

        last: Document = await wait_until(
            read, lambda document: document.status not in IN_PROGRESS, timeout, f"document {document_id}"
        )
        return last

    def list(self, agent_id: str, *, limit: int | None = None) -> AsyncPager[Document]:
        """List an agent's documents."""
        return self._list(path(DOCUMENTS, agent_id=agent_id), Document, limit=limit)

    def libraries(self, agent_id: str) -> AsyncPager[Library]:
        """List the project's libraries that an agent searches besides its documents."""
        return self._list(path(LIBRARIES, agent_id=agent_id), Library, limit=None)

    def of_library(self, agent_id: str, library: str, *, limit: int | None = None) -> AsyncPager[Document]:
        """List the documents of one of an agent's libraries. Only a deployment changes them."""
        address = path(LIBRARIES + "/{library}/documents", agent_id=agent_id, library=library)
        return self._list(address, Document, limit=limit)

    async def get(self, agent_id: str, document_id: str) -> Document:
        """Return a document, with the progress of its newest version."""
        return await self._get(path(DOCUMENT, agent_id=agent_id, document_id=document_id), Document)

    async def delete(self, agent_id: str, document_id: str) -> DeletedDocument:
        """Delete a document. Turns stop using it at once."""
        return await self._delete(path(DOCUMENT, agent_id=agent_id, document_id=document_id), DeletedDocument)

    async def search(self, agent_id: str, query: str, *, limit: int | None = None) -> FoundKnowledge:
        """Return the passages that the agent would find for a question."""
        address = path("/v1/agents/{agent_id}/knowledge/search", agent_id=agent_id)
        return await self._post(address, FoundKnowledge, {"query": query} | given(limit=limit))

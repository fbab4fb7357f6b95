# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""Documents of agents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from baton_client.addresses import given, path
from baton_client.calls import directly
from baton_client.models import DeletedDocument, DeletedSource, Document, DocumentAnswer, FoundKnowledge, Source
from baton_client.synchronous.pages import Pager
from baton_client.synchronous.resource import Resource
from baton_client.synchronous.transport import Transport
from baton_client.synchronous.waiting import until
from baton_client.uploads import Upload

DOCUMENTS = "/v1/agents/{agent_id}/documents"
DOCUMENT = DOCUMENTS + "/{document_id}"
SOURCES = "/v1/agents/{agent_id}/sources"
SOURCE = SOURCES + "/{source_id}"
IN_PROGRESS = frozenset({"waiting", "processing"})


class Sources(Resource):
    """``client.documents.sources``: pages and buckets that documents are read from again and again."""

    def create(
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
        """Add a source. ``source_id`` makes it safe to repeat."""
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
        return self._post(address, Source, body, is_repeatable=source_id is not None)

    def list(self, agent_id: str, *, limit: int | None = None) -> Pager[Source]:
        """List an agent's sources."""
        return self._list(path(SOURCES, agent_id=agent_id), Source, limit=limit)

    def get(self, agent_id: str, source_id: str) -> Source:
        """Return a source."""
        return self._get(path(SOURCE, agent_id=agent_id, source_id=source_id), Source)

    def refresh(self, agent_id: str, source_id: str) -> Source:
        """Read a source now."""
        return self._post(path(SOURCE + "/refresh", agent_id=agent_id, source_id=source_id), Source)

    def delete(self, agent_id: str, source_id: str) -> DeletedSource:
        """Delete a source with its documents."""
        return self._delete(path(SOURCE, agent_id=agent_id, source_id=source_id), DeletedSource)


class Documents(Resource):
    """``client.documents``."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.sources = Sources(transport)

    def upload(
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
        """Upload a document; ``wait`` returns once it can be found. One with the same content is not uploaded again.

        ``document_id`` replaces that document. Raises ``ConfigurationError`` without a name or a type.
        """
        file = directly(Upload.of, content, name, content_type)
        digest = hashlib.sha256(file.data).hexdigest()
        body = {**file.announced, "sha256": digest} | given(
            title=title, url=url, requiredPermission=required_permission, documentId=document_id
        )
        # Its content makes it safe to repeat: the server knows documents by their digests.
        answer: DocumentAnswer = self._post(path(DOCUMENTS, agent_id=agent_id), DocumentAnswer, body)
        if answer.upload is not None:
            self._transport.upload(answer.upload, file.data)
        return answer.document

    def wait(self, agent_id: str, document_id: str, *, timeout: float = 600.0) -> Document:
        """Wait until a document is read, or has failed, and return it.

        Raises ``APITimeoutError`` after ``timeout`` seconds; the server goes on.
        """

        def read() -> Document:
            return self.get(agent_id, document_id)

        found: Document = until(
            read, lambda document: document.status not in IN_PROGRESS, timeout, f"document {document_id}"
        )
        return found

    def list(self, agent_id: str, *, limit: int | None = None) -> Pager[Document]:
        """List an agent's documents."""
        return self._list(path(DOCUMENTS, agent_id=agent_id), Document, limit=limit)

    def get(self, agent_id: str, document_id: str) -> Document:
        """Return a document with its status, and that of its pages."""
        return self._get(path(DOCUMENT, agent_id=agent_id, document_id=document_id), Document)

    def delete(self, agent_id: str, document_id: str) -> DeletedDocument:
        """Delete a document; answers no longer rest on it from now on."""
        return self._delete(path(DOCUMENT, agent_id=agent_id, document_id=document_id), DeletedDocument)

    def search(self, agent_id: str, query: str, *, limit: int | None = None) -> FoundKnowledge:
        """Return what the agent would find for a question."""
        address = path("/v1/agents/{agent_id}/knowledge/search", agent_id=agent_id)
        return self._post(address, FoundKnowledge, {"query": query} | given(limit=limit))

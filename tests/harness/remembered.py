"""Past conversations and documents in a search index, as tests put them there."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.tenants.identity import Scope
from baton.knowledge.chunk_documents import list_chunk_texts, make_chunk_documents
from baton.memory.episodes.episode_index import DIGEST, MESSAGE, TURN
from baton_documents.chunks.chunk import Chunk
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex

MARCH = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)


async def remember(
    search: FakeSearchIndex,
    embedder: FakeEmbedder,
    scope: Scope,
    text: str,
    *,
    kind: str = MESSAGE,
    at: datetime = MARCH,
    thread_id: str | None = None,
    document_id: str | None = None,
    is_embedded: bool = True,
    neighbours: Mapping[str, str] | None = None,
    **fields: Any,
) -> IndexDocument:
    """Put a message, a fact or a summary of a past conversation into the index.

    ``neighbours`` are the texts of other views of a message.
    """
    dated = f"{at.date()}: {text}"
    view = IndexedText(dated, embedder.vector(dated) if is_embedded else None)
    around = {name: IndexedText(text, embedder.vector(text)) for name, text in (neighbours or {}).items()}
    reported = {"message_id": f"m-{uuid.uuid4()}", "role": "user"} if kind == MESSAGE else {}
    document = IndexDocument(
        id=document_id or str(uuid.uuid4()),
        source_id=f"episode-{at.date()}",
        kind=kind,
        views={TURN if kind == MESSAGE else DIGEST: view, **around},
        at=at,
        thread_id=thread_id or str(uuid.uuid4()),
        embedder=embedder.name if is_embedded else None,
        fields={"text": text, **reported, **fields},
    )
    await search.put(scope, IndexName.EPISODES, [document])
    return document


class HasKnowledge(Protocol):
    """The index of documents."""

    search: FakeSearchIndex
    embedder: FakeEmbedder
    documents: FakeDocuments


async def learn(
    there: HasKnowledge,
    scope: Scope,
    agent_id: str,
    text: str,
    *,
    title: str = "Handbook",
    at: datetime = MARCH,
    version: int = 1,
    active: int | None = 1,
    permission: str | None = None,
    url: str | None = None,
    deleted_at: datetime | None = None,
    chunk: Chunk | None = None,
    content_type: str = "text/markdown",
) -> IndexDocument:
    """Give an agent a document of one chunk. ``version`` is the chunk's, ``active`` that of the document's record."""
    number = len(there.documents.records)
    instance = DocumentVersion(version, VersionStatus.READY, "handbook.md", content_type, 9, "ada", at)
    record = Document(
        id=f"document-{number}",
        agent_id=agent_id,
        title=title,
        created_at=at,
        updated_at=at,
        url=url,
        required_permission=permission,
        active=replace(instance, number=active) if active is not None else None,
        next=instance if active is None else None,
        deleted_at=deleted_at,
    )
    await there.documents.create(scope, record)
    chunks = [chunk or Chunk(0, text)]
    vectors = [there.embedder.vector(text) for text in list_chunk_texts(record, chunks)]
    [document] = make_chunk_documents(record, instance, chunks, vectors, there.embedder.name)
    await there.search.put(scope, IndexName.KNOWLEDGE, [document])
    return document

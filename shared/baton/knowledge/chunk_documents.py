"""The documents of the index that a document's chunks become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton.domain.document import Document, DocumentVersion, chunk_source_id
from baton.domain.extracted import Chunk
from baton.domain.search import IndexDocument, IndexedText, Vector

CHUNK = "chunk"
"""The kind of the documents, and the name of their view."""
MAX_TITLE = 200
"""Characters of a document's title in front of each text."""


def chunk_texts(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the texts of chunks that are searched, and embedded: with title, headings and table header in front."""
    return [_searched_text(document.title, chunk) for chunk in chunks]


def chunk_documents(
    document: Document,
    version: DocumentVersion,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    embedder: str | None,
) -> list[IndexDocument]:
    """Return what the index holds of the chunks of a version. ``vectors`` are those of ``chunk_texts``."""
    source_id = chunk_source_id(document.id, version.number)
    return [
        IndexDocument(
            id=f"{source_id}#{chunk.ordinal}",
            source_id=source_id,
            kind=CHUNK,
            views={CHUNK: IndexedText(text, vector)},
            at=version.created_at,
            agent_id=document.agent_id,
            required_permission=document.required_permission,
            embedder=embedder if vector is not None else None,
            fields=_fields(document, version, chunk),
        )
        for chunk, text, vector in zip(chunks, chunk_texts(document, chunks), vectors, strict=True)
    ]


def _searched_text(title: str, chunk: Chunk) -> str:
    # The heading of a file often repeats its title.
    path = [heading for heading in chunk.headings if heading.casefold() != title.casefold()]
    head = " > ".join([title[:MAX_TITLE], *path])
    return "\n".join(part for part in (head, chunk.table_header, chunk.text) if part)


def _fields(document: Document, version: DocumentVersion, chunk: Chunk) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "text": chunk.text,
        "title": document.title,
        "section": chunk.section,
        "first_page": chunk.first_page,
        "last_page": chunk.last_page,
        "url": document.url,
        "document_id": document.id,
        "version": version.number,
        "ordinal": chunk.ordinal,
    }
    return {name: value for name, value in fields.items() if value is not None}

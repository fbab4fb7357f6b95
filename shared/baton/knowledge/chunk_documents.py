"""The documents of the index that a document's chunks become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.documents.document import Document, DocumentVersion, chunk_source_id
from baton.domain.documents.search import IndexDocument, IndexedText, Vector
from baton.knowledge.chunk_places import PLACES, encode_places
from baton.knowledge.passages import MAX_PASSAGES, split_passages
from baton_documents.chunks.chunk import Chunk

CHUNK = "chunk"
"""The kind of the documents, and the name of the view with the whole chunk."""
PASSAGES = tuple(f"passage{number}" for number in range(1, MAX_PASSAGES + 1))
"""The views with its passages."""
TABLE_HEADER = "table_header"
"""The field with the header of the table whose rows a chunk begins with."""
MAX_TITLE = 200
"""Characters of a document's title in front of each text."""
MAX_SEARCHED_HEADER = 300
"""Characters of a table's header in front of each text: more would push the rows out of what a model embeds."""


def chunk_texts(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the texts of chunks that are embedded, several a chunk: with title, headings and table header in front."""
    return [text for chunk in chunks for text in _select_embedded(_views(document.title, chunk)).values()]


def chunk_documents(
    document: Document,
    version: DocumentVersion,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    embedder: str | None,
) -> list[IndexDocument]:
    """Return the documents of the index for the chunks of a version.

    ``vectors`` are those of ``chunk_texts``, or none at all if texts are not embedded.
    """
    source_id = chunk_source_id(document.id, version.number)
    views = [_views(document.title, chunk) for chunk in chunks]
    names = [(index, name) for index, view in enumerate(views) for name in _select_embedded(view)]
    vectors_by_name = dict(zip(names, vectors, strict=True)) if vectors else {}
    indexed = [
        {name: IndexedText(text, vectors_by_name.get((index, name))) for name, text in view.items()}
        for index, view in enumerate(views)
    ]
    return [
        IndexDocument(
            id=f"{source_id}#{chunk.ordinal}",
            source_id=source_id,
            kind=CHUNK,
            views=views,
            at=version.created_at,
            agent_id=document.agent_id,
            required_permission=document.required_permission,
            embedder=embedder if any(view.vector is not None for view in views.values()) else None,
            fields=_fields(document, version, chunk),
        )
        for chunk, views in zip(chunks, indexed, strict=True)
    ]


def find_table_header(document: IndexDocument, text: str) -> str | None:
    """Return the header of the table whose rows a found chunk begins with.

    ``text`` is the chunk's. An index of an earlier release has the header in the searched text only: in front of the
    chunk's, below the line with title and headings.
    """
    header = document.fields.get(TABLE_HEADER)
    if isinstance(header, str):
        return header
    searched = document.views[CHUNK].text if CHUNK in document.views else ""
    if not searched.endswith(f"\n{text}"):
        return None
    lines_of_title = str(document.fields.get("title", ""))[:MAX_TITLE].count("\n") + 1
    head = searched[: -len(text) - 1].split("\n", lines_of_title)
    return head[lines_of_title] if len(head) > lines_of_title else None


def _views(title: str, chunk: Chunk) -> dict[str, str]:
    """Return the searched texts of a chunk by view."""
    head = [
        " > ".join([title[:MAX_TITLE], *_find_headings_below(title, chunk.headings)]),
        *([chunk.table_header[:MAX_SEARCHED_HEADER]] if chunk.table_header else ()),
    ]
    texts = {CHUNK: chunk.text} | dict(zip(PASSAGES, split_passages(chunk.text), strict=False))
    return {name: "\n".join([*head, text]) for name, text in texts.items()}


def _select_embedded(views: Mapping[str, str]) -> Mapping[str, str]:
    """Return the views that have vectors: the passages, or else the whole chunk."""
    return {name: text for name, text in views.items() if name != CHUNK} or views


def _find_headings_below(title: str, headings: Sequence[str]) -> Sequence[str]:
    """Return the headings above a text, without the first one if it repeats the document's title."""
    repeats = headings and headings[0].casefold() == title.casefold()
    return headings[1:] if repeats else headings


def _fields(document: Document, version: DocumentVersion, chunk: Chunk) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "text": chunk.text,
        "title": document.title,
        "section": _section(document.title, chunk.headings),
        "first_page": chunk.first_page,
        "last_page": chunk.last_page,
        "url": document.url,
        "document_id": document.id,
        "version": version.number,
        "ordinal": chunk.ordinal,
        TABLE_HEADER: chunk.table_header,
        PLACES: encode_places(chunk.parts, lambda headings: _section(document.title, headings)) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _section(title: str, headings: Sequence[str]) -> str | None:
    return " > ".join(_find_headings_below(title, headings)) or None

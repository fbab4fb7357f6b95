"""The index documents of a document's chunks, and the positions of found chunks in their document.

A chunk may cross a heading or the end of a page. Its citation has the position of the part that answers the question,
which may differ from the position of most of its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.documents.document import Document, DocumentVersion, derive_chunk_source_id
from baton.domain.documents.search import IndexDocument, IndexedText, Vector
from baton.domain.documents.search_words import split_words, to_search_form
from baton.knowledge.passages import MAX_PASSAGES, split_passages
from baton_documents.chunks.chunk import Chunk, ChunkPart

CHUNK = "chunk"
"""The kind of the documents, and the name of the view with the whole chunk."""
PASSAGES = tuple(f"passage{number}" for number in range(1, MAX_PASSAGES + 1))
"""The views with its passages."""
TABLE_HEADER = "table_header"
"""The field with the header of the table, for a chunk that begins with rows of a table."""
MAX_TITLE = 200
"""The length of a document's title in front of each text, in characters."""
MAX_SEARCHED_HEADER = 300
"""The length of a table's header in front of each text, in characters. A longer header would displace rows."""

PLACES = "places"
"""The field of an indexed chunk with the positions of its parts, if it has several."""
MAX_PLACES = 24
"""The maximum number of parts whose positions are stored. A chunk with more is cited as a whole."""
MAX_SECTION = 500
"""The length to which a part's path of headings is cut at its beginning, in characters."""


def list_chunk_texts(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the texts that are embedded for chunks, with title, headings and table header in front.

    A chunk with passages has several.
    """
    return [text for chunk in chunks for text in _select_embedded(_make_views(document.title, chunk)).values()]


def make_chunk_documents(
    document: Document,
    version: DocumentVersion,
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector | None],
    embedder: str | None,
) -> list[IndexDocument]:
    """Return the documents of the index for the chunks of a version.

    ``vectors`` belong to the texts of ``list_chunk_texts``, in order; empty if texts are not embedded.
    """
    source_id = derive_chunk_source_id(document.id, version.number)
    views = [_make_views(document.title, chunk) for chunk in chunks]
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
            views=indexed_views,
            at=version.created_at,
            agent_id=document.agent_id,
            required_permission=document.required_permission,
            embedder=embedder if any(view.vector is not None for view in indexed_views.values()) else None,
            fields=_make_chunk_fields(document, version, chunk),
        )
        for chunk, indexed_views in zip(chunks, indexed, strict=True)
    ]


def find_table_header(document: IndexDocument, text: str) -> str | None:
    """Return the table header of a found chunk that begins with rows of a table; None without one.

    ``text`` is the chunk's text. An index of an earlier release has the header only in the searched text, between the
    line with title and headings and the chunk's text.
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


def _make_views(title: str, chunk: Chunk) -> dict[str, str]:
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


def _make_chunk_fields(document: Document, version: DocumentVersion, chunk: Chunk) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "text": chunk.text,
        "title": document.title,
        "section": _join_section(document.title, chunk.headings),
        "first_page": chunk.first_page,
        "last_page": chunk.last_page,
        "url": document.url,
        "document_id": document.id,
        "version": version.number,
        "ordinal": chunk.ordinal,
        TABLE_HEADER: chunk.table_header,
        PLACES: _to_places(document.title, chunk.parts),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _join_section(title: str, headings: Sequence[str]) -> str | None:
    return " > ".join(_find_headings_below(title, headings)) or None


@dataclass(frozen=True, slots=True)
class ChunkPosition:
    """The section and the pages of a text in its document. Pages are counted from 1; None means unknown."""

    section: str | None = None
    first_page: int | None = None
    last_page: int | None = None


def _to_places(title: str, parts: Sequence[ChunkPart]) -> list[dict[str, Any]] | None:
    """Return the positions of a chunk's parts for the index; None without parts, or for more than ``MAX_PLACES``."""
    stored = [
        {
            "start": part.start,
            "section": (_join_section(title, part.headings) or "")[-MAX_SECTION:] or None,
            "page": part.page,
        }
        for part in parts
    ]
    few = stored if len(stored) <= MAX_PLACES else []
    return [{name: value for name, value in part.items() if value is not None} for part in few] or None


def find_position(text: str, fields: Mapping[str, Any], passage: int | None, query: str) -> ChunkPosition:
    """Return the position of the part of a found chunk that fits a query best.

    ``passage`` is the index of the passage that was found by its meaning; None chooses the passage with most of the
    query's words. Of several parts in the passage, the part with most of these words is chosen, or else the longest.
    """
    whole = ChunkPosition(fields.get("section"), fields.get("first_page"), fields.get("last_page"))
    parts = fields.get(PLACES)
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) for part in parts):
        return whole
    ranges, end = [], 0
    for text_passage in split_passages(text) or [text]:
        ranges.append((end, end + len(text_passage)))
        end += len(text_passage)
    if passage is not None and passage < len(ranges):
        start, end = ranges[passage]
    else:
        start, end = _find_best_range(text, ranges, query)
    starts = [int(part.get("start", 0)) for part in parts]
    inside: dict[tuple[int, int], ChunkPosition] = {}
    for part, first, last in zip(parts, starts, [*starts[1:], len(text)], strict=True):
        if max(first, start) < min(last, end):
            page = part.get("page")
            inside[max(first, start), min(last, end)] = ChunkPosition(part.get("section"), page, page)
    return inside[_find_best_range(text, list(inside), query)] if inside else whole


def _find_best_range(text: str, ranges: Sequence[tuple[int, int]], query: str) -> tuple[int, int]:
    """Return the range with most of a query's words. A word in several ranges counts less, divided by their number."""
    query_words = frozenset(split_words(to_search_form(query)))
    matches = [query_words.intersection(split_words(to_search_form(text[start:end]))) for start, end in ranges]
    range_counts = Counter(word for words in matches for word in words)
    scores = [sum(1 / range_counts[word] for word in sorted(words)) for words in matches]
    best = max(range(len(ranges)), key=lambda index: (scores[index], ranges[index][1] - ranges[index][0], -index))
    return ranges[best]

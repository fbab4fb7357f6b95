"""Chunks of a document, with their places in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """A part of a chunk whose text has the same headings and the same page."""

    start: int
    """The offset of the part in the chunk's text. The part ends where the next one begins."""
    headings: tuple[str, ...] = ()
    page: int | None = None
    """From 1; None in formats without pages."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that a search finds and cites as a whole."""

    ordinal: int
    """From 0, in the order of reading."""
    text: str
    """Verbatim."""
    headings: tuple[str, ...] = ()
    """The headings above most of the text, outermost first."""
    first_page: int | None = None
    last_page: int | None = None
    """The pages on which the text begins and ends, from 1; None in formats without pages."""
    table_header: str | None = None
    """The column names of the first table in it, unless the text contains them. Shown and searched with the text."""
    parts: tuple[ChunkPart, ...] = ()
    """The parts in their order; empty unless the chunk crosses a heading or a page."""

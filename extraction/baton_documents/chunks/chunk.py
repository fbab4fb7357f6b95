"""Chunks of a document, with their places in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """A part of a chunk that stands below the same headings, on the same page."""

    start: int
    """The offset at which it begins in the chunk's text. It ends where the next one begins."""
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is found and cited as a whole."""

    ordinal: int
    """From 0, in the order of reading."""
    text: str
    """Verbatim."""
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first."""
    first_page: int | None = None
    last_page: int | None = None
    table_header: str | None = None
    """The names of the columns of the first table in it, unless the text contains them. Shown and searched with it."""
    parts: tuple[ChunkPart, ...] = ()
    """Its parts in their order, if it crosses a heading or a page."""

"""Text as it was extracted from a document, before it is divided into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from baton.domain.document import DocumentFormat, PageError


class BlockKind(StrEnum):
    """What a block of text is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    """Rows as lines, cells parted by " | ". The first row is the header."""
    CODE = "code"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One block, in the order of reading. Its text is verbatim, apart from white space at its ends."""

    kind: BlockKind
    text: str
    page: int | None = None
    """The page, slide or sheet, from 1; None in formats without pages."""
    level: int | None = None
    """The level of a heading, from 1."""
    source: str | None = None
    """The text with its own marks, if it needs no others: a heading as the file has it, a numbered item of a list."""
    space: str | None = None
    """The white space before it in the file, back to the block before; None in formats that are not text."""

    @property
    def verbatim(self) -> str:
        """Return the text as the file has it."""
        return self.text if self.source is None else self.source


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of a document or of a part of it (a range of pages)."""

    blocks: tuple[TextBlock, ...]
    title: str | None = None
    """The title that the document gives itself."""
    pages: int | None = None
    page_errors: tuple[PageError, ...] = ()


@dataclass(frozen=True, slots=True)
class Inspection:
    """The format of a file, and the parts that are extracted one by one."""

    form: DocumentFormat
    parts: tuple[tuple[int, int], ...]
    """Ranges of pages (first, last). Formats without pages have one part, (1, 1)."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A whole document as one text, as a model reads it."""

    text: str
    """Its beginning, if it ``is_cut``. Pages, slides and sheets each begin with a line that numbers them."""
    pages: int | None = None
    """The number of pages, slides or sheets; None in formats without them."""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """A part of a chunk that stands below the same headings, on the same page."""

    start: int
    """Where it begins in the chunk's text. It ends where the next one begins."""
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
    """The names of the columns of the first table in it, unless they stand in the text. Shown and searched with it."""
    parts: tuple[ChunkPart, ...] = ()
    """Its parts in their order, if it crosses a heading or a page."""

    @property
    def section(self) -> str | None:
        """Return the path of headings as one line, or None without headings."""
        return " > ".join(self.headings) or None

"""The text of a document, as it is read from its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from baton_documents.formats import DocumentFormat


class BlockKind(StrEnum):
    """The kind of a block of text."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    """Rows as lines, cells separated by " | ". The first row is the header."""
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
        """The text as the file has it."""
        return self.text if self.source is None else self.source

    @property
    def markdown(self) -> str:
        """The text with the marks of Markdown that show its kind. Tables are as in ``text``."""
        if self.source is not None:
            return self.source
        match self.kind:
            case BlockKind.HEADING:
                return f"{'#' * max(1, min(self.level or 1, 6))} {self.text}"
            case BlockKind.LIST_ITEM:
                return f"- {self.text}"
        return self.text


@dataclass(frozen=True, slots=True)
class PageError:
    """The reason for which a page could not be read. The other pages are read."""

    page: int
    message: str


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


@dataclass(slots=True)
class Sitemap:
    """The entries of a sitemap or of an index of sitemaps, in its order."""

    urls: list[str] = field(default_factory=list)
    """Pages."""
    sitemaps: list[str] = field(default_factory=list)
    """Further sitemaps, of an index."""
    is_complete: bool = True
    """True if everything was taken: no limit has ended it."""

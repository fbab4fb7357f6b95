"""The text of a document, as it is read from its file, in blocks."""

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
    """Rows as lines, with cells separated by " | ". The first row is the header if the table has one."""
    CODE = "code"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A block of text. The text is verbatim, without white space at its ends."""

    kind: BlockKind
    text: str
    page: int | None = None
    """The page, slide or sheet, from 1; None in formats without pages."""
    level: int | None = None
    """The level of a heading, from 1; None for other blocks."""
    source: str | None = None
    """The text with the file's own marks, such as a Markdown heading or a numbered item; None if it has no marks."""
    space: str | None = None
    """The white space between the previous block and this one in the file; None in formats that are not text."""

    @property
    def verbatim(self) -> str:
        """The text with the file's own marks, if it has any."""
        return self.text if self.source is None else self.source

    @property
    def markdown(self) -> str:
        """The text with marks of Markdown that show its kind. Tables are the same as in ``text``."""
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
    """The reason for which a page could not be read, or not completely. It does not affect other pages."""

    page: int
    message: str


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of a document, or of a range of its pages."""

    blocks: tuple[TextBlock, ...]
    title: str | None = None
    """The title in the file's own data; None without one."""
    pages: int | None = None
    """The number of pages, slides or sheets of the whole document; None in formats without them."""
    page_errors: tuple[PageError, ...] = ()
    """The errors in this range of pages."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The format of a file, and the parts to extract one by one."""

    form: DocumentFormat
    parts: tuple[tuple[int, int], ...]
    """Ranges of pages (first, last), from 1. Formats without pages have one part, (1, 1)."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document as one text, as a model reads it."""

    text: str
    """The text, or its beginning if ``is_cut``. Pages, slides and sheets each begin with a line with their number."""
    pages: int | None = None
    """The number of pages, slides or sheets; None in formats without them."""
    is_cut: bool = False


@dataclass(slots=True)
class Sitemap:
    """The entries of a sitemap or of an index of sitemaps, in its order."""

    urls: list[str] = field(default_factory=list)
    """The addresses of pages."""
    sitemaps: list[str] = field(default_factory=list)
    """The addresses of the sitemaps that an index lists."""
    is_complete: bool = True
    """Whether all addresses are included: no limit was reached."""

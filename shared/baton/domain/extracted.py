"""Text as it was extracted from a document: its title, its places, and its division into chunks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from baton.domain.document import DocumentFormat, PageError

AGENT_SOURCE = "agent"
"""The kind of a source that is a consulted agent."""
DOCUMENT_SOURCE = "document"
"""The kind of a source that is a document."""
FILE_SOURCE = "file"
"""The kind of a source that is a file of a remote agent's answer."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A chunk of a document of an agent, as readers can find it."""

    document_id: str
    title: str
    agent_id: str
    version: int
    chunk_id: str
    section: str | None = None
    """The path of headings above it."""
    first_page: int | None = None
    last_page: int | None = None
    url: str | None = None

    @property
    def pages(self) -> str | None:
        """Its pages, as in "3" or "3-4"."""
        if self.first_page is None:
            return None
        last = self.last_page
        return f"{self.first_page}-{last}" if last not in (None, self.first_page) else str(self.first_page)

    def as_source(self, score: float | None) -> dict[str, Any]:
        """Return it as an entry of a message's ``metadata.sources``."""
        return {
            "kind": DOCUMENT_SOURCE,
            "id": self.document_id,
            "title": self.title,
            "agentId": self.agent_id,
            "score": round(score, 4) if score is not None else None,
            "section": self.section,
            "page": self.first_page,
            "chunk": self.chunk_id,
            "url": self.url,
        }


MAX_LENGTH = 1_000
"""Characters of a title that are looked at. The rest is cut off."""
_OF_PROGRAMS = re.compile(
    r"(?:untitled(?: document| page| presentation| spreadsheet)?|unbenannt|ohne titel|sans titre|sans nom|sin t[ií]tulo"
    r"|senza titolo|sem t[ií]tulo|naamloos|unnamed|anonymous|noname|no title|unknown|none|null|undefined|title"
    r"|titel|titre|t[ií]tulo|titolo|(?:new |word |pdf |scanned |neues )?(?:document|dokument|documento)"
    r"|(?:new |blank )?page|layout|image|scan|print(?:out)?"
    r"|(?:powerpoint[ -])?pr[äée]sent(?:ation|aci[óo]n)(?: powerpoint| de powerpoint)?|slide|folie|diapositiva"
    r"|(?:excel )?workbook|book|mappe|classeur|libro|sheet|tabelle|spreadsheet"
    r"|microsoft (?:word|powerpoint|excel)(?: document| presentation| worksheet)?)[ _-]*\(?[0-9]*\)?",
    re.IGNORECASE,
)
"""Names of new files, and words that say that there is no title."""
_PROGRAM = re.compile(
    r"(?:microsoft\s+(?:office\s+)?(?:word|powerpoint|excel|visio|publisher|outlook)|(?:libre|open)office\S*(?:\s\w+)?"
    r"|adobe\s+(?:indesign|illustrator|photoshop)|wordpad|notepad)\s+[-\u2013\u2014]\s+.*",
    re.IGNORECASE | re.DOTALL,
)
"""A program before the name of its file, as drivers of printers write it."""
_FILE = re.compile(
    r".*\.(?:docx?|docm|dotx?|odt|rtf|wpd|pptx?|pptm|ppsx?|odp|xlsx?|xlsm|xlsb|ods|csv|tsv|txt|md|pdf"
    r"|e?ps|ai|indd|indb|idml|qxp|qxd|vsdx?|dwg|dxf|psd|svg|html?|xhtml|php|aspx?|jsp|tex|dvi|tmp|xml|jpe?g|png|tiff?|gif|bmp)"
    r"(?:\s*\(.*\)|\s*\[.*\])?",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(
    r"(?:[a-z]:[\\/]|\\\\|~?/|\.{1,2}[\\/]|[a-z][a-z+.-]*:/).*|about:.*|data:.*", re.IGNORECASE | re.DOTALL
)


def given_title(title: str | None) -> str | None:
    """Return a title that somebody has given, as one line; None for one that a program has made."""
    text = " ".join((title or "")[:MAX_LENGTH].replace("\0", "").split())
    if not any(each.isalnum() for each in text):
        return None
    if _OF_PROGRAMS.fullmatch(text.strip("()[]<> ")) or any(each.fullmatch(text) for each in (_PROGRAM, _FILE, _PATH)):
        return None
    return text


class BlockKind(StrEnum):
    """The kind of a block of text."""

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
        """The text as the file has it."""
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

    @property
    def section(self) -> str | None:
        """The path of headings as one line, or None without headings."""
        return " > ".join(self.headings) or None

"""The reader of documents in the caller's process. The program ``child`` calls it in a separate process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from baton_documents import detection, refusals
from baton_documents.document import Document
from baton_documents.errors import DocumentRefused
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import MediaType
from baton_documents.results import ExtractedText, Inspection
from baton_documents.titles import clean_title

PAGES_AT_ONCE = 20
"""The number of PDF pages in one part, which take some seconds if each has tables."""
SLIDES_AT_ONCE = 250
"""The number of slides in one part. Each part first lists all slides of the file, so there must be few parts."""
SHEETS_AT_ONCE = 4
"""The number of sheets in one part."""
MAX_BLOCKS = 500_000
"""The most blocks of text in one part. Each block takes memory, even one of a single character."""


def read(body: bytes, name: str = "", content_type: str = "") -> Document:
    """Return the document in a file's bytes.

    The content decides the format. The ending of ``name`` and the media type ``content_type`` distinguish Markdown and
    CSV from other texts. A page that cannot be read is among the ``page_errors``. Raises ``DocumentRefused`` if nothing
    can be read, or if the content does not have the type, and ``ImportError`` if a library of the format is missing.

    A hostile file may use all memory, never end, or crash the process: read files of strangers with
    ``processes.read_in_process``.
    """
    extractor = Extractor()
    inspection = extractor.inspect(body, name, content_type)
    charset = MediaType.parse(content_type).charset
    parts = [extractor.extract(body, inspection.form, part, charset) for part in inspection.parts]
    blocks = tuple(block for part in parts for block in part.blocks)
    errors = tuple(error for part in parts for error in part.page_errors)
    if not blocks:
        raise refusals.without_text(inspection.form)
    return Document(inspection.form, blocks, clean_title(parts[0].title), parts[0].pages, errors)


class Extractor:
    """A reader of files of all formats. The libraries of a format are loaded when its first document is read.

    Methods raise ``DocumentRefused``.
    """

    def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        """Return the format of a file, by its content, and its parts."""
        form = self.detect(body, name, content_type)
        return Inspection(form, tuple(self.list_parts(body, form)))

    def detect(self, body: bytes, name: str, content_type: str) -> DocumentFormat:
        """Return the format of a file, like ``detection.detect``."""
        return detection.detect(body, name, content_type)

    def list_parts(self, body: bytes, form: DocumentFormat) -> Sequence[tuple[int, int]]:
        """Return the ranges of pages (first, last, from 1) to extract one by one, as ``Inspection.parts`` has them."""
        with _refuse_damaged():
            return self._find_parts(body, form)

    def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        """Return the text of one part. A page that cannot be read has an error in the result.

        ``charset`` is the label of a text's encoding from its media type; None without one.
        """
        with _refuse_damaged():
            text = self._extract(body, form, part, charset)
        if len(text.blocks) > MAX_BLOCKS:
            raise refusals.too_long()
        return text

    def _find_parts(self, body: bytes, form: DocumentFormat) -> Sequence[tuple[int, int]]:
        match form:
            case DocumentFormat.PDF:
                from baton_documents.pdf import pdf

                return _divide_pages(pdf.count_pages(body), PAGES_AT_ONCE)
            case DocumentFormat.PPTX:
                from baton_documents.slides import pptx

                return _divide_pages(pptx.count_slides(body), SLIDES_AT_ONCE)
            case DocumentFormat.XLSX:
                from baton_documents.sheets import xlsx

                return _divide_pages(xlsx.count_sheets(body), SHEETS_AT_ONCE)
        return [(1, 1)]

    def _extract(self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None) -> ExtractedText:
        match form:
            case DocumentFormat.PDF:
                from baton_documents.pdf import pdf

                return pdf.extract(body, *part)
            case DocumentFormat.DOCX:
                from baton_documents.word import docx

                return docx.extract(body)
            case DocumentFormat.PPTX:
                from baton_documents.slides import pptx

                return pptx.extract(body, *part)
            case DocumentFormat.XLSX:
                from baton_documents.sheets import xlsx

                return xlsx.extract(body, *part)
            case DocumentFormat.HTML:
                from baton_documents.html import page as html_page

                return html_page.extract(body, charset)
            case DocumentFormat.MARKDOWN:
                from baton_documents.text import markdown

                return markdown.extract(body, charset)
            case DocumentFormat.CSV:
                from baton_documents.text import csv_table

                return csv_table.extract(body, charset)
        from baton_documents.text import plain_text

        return plain_text.extract(body, charset)


def _divide_pages(pages: int, at_once: int) -> list[tuple[int, int]]:
    """Return the ranges of pages (first, last); an empty range, (1, 0), if there are no pages."""
    return [(first, min(first + at_once - 1, pages)) for first in range(1, pages + 1, at_once)] or [(1, 0)]


@contextmanager
def _refuse_damaged() -> Iterator[None]:
    """Refuse a file as damaged if a library fails in the ``with`` block."""
    try:
        yield
    except (DocumentRefused, MemoryError, ImportError):
        raise
    except Exception as error:  # libraries raise any exception for damaged files
        raise refusals.damaged() from error

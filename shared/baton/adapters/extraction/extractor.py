"""Extraction of text from documents, in the process of the caller. The program ``child`` is what calls it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from baton.adapters.extraction import detection, refusals
from baton.domain.document import DocumentFormat
from baton.domain.errors import DocumentUnreadable
from baton.domain.extracted import ExtractedText, Inspection

PAGES_AT_ONCE = 20
"""Pages of a PDF in one part: some seconds, even if each has tables."""
SLIDES_AT_ONCE = 250
"""Slides in one part. Each part lists all slides of the file first, so that few of them keep the whole linear."""
SHEETS_AT_ONCE = 4
MAX_BLOCKS = 500_000
"""Blocks of text in one part, because each takes memory, also where it has one character."""


class Extractor:
    """A reader of files of all formats. The libraries of a format are loaded with its first document.

    Methods raise ``DocumentUnreadable``.
    """

    def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        """Return the format that the content has, and its parts."""
        form = self.detect(body, name, content_type)
        return Inspection(form, tuple(self.parts(body, form)))

    def detect(self, body: bytes, name: str, content_type: str) -> DocumentFormat:
        return detection.detect(body, name, content_type)

    def parts(self, body: bytes, form: DocumentFormat) -> Sequence[tuple[int, int]]:
        with _damages():
            return self._parts(body, form)

    def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        with _damages():
            text = self._extract(body, form, part, charset)
        if len(text.blocks) > MAX_BLOCKS:
            raise refusals.too_long()
        return text

    def _parts(self, body: bytes, form: DocumentFormat) -> Sequence[tuple[int, int]]:
        match form:
            case DocumentFormat.PDF:
                from baton.adapters.extraction import pdf

                return _ranges(pdf.pages(body), PAGES_AT_ONCE)
            case DocumentFormat.PPTX:
                from baton.adapters.extraction import pptx

                return _ranges(pptx.pages(body), SLIDES_AT_ONCE)
            case DocumentFormat.XLSX:
                from baton.adapters.extraction import xlsx

                return _ranges(xlsx.pages(body), SHEETS_AT_ONCE)
        return [(1, 1)]

    def _extract(self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None) -> ExtractedText:
        match form:
            case DocumentFormat.PDF:
                from baton.adapters.extraction import pdf

                return pdf.extract(body, *part)
            case DocumentFormat.DOCX:
                from baton.adapters.extraction import docx

                return docx.extract(body)
            case DocumentFormat.PPTX:
                from baton.adapters.extraction import pptx

                return pptx.extract(body, *part)
            case DocumentFormat.XLSX:
                from baton.adapters.extraction import xlsx

                return xlsx.extract(body, *part)
            case DocumentFormat.HTML:
                from baton.adapters.extraction import html_page

                return html_page.extract(body, charset)
            case DocumentFormat.MARKDOWN:
                from baton.adapters.extraction import markdown

                return markdown.extract(body, charset)
            case DocumentFormat.CSV:
                from baton.adapters.extraction import csv_table

                return csv_table.extract(body, charset)
        from baton.adapters.extraction import plain_text

        return plain_text.extract(body, charset)


def _ranges(pages: int, at_once: int) -> list[tuple[int, int]]:
    return [(first, min(first + at_once - 1, pages)) for first in range(1, pages + 1, at_once)] or [(1, 0)]


@contextmanager
def _damages() -> Iterator[None]:
    """Refuse a file as damaged if a library fails in the block."""
    try:
        yield
    except (DocumentUnreadable, MemoryError, ImportError):
        raise
    except Exception as error:  # libraries raise anything for files that are not as they should be
        raise refusals.damaged() from error

"""A document as one text, as a model reads it."""

from __future__ import annotations

from collections.abc import Iterator

from baton_documents import refusals
from baton_documents.formats import MEDIA_TYPES, DocumentFormat
from baton_documents.reader import Extractor
from baton_documents.results import DocumentText, ExtractedText

MAX_CHARACTERS = 200_000
"""The most characters of one document (about 50,000 tokens)."""
_SEPARATOR = "\n\n"
_PAGES = {DocumentFormat.PPTX: "slide", DocumentFormat.XLSX: "sheet"}
"""The words for pages in formats that have slides or sheets instead."""


def read(body: bytes, name: str, form: DocumentFormat) -> DocumentText:
    """Return the text of a document up to ``MAX_CHARACTERS``. Parts after that are not read.

    Raises ``DocumentRefused``, for content of another format too.
    """
    extractor = Extractor()
    media_type = next(media_type for media_type, document_format in MEDIA_TYPES.items() if document_format is form)
    inspection = extractor.inspect(body, name, media_type)
    pieces: list[str] = []
    length = 0
    pages = None
    has_text = False
    for part in inspection.parts:
        extracted = extractor.extract(body, form, part)
        pages = extracted.pages
        has_text = has_text or bool(extracted.blocks)
        for piece in _format_blocks(extracted, _PAGES.get(form, "page")):
            length += len(piece) + (len(_SEPARATOR) if pieces else 0)
            pieces.append(piece)
            if length > MAX_CHARACTERS:
                return DocumentText(_SEPARATOR.join(pieces)[:MAX_CHARACTERS], pages, is_cut=True)
    if not has_text:
        raise refusals.without_text(form)
    return DocumentText(_SEPARATOR.join(pieces), pages)


def _format_blocks(extracted: ExtractedText, page_word: str) -> Iterator[str]:
    """Yield the texts of blocks, with a line before each page. A page with an error has a line with its message."""
    errors = sorted(extracted.page_errors, key=lambda error: error.page)
    page: int | None = None
    for block in extracted.blocks:
        if block.page is not None and block.page != page:
            while errors and errors[0].page < block.page:
                yield _format_page_line(page_word, errors[0].page, errors.pop(0).message)
            page = block.page
            yield _format_page_line(page_word, page)
        yield block.markdown
    for error in errors:
        yield _format_page_line(page_word, error.page, error.message)


def _format_page_line(page_word: str, page: int, message: str | None = None) -> str:
    return f"[{page_word} {page}: {message}]" if message else f"[{page_word} {page}]"

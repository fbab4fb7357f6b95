"""Extraction without libraries: pages are parted by form feeds, headings begin with "#"."""

from __future__ import annotations

from baton.domain.errors import DocumentUnreadable
from baton_documents.errors import DocumentRefused
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import MediaType, choose_text_format, find_formats
from baton_documents.results import BlockKind, ExtractedText, Inspection, PageError, Sitemap, TextBlock
from baton_documents.text.sitemaps import read_sitemap

PAGES_AT_ONCE = 2
UNREADABLE = "(unreadable)"
"""A page with this text cannot be read."""


class PlainTextExtractor:
    """``TextExtractor`` that reads every file as text in its charset or UTF-8."""

    async def inspect(self, body: bytes, name: str, content_type: str) -> Inspection:
        media_type = MediaType.parse(content_type)
        try:
            text = body.decode(media_type.charset or "utf-8")
        except UnicodeDecodeError:
            raise DocumentUnreadable(
                reason="document_mislabelled", detail="The file is not what its content type says."
            ) from None
        if not text.strip():
            raise DocumentUnreadable(reason="document_empty", detail="The file is empty.")
        count = len(_pages(body, media_type.charset))
        parts = ((first, min(first + PAGES_AT_ONCE - 1, count)) for first in range(1, count + 1, PAGES_AT_ONCE))
        formats = find_formats(media_type, name)
        return Inspection(choose_text_format(formats, body) or formats[0], tuple(parts))

    async def extract(
        self, body: bytes, form: DocumentFormat, part: tuple[int, int], charset: str | None = None
    ) -> ExtractedText:
        pages = _pages(body, charset)
        blocks: list[TextBlock] = []
        errors: list[PageError] = []
        for number in range(part[0], part[1] + 1):
            text = pages[number - 1].strip()
            if text == UNREADABLE:
                errors.append(PageError(number, "The page cannot be read."))
                continue
            for paragraph in filter(None, text.split("\n\n")):
                is_heading = paragraph.startswith("#")
                kind = BlockKind.HEADING if is_heading else BlockKind.PARAGRAPH
                blocks.append(TextBlock(kind, paragraph.lstrip("# "), number, 1 if is_heading else None))
        return ExtractedText(tuple(blocks), None, len(pages), tuple(errors))

    async def read_sitemap(self, body: bytes, *, limit: int, charset: str | None = None) -> Sitemap:
        try:
            return read_sitemap(body, limit=limit, charset=charset)
        except DocumentRefused as problem:
            raise DocumentUnreadable(problem.detail, reason=problem.reason) from problem


def _pages(body: bytes, charset: str | None) -> list[str]:
    return body.decode(charset or "utf-8").split("\f")

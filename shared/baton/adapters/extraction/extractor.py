"""Extraction of text from documents."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.extraction import plain_text, refusals
from baton.domain.document import MEDIA_TYPES, DocumentFormat
from baton.domain.extracted import ExtractedText


class Extractor:
    """``TextExtractor``. The library of a format is loaded with its first document."""

    def detect(self, body: bytes, name: str, content_type: str) -> DocumentFormat:
        form = MEDIA_TYPES.get(content_type)
        if form is not DocumentFormat.TEXT:
            raise refusals.unsupported(content_type)
        if not plain_text.decoded(body).strip():
            raise refusals.empty()
        return form

    def parts(self, body: bytes, form: DocumentFormat) -> Sequence[tuple[int, int]]:
        return [(1, 1)]

    def extract(self, body: bytes, form: DocumentFormat, part: tuple[int, int]) -> ExtractedText:
        return plain_text.extract(body)

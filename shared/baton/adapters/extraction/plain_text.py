"""Plain text in any encoding."""

from __future__ import annotations

import codecs
import re

from baton.adapters.extraction import refusals
from baton.domain.extracted import BlockKind, ExtractedText, TextBlock

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks. That of UTF-32 begins like that of UTF-16."""
_LEGACY = "cp1252"
"""What text is read as that is no UTF and mostly ASCII: the commonest of the older encodings, as browsers do."""
_FOREIGN = 0.25
"""The share of other bytes from which on a text is taken to be in another script, whose encoding is guessed."""
_SAMPLE = 64 * 1024
_PARAGRAPH = re.compile(r"\S.*(?:\n.*\S.*)*")
"""Lines without a blank one between them."""
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no page is in. A page may declare them: one takes time by the square of its length."""


def decoded(body: bytes, declared: str | None = None) -> str:
    """Return a file as text, with its lines ended by line feeds. Raises ``DocumentUnreadable`` for binary content."""
    text = _decoded(body, declared)
    if "\0" in text:
        raise refusals.mislabelled("text", "binary")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def extract(body: bytes) -> ExtractedText:
    """Return the paragraphs of a text, which blank lines part."""
    return ExtractedText(tuple(paragraphs(decoded(body))))


def paragraphs(text: str) -> list[TextBlock]:
    """Return the paragraphs of a text, verbatim."""
    found: list[TextBlock] = []
    end = 0
    for match in _PARAGRAPH.finditer(text):
        found.append(TextBlock(BlockKind.PARAGRAPH, match[0].rstrip(), space=text[end : match.start()]))
        end = match.start() + len(found[-1].text)
    return found


def _decoded(body: bytes, declared: str | None) -> str:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    for encoding in filter(None, (declared, "utf-8")):
        try:
            if codecs.lookup(encoding).name not in _NO_CHARSETS:
                return body.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return body.decode(_guessed(body[:_SAMPLE]), "replace")


def _guessed(sample: bytes) -> str:
    if sum(byte > 127 for byte in sample) < _FOREIGN * len(sample):
        return _LEGACY
    from charset_normalizer import from_bytes

    found = from_bytes(sample).best()
    return found.encoding if found is not None else _LEGACY

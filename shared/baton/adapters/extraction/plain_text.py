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
_UNMARKED_WIDE = 8
"""Of this many characters one at least is Latin in text of any script without ideograms: spaces, digits, line ends."""
_PARAGRAPH = re.compile(r"\S.*(?:\n.*\S.*)*")
"""Lines without a blank one between them."""
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no page is in. A page may declare them: one takes time by the square of its length."""


def decoded(body: bytes, declared: str | None = None) -> str:
    """Return a file as text, with its lines ended by line feeds. Raises ``DocumentUnreadable`` for binary content."""
    text = decoded_as_it_is(body, declared)
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


def decoded_as_it_is(body: bytes, declared: str | None = None) -> str:
    """Return a file as text, whatever it is: line ends and NUL characters are left as they are."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    for encoding in filter(None, (declared, _unmarked_wide(body), "utf-8")):
        try:
            if codecs.lookup(encoding).name not in _NO_CHARSETS:
                return body.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return body.decode(_guessed(body[:_SAMPLE]), "replace")


def _unmarked_wide(body: bytes) -> str | None:
    """Return the UTF-16 that text without a byte order mark is in: one byte of each Latin character is zero."""
    sample = body[:_SAMPLE]
    pairs, zeros_of_little, zeros_of_big = len(sample) // 2, sample[1::2].count(0), sample[0::2].count(0)
    many, few = max(zeros_of_little, zeros_of_big), min(zeros_of_little, zeros_of_big)
    if len(body) % 2 or not many or many * _UNMARKED_WIDE < pairs or few * 20 > many:
        return None
    return "utf-16-le" if zeros_of_little > zeros_of_big else "utf-16-be"


def _guessed(sample: bytes) -> str:
    if sum(byte > 127 for byte in sample) < _FOREIGN * len(sample):
        return _LEGACY
    from charset_normalizer import from_bytes

    found = from_bytes(sample).best()
    return found.encoding if found is not None else _LEGACY

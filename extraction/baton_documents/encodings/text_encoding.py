"""The encoding of a text: the one decoder of documents, attachments, web pages and answers of services.

In this order, what names an encoding decides: a byte order mark, the charset of the media type (of an HTTP header or an
announcement), and the declaration in a web page or XML file. The names mean what they mean in browsers (WHATWG Encoding
Standard, https://encoding.spec.whatwg.org). Otherwise the content decides (``encoding_detection``).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

import webencodings

from baton_documents.encodings.detection import RESTORED, SAMPLE, count_characters, detect_encoding, is_utf8
from baton_documents.media_types import UNKNOWN, MediaType

GUESSING = 32
"""The time that guessing an encoding takes, as a multiple of the other work on a text."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
"""Byte order marks. That of UTF-32 begins like that of UTF-16."""
_PRESCAN = 8 * 1024
"""Bytes in which a file declares its encoding. Browsers look at 1,024, but pages with more before it are common."""
_WRONG = 3
"""Places of a sample that cannot be decoded, and more of them than of those that can, overrule a declaration.
One or two may be damage: a damaged byte parts a character into two."""
_CODECS = {
    # Where browsers read more than Python's codec of that name does.
    "gbk": "gb18030",
    "iso-2022-jp": "iso2022_jp_ext",
    # Browsers read it that way in pages; elsewhere it stands for bytes that are not text.
    "x-user-defined": "cp1252",
}
_NOT_READ = "replacement"
"""The name for encodings that browsers do not read. Such a declaration counts for nothing."""
_UTF32 = {"utf-32le": "utf-32-le", "utf-32be": "utf-32-be", "utf-32": "utf-32-le"}
"""Labels that browsers do not know, and that are unmistakable."""
_XML = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']\s*([\w.:-]{1,64})""")
_META = re.compile(
    rb"""<!--(?:-?>|.*?(?:-->|\Z))|<meta[\s/]((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>""", re.IGNORECASE | re.DOTALL
)
"""Comments, and elements that may declare an encoding (HTML standard, "prescan a byte stream")."""
_ATTRIBUTE = re.compile(rb"""(?<![^\s=>/"'])([^\s=>/"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))""")
_IN_CONTENT = re.compile(rb"""charset\s*=\s*["']?\s*([\w.:()+-]{1,64})""", re.IGNORECASE)
_BLANK = re.compile(rb"[\t\n\r ]")
_PAGE = re.compile(rb"\s*<(!doctype\s+html|html|head)\b", re.IGNORECASE)
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """A way to decode the bytes of a text."""

    codec: str
    """Python's name of it."""
    mark: int = 0
    """Bytes of the mark in front of the text."""

    def decode(self, body: bytes) -> str:
        """Return the text, with U+FFFD for what cannot be decoded."""
        return body[self.mark :].decode(self.codec, _errors(self.codec)).removeprefix("\ufeff")

    def decode_pieces(self, body: bytes, size: int) -> Iterator[str]:
        """Yield the text of ``size`` bytes at a time."""
        decoder = codecs.getincrementaldecoder(self.codec)(_errors(self.codec))
        for start in range(self.mark, len(body), size):
            yield decoder.decode(body[start : start + size], final=start + size >= len(body))


def find_encoding(body: bytes, media_type: MediaType = UNKNOWN) -> TextEncoding:
    """Return the encoding of a text.

    The charset of its media type, or a declaration in the content, is overruled only where most of the text cannot be
    decoded by it.
    """
    for mark, marked in _MARKS:
        if body.startswith(mark):
            return TextEncoding(marked, len(mark))
    for codec in (_codec_of(media_type.charset), _own_codec(body[:_PRESCAN], media_type.essence)):
        if codec is not None and _is_possible(body, codec):
            return TextEncoding(codec)
    return TextEncoding(detect_encoding(body))


def decode_text(body: bytes, media_type: MediaType = UNKNOWN) -> str:
    """Return the text of a file or a page. See ``find_encoding``."""
    return find_encoding(body, media_type).decode(body)


def _errors(codec: str) -> str:
    return RESTORED if codec in ("euc_jp", "iso2022_jp_ext", "gb18030") else "replace"


def _codec_of(label: str | None) -> str | None:
    """Return the codec of a label of the web. Python's other codecs are slow, or are not text encodings."""
    if label is None:
        return None
    encoding = webencodings.lookup(label)
    if encoding is None:
        return _UTF32.get(label.strip().lower())
    return (
        None
        if encoding.name == _NOT_READ
        else _CODECS.get(encoding.name) or codecs.lookup(encoding.codec_info.name).name
    )


def _is_possible(body: bytes, codec: str) -> bool:
    """Return whether a text may be in the encoding that was declared for it."""
    if codec.startswith(("utf-16", "utf-32")):
        # Next to every text is UTF-16, byte by byte. One with blanks that is UTF-8 too is not UTF-16.
        return b"\0" in body[:SAMPLE] or _BLANK.search(body) is None or not is_utf8(body)
    if b"\0" in body[:SAMPLE]:  # in no other encoding
        return not detect_encoding(body).startswith(("utf-16", "utf-32"))
    first = re.search(rb"[\x80-\xff]", body)
    if first is None:
        return True
    wrong, right = count_characters(body[first.start() : first.start() + SAMPLE].decode(codec, _errors(codec)))
    return wrong < _WRONG or wrong < right


def _own_codec(beginning: bytes, essence: str) -> str | None:
    """Return the first encoding that a file declares."""
    codec = next(filter(None, map(_codec_of, _own_labels(beginning, essence))), None)
    # The declaration could not be read if it were so.
    return "utf-8" if codec is not None and codec.startswith(("utf-16", "utf-32")) else codec


def _own_labels(beginning: bytes, essence: str) -> Iterator[str]:
    """Yield the encodings that a web page or an XML file declares."""
    is_page = essence in _HTML_TYPES or (not essence and bool(_PAGE.match(beginning)))
    is_xml = not essence or essence in ("text/xml", "application/xml") or essence.endswith("+xml")
    if (is_xml or is_page) and (match := _XML.match(beginning)):
        yield match[1].decode("ascii")
    for tag in _META.finditer(beginning) if is_page else ():
        about: dict[bytes, bytes] = {}
        for match in _ATTRIBUTE.finditer(tag[1] or b""):  # a comment has none
            about.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
        if label := about.get(b"charset"):
            yield label.decode("latin-1")
        elif about.get(b"http-equiv", b"").strip().lower() == b"content-type" and (
            match := _IN_CONTENT.search(about.get(b"content", b""))
        ):
            yield match[1].decode("ascii")

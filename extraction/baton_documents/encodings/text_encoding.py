"""The encoding of a text: the one decoder of documents, attachments, web pages and answers of services.

The first of these decides: a byte order mark, the charset of the media type (from an HTTP header or the sender), and
the declaration in a web page or XML file. Names of encodings have the meaning that browsers give them (WHATWG Encoding
Standard, https://encoding.spec.whatwg.org). Without any, the content decides (``encodings.detection``).
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
"""The time to guess an encoding, as a multiple of the time for the other work on a text."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
"""Byte order marks. UTF-32 is checked first, because its mark begins with the mark of UTF-16."""
_PRESCAN = 8 * 1024
"""The first bytes of a file that may declare its encoding. Browsers examine 1,024, but later ones are common."""
_WRONG = 3
"""The fewest places of a sample that cannot be decoded if a declaration is to be ignored. They must also be at least as
many as the decoded characters beyond ASCII. One or two may be damage, since one damaged byte may affect two characters.
"""
_CODECS = {
    # Encodings in which browsers decode more characters than Python's codec of that name does.
    "gbk": "gb18030",
    "iso-2022-jp": "iso2022_jp_ext",
    # Browsers read pages this way; elsewhere the name means bytes that are not text.
    "x-user-defined": "cp1252",
}
_NOT_READ = "replacement"
"""The name for encodings that browsers do not read. Such a declaration is ignored."""
_UTF32 = {"utf-32le": "utf-32-le", "utf-32be": "utf-32-be", "utf-32": "utf-32-le"}
"""Labels of UTF-32, which browsers do not know but which are unambiguous."""
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
    """The encoding of a text, with the length of its byte order mark."""

    codec: str
    """Python's name of the encoding."""
    mark: int = 0
    """The number of bytes of the byte order mark before the text."""

    def decode(self, body: bytes) -> str:
        """Return the text, with U+FFFD in place of bytes that cannot be decoded."""
        return body[self.mark :].decode(self.codec, _choose_error_handler(self.codec)).removeprefix("\ufeff")

    def decode_pieces(self, body: bytes, size: int) -> Iterator[str]:
        """Yield the text piece by piece, each decoded from ``size`` bytes. A piece may be empty."""
        decoder = codecs.getincrementaldecoder(self.codec)(_choose_error_handler(self.codec))
        for start in range(self.mark, len(body), size):
            yield decoder.decode(body[start : start + size], final=start + size >= len(body))


def find_encoding(body: bytes, media_type: MediaType = UNKNOWN) -> TextEncoding:
    """Return the encoding of a text.

    The charset of the media type, or a declaration in the content, is ignored if browsers do not know it, if most
    characters beyond ASCII cannot be decoded with it, or if zero bytes or their absence contradict it.
    """
    for mark, marked_codec in _MARKS:
        if body.startswith(mark):
            return TextEncoding(marked_codec, len(mark))
    for codec in (_find_codec(media_type.charset), _find_declared_codec(body[:_PRESCAN], media_type.essence)):
        if codec is not None and _is_possible(body, codec):
            return TextEncoding(codec)
    return TextEncoding(detect_encoding(body))


def decode_text(body: bytes, media_type: MediaType = UNKNOWN) -> str:
    """Return the text of a file or a page, decoded with the result of ``find_encoding``."""
    return find_encoding(body, media_type).decode(body)


def _choose_error_handler(codec: str) -> str:
    return RESTORED if codec in ("euc_jp", "iso2022_jp_ext", "gb18030") else "replace"


def _find_codec(label: str | None) -> str | None:
    """Return the codec of a label; None if neither browsers nor ``_UTF32`` know it.

    Python has further codecs, which are slow or not of text.
    """
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
    """Return whether a text may have the declared encoding."""
    if codec.startswith(("utf-16", "utf-32")):
        # The bytes of nearly every text are valid UTF-16. A text with white space that is valid UTF-8 is not UTF-16.
        return b"\0" in body[:SAMPLE] or _BLANK.search(body) is None or not is_utf8(body)
    if b"\0" in body[:SAMPLE]:  # only wide encodings have zero bytes
        return not detect_encoding(body).startswith(("utf-16", "utf-32"))
    first = re.search(rb"[\x80-\xff]", body)
    if first is None:
        return True
    wrong, right = count_characters(
        body[first.start() : first.start() + SAMPLE].decode(codec, _choose_error_handler(codec))
    )
    return wrong < _WRONG or wrong < right


def _find_declared_codec(beginning: bytes, essence: str) -> str | None:
    """Return the codec of the first known encoding that a file declares; None without any."""
    codec = next(filter(None, map(_find_codec, _find_declared_labels(beginning, essence))), None)
    # The declaration was read as ASCII, so the file is not in the wide encoding that it names.
    return "utf-8" if codec is not None and codec.startswith(("utf-16", "utf-32")) else codec


def _find_declared_labels(beginning: bytes, essence: str) -> Iterator[str]:
    """Yield the labels of encodings that a web page or an XML file declares."""
    is_page = essence in _HTML_TYPES or (not essence and bool(_PAGE.match(beginning)))
    is_xml = not essence or essence in ("text/xml", "application/xml") or essence.endswith("+xml")
    if (is_xml or is_page) and (match := _XML.match(beginning)):
        yield match[1].decode("ascii")
    for tag in _META.finditer(beginning) if is_page else ():
        attributes: dict[bytes, bytes] = {}
        for match in _ATTRIBUTE.finditer(tag[1] or b""):  # a comment has none
            attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
        if label := attributes.get(b"charset"):
            yield label.decode("latin-1")
        elif attributes.get(b"http-equiv", b"").strip().lower() == b"content-type" and (
            match := _IN_CONTENT.search(attributes.get(b"content", b""))
        ):
            yield match[1].decode("ascii")

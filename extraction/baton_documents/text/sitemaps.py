"""Sitemaps and sitemap indexes (https://www.sitemaps.org/protocol.html), plain or compressed with gzip."""

from __future__ import annotations

import zlib
from typing import NoReturn
from xml.parsers import expat

from baton_documents.encodings.text_encoding import find_encoding
from baton_documents.media_types import MediaType
from baton_documents.refusals import no_sitemap
from baton_documents.results import Sitemap

MAX_XML_BYTES = 50 * 1024 * 1024
"""The most bytes of a decompressed file, as the protocol says."""
MAX_DEPTH = 8
"""The deepest nesting of elements. Sitemaps have three levels, and extensions add few."""
_GZIP = b"\x1f\x8b"
_PIECE = 64 * 1024


def read_sitemap(body: bytes, *, limit: int, charset: str | None = None) -> Sitemap:
    """Return the first ``limit`` addresses of a sitemap or a sitemap index. Raises ``DocumentRefused`` for other files.

    ``charset`` is the label in the HTTP header. A file with a document type, which could define entities, is refused.
    """
    reading = _Reading(limit)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    try:
        xml = b"".join(_decompress(body))
        encoding = find_encoding(xml, MediaType("application/xml", charset))
        for piece in encoding.decode_pieces(xml, _PIECE):
            parser.Parse(piece, False)  # noqa: FBT003 - takes no names
            if not reading.sitemap.is_complete:
                return reading.sitemap
        parser.Parse("", True)  # noqa: FBT003
    except expat.ExpatError as error:
        raise no_sitemap(f"It is no well-formed XML: {error}.") from None
    if not reading.is_sitemap:
        raise no_sitemap("It is XML, but no sitemap.")
    return reading.sitemap


class _Reading:
    """The addresses of one file, collected while it is parsed."""

    def __init__(self, limit: int) -> None:
        self.sitemap = Sitemap()
        self.is_sitemap = False
        self._limit = limit
        self._path: list[str] = []
        self._text: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name.rpartition(" ")[2])
        if len(self._path) > MAX_DEPTH:
            raise no_sitemap("Its elements are nested too deep.")
        if len(self._path) == 1:
            self.is_sitemap = self._path[0] in ("urlset", "sitemapindex")
        self._text, self._length = [], 0

    def text(self, data: str) -> None:
        self._length += len(data)
        if self._length <= 4096:  # an address has at most 2,048 characters
            self._text.append(data)

    def end(self, name: str) -> None:
        if self._path in (["urlset", "url", "loc"], ["sitemapindex", "sitemap", "loc"]):
            into = self.sitemap.urls if self._path[0] == "urlset" else self.sitemap.sitemaps
            if len(into) < self._limit:
                into.append("".join(self._text).strip())
            else:
                self.sitemap.is_complete = False
        self._path.pop()


def _refuse_doctype(*_: object) -> NoReturn:
    raise no_sitemap("It has a document type, which sitemaps have not.")


def _decompress(body: bytes) -> list[bytes]:
    """Return the XML in pieces, decompressed if necessary.

    Raises ``DocumentRefused`` if the bytes cannot be decompressed, or if they exceed ``MAX_XML_BYTES``.
    """
    if not body.startswith(_GZIP):
        return [body]
    inflate = zlib.decompressobj(wbits=31)
    pieces: list[bytes] = []
    total, rest = 0, body
    try:
        while rest and not inflate.eof:
            pieces.append(inflate.decompress(rest, _PIECE))
            rest = inflate.unconsumed_tail
            total += len(pieces[-1])
            if total > MAX_XML_BYTES:
                raise no_sitemap(f"It has more than {MAX_XML_BYTES} bytes when it is decompressed.")
    except zlib.error as error:
        raise no_sitemap(f"It cannot be decompressed: {error}.") from None
    if not inflate.eof:
        raise no_sitemap("It is cut off.")
    return pieces

"""XML of Office files: checks of streams, and trees with one set of names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any
from xml.parsers import expat

from lxml import etree

from baton_documents import refusals

MAX_ELEMENTS = 1_000_000
"""The most elements of all XML that becomes trees."""
MAX_TREE_ROOM = 256 * 1024 * 1024
"""The most bytes of memory of all trees, as ``_ELEMENT`` and ``_ATTRIBUTE`` estimate them."""
MAX_DEPTH = 150
"""The deepest nesting of elements, because functions that walk through trees are recursive."""
MAX_NAMES = 10_000
"""The most distinct names of elements and attributes in one entry. Parsers never release them."""
MAX_TOKEN = 4 * 1024 * 1024
"""The most bytes of a tag or a comment, and between streamed elements, because parsers keep them in memory."""
_ELEMENT = 128
_ATTRIBUTE = 224
"""Bytes of memory of an element, and of an attribute with its value, which are nodes of libxml2 (version 2.14)."""
_PIECE = 256 * 1024

_STRICT = "http://purl.oclc.org/ooxml/"
_TRANSITIONAL = "http://schemas.openxmlformats.org/"
_PREFIXES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "o": "urn:schemas-microsoft-com:office:office",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "rel": "http://schemas.openxmlformats.org/package/2006/relationships",
    "s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "types": "http://schemas.openxmlformats.org/package/2006/content-types",
    "v": "urn:schemas-microsoft-com:vml",
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "xdr": "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
}
"""Name spaces of ISO/IEC 29500 in their transitional form, and of Microsoft's extensions."""


@lru_cache(maxsize=512)
def qname(name: str) -> str:
    """Return the name of an element or attribute, such as ``w:p``, with its name space in braces."""
    prefix, _, local = name.partition(":")
    return f"{{{_PREFIXES[prefix]}}}{local}"


def to_transitional(uri: str) -> str:
    """Return the transitional form of a strict file's name space or type of relation. Other URIs are unchanged."""
    if not uri.startswith(_STRICT):
        return uri
    family, _, rest = uri.removeprefix(_STRICT).partition("/")
    return f"{_TRANSITIONAL}{family}/2006/{rest}"


def parse(content: bytes) -> Any:
    """Return the root of a tree with transitional names. Raises ``XMLSyntaxError``."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(content, parser)
    if root.tag.startswith("{" + _STRICT):
        for element in root.iter():
            element.tag = _rename(element.tag)
            for name, value in element.attrib.items():
                if name.startswith("{" + _STRICT):
                    del element.attrib[name]
                    element.set(_rename(name), value)
    return root


def stream_elements(content: IO[bytes], *names: str) -> Iterator[Any]:
    """Yield the elements with these local names. An element is complete, and its memory is released afterwards.

    Raises ``DocumentRefused`` if more than ``MAX_TOKEN`` bytes are between them, and ``XMLSyntaxError``.
    """
    tags = [f"{{*}}{name}" for name in names]
    parser = etree.XMLPullParser(
        events=("end",), tag=tags, resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    since = 0
    while piece := content.read(_PIECE):
        parser.feed(piece)
        since += len(piece)
        for _, element in parser.read_events():
            since = 0
            yield element
            element.clear(keep_tail=True)
            # The last element is kept because libxml2 may still add the text after it.
            while element.getprevious() is not None:
                del element.getparent()[0]
        if since > MAX_TOKEN:
            raise refusals.bomb()
    parser.close()


def _rename(name: str) -> str:
    uri, _, local = name.removeprefix("{").rpartition("}")
    return f"{{{to_transitional(uri)}}}{local}" if uri else name


class XmlRoom:
    """The memory that the XML of a file takes as trees. Entries are added before their trees are built.

    The parser keeps only one token in memory. The size of a token and the depth are bounded too.
    """

    def __init__(self) -> None:
        self._elements = 0
        self._attributes = 0
        self._texts = 0

    def add(self, content: IO[bytes]) -> str:
        """Add an entry, and return its root's name as ``qname`` does.

        Raises ``DocumentRefused`` if the entry is damaged, has a document type, or is too large or too deep.
        """
        root = ""
        depth = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal root, depth
            root = root or name
            depth += 1
            if depth > MAX_DEPTH:
                raise refusals.too_deep()
            self._elements += 1
            self._attributes += len(attributes)

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1

        def start_name_space(prefix: str | None, uri: str | None) -> None:
            self._attributes += 1

        def text(data: str) -> None:
            self._texts += 1

        def refuse(*_: object) -> None:
            raise refusals.unsafe()

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.StartNamespaceDeclHandler = start_name_space
        parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = refuse
        try:
            since, before = 0, 0
            while piece := content.read(_PIECE):
                parser.Parse(piece, False)  # noqa: FBT003 - takes no names
                parsed = self._elements + self._texts
                since = since + len(piece) if parsed == before else 0
                before = parsed
                if since > MAX_TOKEN or len(parser.intern) > MAX_NAMES or self._is_full:
                    raise refusals.bomb()
            parser.Parse(b"", True)  # noqa: FBT003
        except (expat.ExpatError, LookupError):  # the second for an encoding that Python does not know
            raise refusals.damaged() from None
        uri, _, local = root.rpartition(" ")
        return f"{{{to_transitional(uri)}}}{local}"

    @property
    def _is_full(self) -> bool:
        room = (self._elements + self._texts) * _ELEMENT + self._attributes * _ATTRIBUTE
        return self._elements > MAX_ELEMENTS or room > MAX_TREE_ROOM


def read_toggle(properties: Any | None, name: str) -> bool | None:
    """Return whether the property ``name`` of ``w:rPr`` and the like is on; None if it is not set."""
    child = properties.find(qname(name)) if properties is not None else None
    return child.get(qname("w:val"), "1") not in ("0", "off", "false") if child is not None else None

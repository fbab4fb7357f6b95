"""The objects of PDF files, examined within bounds before PDFium reads them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import PDFObjRef, PDFStream
from pdfminer.psparser import PSLiteral

from baton_documents import refusals
from baton_documents.pdf.streams import PROBLEMS, unpack

MAX_PAGES = 5_000
"""The most pages of a file."""
_MAX_NODES = 20_000
"""The most nodes of the trees of pages and of form fields."""
MAX_TREE = 64
"""The most levels of these trees, and of calls of XObjects that are followed."""
_HOPS = 20
"""The most references that are followed from reference to reference."""
CALL = re.compile(rb"(?:/([^\s\0/<>\[\](){}%#]+)[\s\0]+)?(?<![^\s\0<>\[\](){}/%])Do(?![^\s\0<>\[\](){}/%])")
"""A call of an XObject. The group is None if the name is written in an unusual way."""


class _BoundedDocument(PDFDocument):
    """A document whose object streams have a bounded size."""

    def _get_objects(self, stream: PDFStream) -> tuple[list[object], int]:
        if unpack(stream) is None:
            raise refusals.bomb()
        return super()._get_objects(stream)


@dataclass(slots=True)
class PdfGraph:
    """The objects of one file."""

    document: PDFDocument
    _pages: list[Mapping[str, Any]] = field(default_factory=list)
    _small: set[int] = field(default_factory=set)
    """The numbers of objects that were examined and are not too large."""
    _forms: dict[object, Mapping[str, Any]] = field(default_factory=dict)
    """The forms of dictionaries of XObjects, which many resources may share."""

    @classmethod
    def of(cls, body: bytes) -> PdfGraph | None:
        """Return a file's graph; None if only PDFium can read it.

        Raises ``DocumentRefused`` if the file is encrypted, or if an object stream is too large.
        """
        try:
            return cls(_BoundedDocument(PDFParser(io.BytesIO(body))))
        except PDFPasswordIncorrect:
            raise refusals.encrypted() from None
        except PROBLEMS:
            return None

    @property
    def catalog(self) -> Mapping[str, Any]:
        """The root dictionary of the file; empty if it is damaged."""
        return self.read_dictionary(self.document.catalog)

    def check_fields(self) -> None:
        """Raise ``DocumentRefused`` if a form has too many fields, or fields that contain themselves."""
        form = self.read_dictionary(self.catalog.get("AcroForm"))
        for _ in self._walk_tree(self.read_array(form.get("Fields")), {}):
            pass

    def walk_pages(self) -> Iterator[Mapping[str, Any]]:
        """Yield the pages in their order, with inherited values. Raises ``DocumentRefused`` if there are too many."""
        count = 0
        root = self.catalog.get("Pages")
        for node in self._walk_tree([root], {}, inherited=("Resources", "MediaBox", "CropBox", "Rotate")):
            if "Kids" in node:
                continue
            count += 1
            if count > MAX_PAGES:
                raise refusals.too_long()
            yield node

    def find_page(self, number: int) -> Mapping[str, Any]:
        """Return the page with a number from 1; an empty dictionary if it is missing.

        Raises ``DocumentRefused`` if there are too many pages.
        """
        self._pages = self._pages or list(self.walk_pages())
        return self._pages[number - 1] if number <= len(self._pages) else {}

    def _walk_tree(
        self, roots: list[Any], above: Mapping[str, Any], inherited: tuple[str, ...] = ()
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the nodes of a tree, a node once for every reference to it. ``inherited`` names the inherited keys.

        Raises ``DocumentRefused`` if there are too many nodes or levels.
        """
        ahead = [(root, above, 1) for root in reversed(roots)]
        nodes = 0
        while ahead:
            node, above, level = ahead.pop()
            own = self.read_dictionary(node)
            nodes += 1
            if nodes > _MAX_NODES or level > MAX_TREE:
                raise refusals.too_long() if nodes > _MAX_NODES else refusals.too_deep()
            merged = {**{key: above[key] for key in inherited if key in above}, **own}
            yield merged
            if "Kids" in own:
                kids = self.read_array(own["Kids"])
                if len(ahead) + len(kids) > _MAX_NODES:
                    raise refusals.too_long()
                ahead += [(kid, merged, level + 1) for kid in reversed(kids)]

    def has_bomb(self, resources: Any) -> bool:
        """Return whether a font, a colour space or another object of resources is too large when it is unpacked.

        Pictures may be large, because PDFium does not unpack them to find text.
        """
        ahead = [resources]
        while ahead:
            value = ahead.pop()
            if isinstance(value, PDFObjRef):
                if value.objid in self._small:
                    continue
                self._small.add(value.objid)
                value = self.resolve(value)
            if isinstance(value, PDFStream):
                is_picture = read_name(self.resolve(value.attrs.get("Subtype"))) == "Image"
                if not is_picture and unpack(value) is None:
                    self._small.clear()
                    return True
                value = value.attrs
            if isinstance(value, dict):
                ahead += [child for key, child in value.items() if key not in ("Parent", "P", "StructParent")]
            elif isinstance(value, list):
                ahead += [child for child in value if isinstance(child, (PDFObjRef, PDFStream, dict, list))]
        return False

    def find_forms(self, resources: Any) -> Mapping[str, Any]:
        """Return the references to the form XObjects of resources, by the names of the forms."""
        objects = self.read_dictionary(resources).get("XObject")
        key = identify(objects)
        if key not in self._forms:
            references = self.read_dictionary(objects).items()
            self._forms[key] = {name: reference for name, reference in references if self._is_form(reference)}
        return self._forms[key]

    def _is_form(self, reference: Any) -> bool:
        stream = self.resolve(reference)
        return isinstance(stream, PDFStream) and read_name(self.resolve(stream.attrs.get("Subtype"))) != "Image"

    def resolve(self, value: Any) -> Any:
        """Return the object of a reference, and other values unchanged; None if the object is missing."""
        for _ in range(_HOPS):
            if not isinstance(value, PDFObjRef):
                return value
            try:
                value = self.document.getobj(value.objid)
            except PROBLEMS:
                return None
        return None

    def read_dictionary(self, value: Any) -> Mapping[str, Any]:
        """Return a dictionary or the dictionary of a stream; an empty one for any other object."""
        value = self.resolve(value)
        if isinstance(value, PDFStream):
            return dict(value.attrs)
        return value if isinstance(value, dict) else {}

    def read_array(self, value: Any) -> list[Any]:
        """Return an array; an empty one for any other object."""
        value = self.resolve(value)
        return value if isinstance(value, list) else []


def identify(value: Any) -> object:
    """Return a key that is equal for equal references, and for other values only if they are the same object."""
    return value.objid if isinstance(value, PDFObjRef) else f"object {id(value)}"


def read_name(value: Any) -> str:
    """Return the text of a name object; empty for any other object."""
    return str(value.name) if isinstance(value, PSLiteral) else ""


def decode_name(name: bytes) -> str:
    """Return a name in the content of a stream in the form in which pdfminer has the keys of dictionaries."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return str(name)

"""Bounds of PDF files, checked before PDFium reads them.

PDFium makes objects of all that a page draws, and again each time a form XObject is called: some kilobytes may stand
for gigabytes. Here the objects of a file are walked and nothing is carried out: calls are counted in the streams, and
multiplied along each path.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import PDFObjRef, PDFStream
from pdfminer.psparser import PSLiteral

from baton.adapters.extraction import refusals
from baton.adapters.extraction.pdf_streams import PROBLEMS, unpacked

MAX_EXECUTIONS = 10_000
"""Streams that one page carries out: its own, and form XObjects as often as they are called."""
MAX_LEVELS = 10
"""Form XObjects inside each other."""
MAX_CONTENT = 32 * 1024 * 1024
"""Bytes of streams that one page carries out. PDFium needs up to 40 times as much memory."""
MAX_CHARACTERS = 1_000_000
"""Bytes of strings that one page carries out. PDFium needs up to 700 bytes for a character."""
MAX_ANNOTATIONS = 2_000
"""Notes, links and fields of one page."""
MAX_PAGES = 5_000
_MAX_NODES = 20_000
"""Nodes of the trees of pages and of form fields."""
_MAX_TREE = 64
"""Levels of these trees, and of calls that are followed."""
_HOPS = 20
"""References to references."""
CALL = re.compile(rb"(?:/([^\s\0/<>\[\](){}%#]+)[\s\0]+)?(?<![^\s\0<>\[\](){}/%])Do(?![^\s\0<>\[\](){}/%])")
"""A call of an XObject. It has no name if that is written in an unusual way."""
_STRING = re.compile(rb"\((?:[^()\\]|\\.)*+\)|<[0-9A-Fa-f\s]*+>", re.DOTALL)


class Cost(NamedTuple):
    """Resources that carrying out a stream takes, with all that it calls."""

    executions: int = 0
    content: int = 0
    """Bytes."""
    characters: int = 0
    levels: int = 0

    @property
    def is_too_high(self) -> bool:
        return (
            self.executions > MAX_EXECUTIONS
            or self.content > MAX_CONTENT
            or self.characters > MAX_CHARACTERS
            or self.levels > MAX_LEVELS
        )

    def plus(self, other: Cost, times: int = 1) -> Cost:
        """Return the cost with that of another stream that is called so many times."""
        return Cost(
            self.executions + times * other.executions,
            self.content + times * other.content,
            self.characters + times * other.characters,
            max(self.levels, other.levels),
        )


BOUNDLESS = Cost(executions=MAX_EXECUTIONS + 1)


class _BoundedDocument(PDFDocument):
    """A document whose streams of objects are bounded."""

    def _get_objects(self, stream: PDFStream) -> tuple[list[object], int]:
        if unpacked(stream) is None:
            raise refusals.bomb()
        return super()._get_objects(stream)


@dataclass(slots=True)
class PdfGraph:
    """The objects of one file."""

    document: PDFDocument
    count: int = 0
    """Pages that were looked at."""
    _pages: list[Mapping[str, Any]] = field(default_factory=list)
    _costs: dict[tuple[object, object], Cost] = field(default_factory=dict)
    _small: set[int] = field(default_factory=set)
    """Numbers of objects that are not too large."""
    _around: set[tuple[object, object]] = field(default_factory=set)
    """Forms whose cost is being counted. One that calls itself has none."""

    @classmethod
    def of(cls, body: bytes) -> PdfGraph | None:
        """Return the graph of a file, None if only PDFium can read it. Raises ``DocumentUnreadable``."""
        try:
            return cls(_BoundedDocument(PDFParser(io.BytesIO(body))))
        except PDFPasswordIncorrect:
            raise refusals.encrypted() from None
        except PROBLEMS:
            return None

    @property
    def catalog(self) -> Mapping[str, Any]:
        return self.dictionary(self.document.catalog)

    def costly_pages(self, first: int, last: int) -> set[int]:
        """Return those of a range of pages that are too large to be read. Raises ``DocumentUnreadable``."""
        found = set()
        for number, page in enumerate(self.pages(), 1):
            if number > last:
                break
            self.count = max(self.count, number)
            if number >= first and self._page_cost(page).is_too_high:
                found.add(number)
        return found

    def check_fields(self) -> None:
        """Raise ``DocumentUnreadable`` if a form has too many fields, or fields in a circle."""
        form = self.dictionary(self.catalog.get("AcroForm"))
        for _ in self._tree(self.array(form.get("Fields")), {}):
            pass

    def pages(self) -> Iterator[Mapping[str, Any]]:
        """Yield the pages in their order, with what they inherit. Raises ``DocumentUnreadable``."""
        count = 0
        root = self.catalog.get("Pages")
        for node in self._tree([root], {}, inherited=("Resources", "MediaBox", "CropBox", "Rotate")):
            if "Kids" in node:
                continue
            count += 1
            if count > MAX_PAGES:
                raise refusals.too_long()
            yield node

    def page(self, number: int) -> Mapping[str, Any]:
        """Return a page, an empty one if there is none. Raises ``DocumentUnreadable``."""
        self._pages = self._pages or list(self.pages())
        return self._pages[number - 1] if number <= len(self._pages) else {}

    def _tree(
        self, roots: list[Any], above: Mapping[str, Any], inherited: tuple[str, ...] = ()
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the nodes of a tree, each as often as it is referred to."""
        ahead = [(each, above, 1) for each in reversed(roots)]
        nodes = 0
        while ahead:
            node, above, level = ahead.pop()
            own = self.dictionary(node)
            nodes += 1
            if nodes > _MAX_NODES or level > _MAX_TREE:
                raise refusals.too_long() if nodes > _MAX_NODES else refusals.too_deep()
            merged = {**{key: above[key] for key in inherited if key in above}, **own}
            yield merged
            if "Kids" in own:
                kids = self.array(own["Kids"])
                if len(ahead) + len(kids) > _MAX_NODES:
                    raise refusals.too_long()
                ahead += [(kid, merged, level + 1) for kid in reversed(kids)]

    def _page_cost(self, page: Mapping[str, Any]) -> Cost:
        contents = self.resolved(page.get("Contents"))
        streams = Counter(map(_identity, contents)) if isinstance(contents, list) else Counter([_identity(contents)])
        by_identity = {_identity(each): each for each in (contents if isinstance(contents, list) else [contents])}
        resources = page.get("Resources")
        if len(self.array(page.get("Annots"))) > MAX_ANNOTATIONS:
            return BOUNDLESS
        if self._has_bomb(resources):
            return BOUNDLESS
        total = self._fonts_cost(resources, 1)
        for identity, times in streams.items():
            total = total.plus(self._stream_cost(by_identity[identity], resources, 0), times)
            if total.is_too_high:
                break
        return total

    def _has_bomb(self, resources: Any) -> bool:
        """Return whether a font, a colour space or anything else of resources is too large when it is unpacked.

        Pictures may be large. PDFium does not unpack them for their text.
        """
        ahead = [resources]
        while ahead:
            value = ahead.pop()
            if isinstance(value, PDFObjRef):
                if value.objid in self._small:
                    continue
                self._small.add(value.objid)
                value = self.resolved(value)
            if isinstance(value, PDFStream):
                is_picture = name_of(self.resolved(value.attrs.get("Subtype"))) == "Image"
                if not is_picture and unpacked(value) is None:
                    self._small.clear()
                    return True
                value = value.attrs
            if isinstance(value, dict):
                ahead += [each for key, each in value.items() if key not in ("Parent", "P", "StructParent")]
            elif isinstance(value, list):
                ahead += [each for each in value if isinstance(each, (PDFObjRef, PDFStream, dict, list))]
        return False

    def _stream_cost(self, reference: Any, resources: Any, level: int) -> Cost:
        """Return the cost of a stream at a level of calls. The resources of a form are its own or the caller's."""
        stream = self.resolved(reference)
        if not isinstance(stream, PDFStream):
            return Cost()
        resources = stream.attrs.get("Resources", resources) if level else resources
        key = _identity(reference), _identity(resources)
        if key in self._costs:
            return self._costs[key]
        if key in self._around or level > _MAX_TREE:
            return BOUNDLESS
        self._around.add(key)
        content = unpacked(stream)
        if content is None:
            cost = BOUNDLESS
        else:
            characters = len(content)
            if characters > MAX_CHARACTERS // 100:
                characters = sum(found.end() - found.start() for found in _STRING.finditer(content))
            cost = Cost(1, len(content), characters).plus(self._calls_cost(content, resources, level))
        self._around.discard(key)
        self._costs[key] = cost
        return cost

    def _calls_cost(self, content: bytes, resources: Any, level: int) -> Cost:
        calls = Counter(found[1] for found in CALL.finditer(content))
        forms = {
            name.encode("latin-1", "replace"): each
            for name, each in (self.forms(resources) if calls else ())
        }  # fmt: skip
        costs = {name: self._stream_cost(each, resources, level + 1) for name, each in forms.items()}
        total = self._fonts_cost(resources, level + 1) if level else Cost()
        for name, times in calls.items():
            if name in costs:
                total = total.plus(costs[name], times)
            elif name is None and costs:  # a name that is written in another way may be any
                total = total.plus(max(costs.values()), times)
        return total._replace(levels=total.levels + 1) if calls and costs else total

    def forms(self, resources: Any) -> Iterator[tuple[str, Any]]:
        """Yield the names of form XObjects, and references to them."""
        for name, each in self.dictionary(self.dictionary(resources).get("XObject")).items():
            stream = self.resolved(each)
            if isinstance(stream, PDFStream) and name_of(self.resolved(stream.attrs.get("Subtype"))) != "Image":
                yield str(name), each

    def _fonts_cost(self, resources: Any, level: int) -> Cost:
        """Return the cost of the glyphs of Type 3 fonts, which are streams too. PDFium carries each out once."""
        total = Cost()
        for each in self.dictionary(self.dictionary(resources).get("Font")).values():
            font = self.dictionary(each)
            if name_of(self.resolved(font.get("Subtype"))) != "Type3":
                continue
            key = "Type3", _identity(each)
            if key in self._around or level > _MAX_TREE:
                return BOUNDLESS
            if key not in self._costs:
                self._around.add(key)
                cost = Cost()
                for glyph in self.dictionary(font.get("CharProcs")).values():
                    cost = cost.plus(self._stream_cost(glyph, font.get("Resources", resources), level))
                    if cost.is_too_high:
                        break
                self._around.discard(key)
                self._costs[key] = cost
            total = total.plus(self._costs[key])
        return total

    def resolved(self, value: Any) -> Any:
        """Return an object in place of a reference to it, None if there is none."""
        for _ in range(_HOPS):
            if not isinstance(value, PDFObjRef):
                return value
            try:
                value = self.document.getobj(value.objid)
            except PROBLEMS:
                return None
        return None

    def dictionary(self, value: Any) -> Mapping[str, Any]:
        """Return a dictionary, or an empty one in place of anything else."""
        value = self.resolved(value)
        if isinstance(value, PDFStream):
            return dict(value.attrs)
        return value if isinstance(value, dict) else {}

    def array(self, value: Any) -> list[Any]:
        """Return an array, or an empty one in place of anything else."""
        value = self.resolved(value)
        return value if isinstance(value, list) else []


def _identity(value: Any) -> object:
    return value.objid if isinstance(value, PDFObjRef) else f"object {id(value)}"


def name_of(value: Any) -> str:
    """Return the text of a name, an empty one in place of anything else."""
    return str(value.name) if isinstance(value, PSLiteral) else ""

"""Text of presentations: the visible content of slides, and the speaker's notes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from baton_documents import refusals
from baton_documents.office import drawings
from baton_documents.office.package import OfficePackage, distinct
from baton_documents.office.xml import qname
from baton_documents.results import BlockKind, ExtractedText, PageError, TextBlock
from baton_documents.slides.order import Place, in_reading_order, place_of
from baton_documents.text.plain_text import MAX_REPEATED, table_text

MAX_SLIDES = 5_000
MAX_PROBLEMS = 100
"""The most messages about one slide."""
_PROBLEMS = (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, etree.LxmlError)
"""Exceptions for parts that are missing or damaged."""
_BODY = qname("p:txBody")
_PLACEHOLDER = f"{qname('p:nvPr')}/{qname('p:ph')}"
_SHAPES = frozenset(map(qname, ("p:sp", "p:graphicFrame", "p:cxnSp", "p:grpSp")))
_OFF = ("0", "false", "off")
_ON = ("1", "true", "on")


def pages(body: bytes) -> int:
    """Return the number of slides, including hidden ones. Raises ``DocumentRefused``."""
    return len(_Presentation(body).slides)


def extract(body: bytes, first: int, last: int) -> ExtractedText:
    """Return the text of slides: titles, text in shapes, tables, charts, then the speaker's notes.

    Hidden slides and shapes are left out, as in a slide show.
    """
    presentation = _Presentation(body)
    blocks: list[TextBlock] = []
    errors: list[PageError] = []
    for number, name in enumerate(presentation.slides[first - 1 : last], first):
        try:
            slide = _Slide(presentation, name, number)
            blocks += slide.read()
            errors += [PageError(number, problem) for problem in slide.problems]
        except _PROBLEMS:
            errors.append(PageError(number, "The slide is damaged."))
    title = presentation.package.title
    return ExtractedText(tuple(blocks), title, len(presentation.slides), tuple(errors))


class _Presentation:
    """A file, and the names of the parts with its slides in their order; empty names for missing ones."""

    def __init__(self, body: bytes) -> None:
        try:
            self.package = OfficePackage.opened(body)
            main = self.package.main or ""
            relations = self.package.relations(main)
            ids = self.package.tree(main).iterfind(f"{qname('p:sldIdLst')}/{qname('p:sldId')}")
            slides = (relations.get(slide_id.get(qname("r:id"), "")) for slide_id in ids)
            self._layouts: dict[str, _Layout] = {}
            self.slides = distinct(slide.target if slide is not None else "" for slide in slides)
        except _PROBLEMS:
            raise refusals.damaged() from None
        if len(self.slides) > MAX_SLIDES:
            raise refusals.too_long()

    def layout(self, slide: str) -> _Layout:
        """Return the values that a slide's placeholders inherit; an empty layout if it is missing or damaged."""
        try:
            name = self.package.related(slide, "slideLayout")
            if name is None:
                return _Layout()
            if name not in self._layouts:
                self._layouts[name] = self._read_layout(name)
            return self._layouts[name]
        except _PROBLEMS:
            return _Layout()

    def _read_layout(self, name: str) -> _Layout:
        layout = _Layout()
        master = self.package.related(name, "slideMaster")
        shapes = list(_visible(_tree(self.package.tree(master)))) if master is not None else []
        of_types = {_placeholder_type(shape): place_of(shape) for shape in shapes}
        for shape in _visible(_tree(self.package.tree(name))):
            idx = _placeholder(shape).get("idx")
            if idx is None:
                continue
            if (body := shape.find(_BODY)) is not None:
                layout.bodies[idx] = body
            if (place := place_of(shape) or of_types.get(_placeholder_type(shape))) is not None:
                layout.places[idx] = place
        return layout


@dataclass(frozen=True, slots=True)
class _Layout:
    """The bodies and places that the placeholders of a slide inherit, by the placeholders' ids."""

    bodies: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)


class _Slide:
    """One slide and its notes."""

    def __init__(self, presentation: _Presentation, name: str, number: int) -> None:
        self._package = presentation.package
        self._layout = presentation.layout(name)
        self._name = name
        self._number = number
        self._title: Any | None = None
        self._parts_read: set[str] = set()
        self.problems: list[str] = []

    def read(self) -> list[TextBlock]:
        """Return the blocks of the slide: the title, the shapes in the order of reading, and the notes."""
        root = self._package.tree(self._name)
        if root.get("show", "1") in _OFF:
            self._report("The slide is hidden, so it is left out.")
            return []
        if pictures := sum(1 for _ in root.iter(qname("p:pic"))):
            self._report(refusals.left_out(pictures, "picture"))
        shapes = list(_shapes(_tree(root), self._layout.places))
        self._title = next((shape for shape in shapes if _is_title(shape)), None)
        blocks = []
        if self._title is not None and (text := "\n".join(_texts(self._title, {}))):
            blocks.append(TextBlock(BlockKind.HEADING, text, self._number, 1))
        for shape in shapes:
            if shape is not self._title:
                blocks += self._shape(shape)
        return blocks + list(self._speaker_notes())

    def _shape(self, shape: Any) -> Iterator[TextBlock]:
        yield from self._paragraphs(shape, self._layout.bodies.get(_placeholder(shape).get("idx", "")))
        for table in shape.iterfind(f"{qname('a:graphic')}/{qname('a:graphicData')}/{qname('a:tbl')}"):
            if text := table_text(_rows(table)):
                yield TextBlock(BlockKind.TABLE, text, self._number)
        for data in shape.iterfind(f"{qname('a:graphic')}/{qname('a:graphicData')}"):
            yield from self._graphic(data)

    def _graphic(self, data: Any) -> Iterator[TextBlock]:
        """Yield the blocks of a chart or a diagram. Report an embedded object of another program."""
        for kind, name, attribute in (("chart", "c:chart", "r:id"), ("diagram", "dgm:relIds", "r:dm")):
            for element in data.iterfind(qname(name)):
                try:
                    part = self._package.relations(self._name)[element.get(qname(attribute), "")].target
                    if part in self._parts_read:  # in a genuine file, each chart has its own part
                        continue
                    self._parts_read.add(part)
                    root = self._package.tree(part)
                except (KeyError, etree.LxmlError):
                    self._report(f"A {kind} cannot be read.")
                    continue
                for block in drawings.chart(root) if kind == "chart" else drawings.diagram(root):
                    yield TextBlock(block.kind, block.text, self._number)
        if next(data.iter(qname("cx:chart")), None) is not None:
            self._report("A chart of a newer kind cannot be read.")
        embedded = next(data.iter(qname("p:oleObj")), None)
        if embedded is not None:
            name = embedded.get("progId", "")[:60] or "of an unknown program"
            self._report(f"An embedded object ({name}) cannot be read.")

    def _report(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def _speaker_notes(self) -> Iterator[TextBlock]:
        name = self._package.related(self._name, "notesSlide")
        if name is None:
            return
        shapes = _shapes(_tree(self._package.tree(name)), {})
        notes = next((shape for shape in shapes if _placeholder(shape).get("type") == "body"), None)
        if notes is not None:
            yield from self._paragraphs(notes)

    def _paragraphs(self, shape: Any, of_layout: Any | None = None) -> Iterator[TextBlock]:
        texts = _texts(shape, drawings.levels(of_layout) if of_layout is not None else {})
        kind = BlockKind.LIST_ITEM if len(texts) > 1 else BlockKind.PARAGRAPH
        for text in texts:
            yield TextBlock(kind, text, self._number)


def _tree(root: Any) -> Any:
    tree = root.find(f"{qname('p:cSld')}/{qname('p:spTree')}")
    if tree is None:
        raise KeyError("p:spTree")
    return tree


def _shapes(container: Any, places: Mapping[str, Place]) -> Iterator[Any]:
    """Yield the visible shapes in the order of reading. The shapes of a group are read together.

    ``places`` are the inherited places of placeholders, by their ids.
    """
    visible = list(_visible(container))
    placed = [(place_of(shape) or places.get(_placeholder(shape).get("idx", "")), shape) for shape in visible]
    for shape in in_reading_order(placed):
        if shape.tag == qname("p:grpSp"):
            yield from _shapes(shape, places)
        else:
            yield shape


def _visible(container: Any) -> Iterator[Any]:
    """Yield visible shapes. Of alternatives (``mc:AlternateContent``), the first with visible shapes is used."""
    for child in container:
        if child.tag == qname("mc:AlternateContent"):
            yield from next(filter(None, (list(_visible(form)) for form in child)), [])
        elif child.tag in _SHAPES and not _is_hidden(child):
            yield child


def _is_hidden(shape: Any) -> bool:
    properties = shape[0].find(qname("p:cNvPr")) if len(shape) else None
    return properties is not None and properties.get("hidden", "0") in _ON


def _placeholder(shape: Any) -> Any:
    placeholder = shape[0].find(_PLACEHOLDER) if len(shape) else None
    return placeholder if placeholder is not None else {}


def _placeholder_type(shape: Any) -> str:
    """Return the type by which a placeholder inherits from a master. Content inherits from the master's body."""
    kind = str(_placeholder(shape).get("type", "obj"))
    return {"obj": "body", "subTitle": "body", "ctrTitle": "title"}.get(kind, kind)


def _is_title(shape: Any) -> bool:
    placeholder = _placeholder(shape)
    return placeholder != {} and (
        placeholder.get("type") in ("title", "ctrTitle") or placeholder.get("idx", "0") == "0"
    )


def _texts(shape: Any, inherited: Mapping[str, Any]) -> list[str]:
    body = shape.find(_BODY)
    return list(drawings.paragraphs(body, inherited)) if body is not None else []


def _rows(table: Any) -> Iterator[list[str]]:
    """Yield the texts of a table's rows. A cell over several rows is repeated, one over several columns is not."""
    above: dict[int, str] = {}
    for row in table.iterfind(qname("a:tr")):
        texts = []
        for column, cell in enumerate(row.iterfind(qname("a:tc"))):
            if cell.get("hMerge", "0") in _ON:
                texts.append("")
            elif cell.get("vMerge", "0") in _ON:
                texts.append(above.get(column, ""))
            else:
                body = cell.find(qname("a:txBody"))
                texts.append(" ".join(drawings.paragraphs(body)) if body is not None else "")
        above = {column: text for column, text in enumerate(texts) if len(text) <= MAX_REPEATED}
        yield texts

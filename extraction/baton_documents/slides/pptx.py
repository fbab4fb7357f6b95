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
from baton_documents.office.package import OfficePackage, blank_repeated
from baton_documents.office.xml import qname
from baton_documents.results import BlockKind, ExtractedText, PageError, TextBlock
from baton_documents.slides.order import Place, find_place, sort_by_reading_order
from baton_documents.text.plain_text import MAX_REPEATED, format_table

MAX_SLIDES = 5_000
"""The most slides of a presentation, including hidden ones."""
MAX_PROBLEMS = 100
"""The most messages about one slide."""
_PROBLEMS = (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, etree.LxmlError)
"""Exceptions for parts that are missing or damaged."""
_BODY = qname("p:txBody")
_PLACEHOLDER = f"{qname('p:nvPr')}/{qname('p:ph')}"
_SHAPES = frozenset(map(qname, ("p:sp", "p:graphicFrame", "p:cxnSp", "p:grpSp")))
_OFF = ("0", "false", "off")
_ON = ("1", "true", "on")


def count_slides(body: bytes) -> int:
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
            self.package = OfficePackage.from_bytes(body)
            main = self.package.main or ""
            relations = self.package.find_relations(main)
            ids = self.package.read_tree(main).iterfind(f"{qname('p:sldIdLst')}/{qname('p:sldId')}")
            slides = (relations.get(slide_id.get(qname("r:id"), "")) for slide_id in ids)
            self._layouts: dict[str, _Layout] = {}
            self.slides = blank_repeated(slide.target if slide is not None else "" for slide in slides)
        except _PROBLEMS:
            raise refusals.damaged() from None
        if len(self.slides) > MAX_SLIDES:
            raise refusals.too_long()

    def find_layout(self, slide: str) -> _Layout:
        """Return the values that a slide's placeholders inherit; an empty layout if it is missing or damaged."""
        try:
            name = self.package.find_related(slide, "slideLayout")
            if name is None:
                return _Layout()
            if name not in self._layouts:
                self._layouts[name] = self._read_layout(name)
            return self._layouts[name]
        except _PROBLEMS:
            return _Layout()

    def _read_layout(self, name: str) -> _Layout:
        layout = _Layout()
        master = self.package.find_related(name, "slideMaster")
        shapes = list(_find_visible(_find_shape_tree(self.package.read_tree(master)))) if master is not None else []
        master_places = {_find_placeholder_type(shape): find_place(shape) for shape in shapes}
        for shape in _find_visible(_find_shape_tree(self.package.read_tree(name))):
            idx = _find_placeholder(shape).get("idx")
            if idx is None:
                continue
            if (body := shape.find(_BODY)) is not None:
                layout.bodies[idx] = body
            if (place := find_place(shape) or master_places.get(_find_placeholder_type(shape))) is not None:
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
        self._layout = presentation.find_layout(name)
        self._name = name
        self._number = number
        self._title: Any | None = None
        self._parts_read: set[str] = set()
        self.problems: list[str] = []

    def read(self) -> list[TextBlock]:
        """Return the blocks of the slide: the title, the shapes in the order of reading, and the notes."""
        root = self._package.read_tree(self._name)
        if root.get("show", "1") in _OFF:
            self._report("The slide is hidden, so it is left out.")
            return []
        if pictures := sum(1 for _ in root.iter(qname("p:pic"))):
            self._report(refusals.describe_left_out(pictures, "picture"))
        shapes = list(_order_shapes(_find_shape_tree(root), self._layout.places))
        self._title = next((shape for shape in shapes if _is_title(shape)), None)
        blocks = []
        if self._title is not None and (text := "\n".join(_read_texts(self._title, {}))):
            blocks.append(TextBlock(BlockKind.HEADING, text, self._number, 1))
        for shape in shapes:
            if shape is not self._title:
                blocks += self._read_shape(shape)
        return blocks + list(self._read_speaker_notes())

    def _read_shape(self, shape: Any) -> Iterator[TextBlock]:
        yield from self._read_paragraphs(shape, self._layout.bodies.get(_find_placeholder(shape).get("idx", "")))
        for table in shape.iterfind(f"{qname('a:graphic')}/{qname('a:graphicData')}/{qname('a:tbl')}"):
            if text := format_table(_read_rows(table)):
                yield TextBlock(BlockKind.TABLE, text, self._number)
        for data in shape.iterfind(f"{qname('a:graphic')}/{qname('a:graphicData')}"):
            yield from self._read_graphic(data)

    def _read_graphic(self, data: Any) -> Iterator[TextBlock]:
        """Yield the blocks of a chart or a diagram. Report an embedded object of another program."""
        for kind, name, attribute in (("chart", "c:chart", "r:id"), ("diagram", "dgm:relIds", "r:dm")):
            for element in data.iterfind(qname(name)):
                try:
                    part = self._package.find_relations(self._name)[element.get(qname(attribute), "")].target
                    if part in self._parts_read:  # in a genuine file, each chart has its own part
                        continue
                    self._parts_read.add(part)
                    root = self._package.read_tree(part)
                except (KeyError, etree.LxmlError):
                    self._report(f"A {kind} cannot be read.")
                    continue
                for block in drawings.read_chart(root) if kind == "chart" else drawings.read_diagram(root):
                    yield TextBlock(block.kind, block.text, self._number)
        if next(data.iter(qname("cx:chart")), None) is not None:
            self._report("A chart of a newer kind cannot be read.")
        embedded = next(data.iter(qname("p:oleObj")), None)
        if embedded is not None:
            name = embedded.get("progId", "")[:60] or "of an unknown program"
            self._report(f"An embedded object ({name}) cannot be read.")

    def _report(self, problem: str) -> None:
        """Note a problem of the slide, up to ``MAX_PROBLEMS``."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def _read_speaker_notes(self) -> Iterator[TextBlock]:
        """Yield the blocks of the speaker's notes, if there are any. Report notes that cannot be read."""
        name = self._package.find_related(self._name, "notesSlide")
        if name is None:
            return
        try:
            shapes = list(_order_shapes(_find_shape_tree(self._package.read_tree(name)), {}))
        except _PROBLEMS:
            self._report("The speaker's notes cannot be read.")
            return
        notes = next((shape for shape in shapes if _find_placeholder(shape).get("type") == "body"), None)
        if notes is not None:
            yield from self._read_paragraphs(notes)

    def _read_paragraphs(self, shape: Any, layout_body: Any | None = None) -> Iterator[TextBlock]:
        texts = _read_texts(shape, drawings.read_levels(layout_body) if layout_body is not None else {})
        kind = BlockKind.LIST_ITEM if len(texts) > 1 else BlockKind.PARAGRAPH
        for text in texts:
            yield TextBlock(kind, text, self._number)


def _find_shape_tree(root: Any) -> Any:
    """Return the tree of shapes of a slide, layout or master. Raises ``KeyError`` if it is missing."""
    tree = root.find(f"{qname('p:cSld')}/{qname('p:spTree')}")
    if tree is None:
        raise KeyError("p:spTree")
    return tree


def _order_shapes(container: Any, places: Mapping[str, Place]) -> Iterator[Any]:
    """Yield the visible shapes in the order of reading. The shapes of a group are read together.

    ``places`` are the inherited places of placeholders, by their ids.
    """
    visible = list(_find_visible(container))
    placed = [(find_place(shape) or places.get(_find_placeholder(shape).get("idx", "")), shape) for shape in visible]
    for shape in sort_by_reading_order(placed):
        if shape.tag == qname("p:grpSp"):
            yield from _order_shapes(shape, places)
        else:
            yield shape


def _find_visible(container: Any) -> Iterator[Any]:
    """Yield visible shapes. Of alternatives (``mc:AlternateContent``), the first with visible shapes is used."""
    for child in container:
        if child.tag == qname("mc:AlternateContent"):
            yield from next(filter(None, (list(_find_visible(form)) for form in child)), [])
        elif child.tag in _SHAPES and not _is_hidden(child):
            yield child


def _is_hidden(shape: Any) -> bool:
    properties = shape[0].find(qname("p:cNvPr")) if len(shape) else None
    return properties is not None and properties.get("hidden", "0") in _ON


def _find_placeholder(shape: Any) -> Any:
    """Return the placeholder element of a shape; an empty mapping if the shape is not a placeholder."""
    placeholder = shape[0].find(_PLACEHOLDER) if len(shape) else None
    return placeholder if placeholder is not None else {}


def _find_placeholder_type(shape: Any) -> str:
    """Return the type by which a placeholder inherits from a master. Content inherits from the master's body."""
    kind = str(_find_placeholder(shape).get("type", "obj"))
    return {"obj": "body", "subTitle": "body", "ctrTitle": "title"}.get(kind, kind)


def _is_title(shape: Any) -> bool:
    """Return whether a shape is the placeholder of the title, which has a type of titles or no index."""
    placeholder = _find_placeholder(shape)
    return placeholder != {} and (
        placeholder.get("type") in ("title", "ctrTitle") or placeholder.get("idx", "0") == "0"
    )


def _read_texts(shape: Any, inherited: Mapping[str, Any]) -> list[str]:
    body = shape.find(_BODY)
    return list(drawings.read_paragraphs(body, inherited)) if body is not None else []


def _read_rows(table: Any) -> Iterator[list[str]]:
    """Yield the texts of a table's rows. A cell over several rows is repeated, unless it is long.

    A cell over several columns is not repeated: empty cells follow it.
    """
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
                texts.append(" ".join(drawings.read_paragraphs(body)) if body is not None else "")
        above = {column: text for column, text in enumerate(texts) if len(text) <= MAX_REPEATED}
        yield texts

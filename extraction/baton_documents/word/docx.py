"""Text of Word documents as Word shows it without marks of changes, in the order of reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lxml import etree

from baton_documents import refusals
from baton_documents.office import drawings
from baton_documents.office.package import OfficePackage
from baton_documents.office.xml import qname, read_toggle
from baton_documents.results import BlockKind, ExtractedText, PageError, TextBlock
from baton_documents.text.plain_text import MAX_REPEATED, format_table
from baton_documents.word import headers as word_headers
from baton_documents.word.numbering import WordNumbering
from baton_documents.word.paragraphs import Note, ParagraphText, WordTextReader
from baton_documents.word.styles import WordStyle, WordStyles, read_number, read_value

MAX_PROBLEMS = 100
"""The most messages about a document."""
MAX_SPAN = 63
"""The most columns of a table (a limit of Word)."""
_P, _TABLE, _ROW, _CELL = map(qname, ("w:p", "w:tbl", "w:tr", "w:tc"))
_ALTERNATIVES = qname("mc:AlternateContent")
_LEFT_OUT = frozenset(
    map(qname, ("w:sdtPr", "w:sdtEndPr", "w:customXmlPr", "w:smartTagPr", "w:del", "w:moveFrom", "w:sectPr", "w:tblPr"))
)
_PAGE = 1
"""The page of all messages, because a document has no pages before a program lays it out."""


def extract(body: bytes) -> ExtractedText:
    """Return headers and footers, then paragraphs, lists and tables in their order, then the referenced notes."""
    try:
        document = _Document(OfficePackage.from_bytes(body))
        blocks = tuple(document.read())
        errors = tuple(PageError(_PAGE, message) for message in document.problems)
        return ExtractedText(blocks, document.package.title, page_errors=errors)
    except (KeyError, ValueError, etree.LxmlError):
        # Parts are missing, or are not XML.
        raise refusals.damaged() from None


class _Document:
    """The stories of a document: the body and its notes."""

    def __init__(self, package: OfficePackage) -> None:
        if package.main is None:
            raise KeyError("officeDocument")
        self.package = package
        self.problems: list[str] = []
        self._charts: set[str] = set()
        self._styles = WordStyles(self._read_related("styles"))
        self._numbering = WordNumbering(self._read_related("numbering"), self._styles)
        self._reader = WordTextReader(self._styles)
        self._part = package.main
        self._notes: dict[Note, None] = {}
        self._merged = ""
        """The text of a paragraph whose end was deleted, which belongs to the next paragraph."""

    def read(self) -> Iterator[TextBlock]:
        """Yield the blocks of headers and footers, of the body, and of the notes in the order of their references."""
        body = self.package.read_tree(self._part).find(qname("w:body"))
        if body is None:
            raise KeyError("w:body")
        yield from self._read_headers(body)
        self._report_left_out(body)
        self._part = self.package.main or ""
        yield from self._read_story(body)
        stories = {kind: self._read_notes(f"{kind}s") for kind in {note.kind for note in self._notes}}
        for note in list(self._notes):
            element = stories[note.kind][1].get(note.note_id)
            if element is not None:
                self._part = stories[note.kind][0]
                yield from self._read_story(element)

    def _read_headers(self, body: Any) -> Iterator[TextBlock]:
        """Yield the blocks of headers and footers. Equal texts are yielded once."""
        read: set[str] = set()
        relations = self.package.find_relations(self._part)
        for name in word_headers.find_used_parts(body, self._read_related("settings"), relations):
            try:
                root = self.package.read_tree(name)
            except (KeyError, etree.LxmlError):
                self._report("A header or footer cannot be read.")
                continue
            self._part = name
            word_headers.remove_page_numbers(root)
            for block in self._read_story(root):
                if block.text not in read:
                    read.add(block.text)
                    yield block

    def _report_left_out(self, body: Any) -> None:
        """Report the numbers of pictures and comments."""
        comments = self._read_related("comments")
        for count, noun in (
            (sum(1 for _ in body.iter("{*}blip", "{*}imagedata")), "picture"),
            (sum(1 for _ in comments.iter(qname("w:comment"))) if comments is not None else 0, "comment"),
        ):
            if count:
                self._report(refusals.describe_left_out(count, noun))

    def _read_related(self, kind: str) -> Any | None:
        """Return the tree of the part that the main part refers to with this kind; None without one."""
        name = self.package.find_related(self.package.main or "", kind)
        return self.package.read_tree(name) if name is not None else None

    def _read_notes(self, kind: str) -> tuple[str, dict[str, Any]]:
        """Return the name of the part with the notes of a kind, and the notes by their ids; both may be empty."""
        name = self.package.find_related(self.package.main or "", kind)
        notes = self.package.read_tree(name) if name is not None else ()
        return name or "", {note.get(qname("w:id"), ""): note for note in notes}

    def _read_story(self, story: Any) -> Iterator[TextBlock]:
        """Yield the blocks of the body, a header or footer, or a note."""
        self._reader.begin_story(story)
        yield from self._read_blocks(story)
        if self._merged.strip():
            yield TextBlock(BlockKind.PARAGRAPH, self._merged.strip())
        self._merged = ""

    def _read_blocks(self, container: Any, *, is_hidden: bool = False) -> Iterator[TextBlock]:
        for element in _find_content(container):
            if element.tag == _P:
                yield from self._read_paragraph_blocks(element, is_hidden=is_hidden)
            elif element.tag == _TABLE:
                yield from self._read_table(element)
            else:
                self._report("An embedded document cannot be read.")

    def _read_paragraph_blocks(self, element: Any, *, is_hidden: bool) -> Iterator[TextBlock]:
        properties = element.find(qname("w:pPr"))
        style_id, style = self._styles.find_paragraph_style(properties)
        paragraph = self._read_paragraph(element, style, is_hidden=is_hidden)
        text = (self._merged + paragraph.text).strip()
        if _is_end_deleted(properties):
            self._merged += paragraph.text
        else:
            self._merged = ""
            list_place = self._numbering.find_place(properties, style_id)
            number = (
                self._numbering.take_number(list_place)
                if list_place is not None and not self._is_skipped(properties, text)
                else ""
            )
            if text:
                yield _make_block(text, number, style, properties, is_item=list_place is not None)
        yield from self._read_attached(paragraph)

    def _read_paragraph(self, element: Any, style: WordStyle, *, is_hidden: bool) -> ParagraphText:
        """Return the text of a paragraph. Its notes and problems become those of the document."""
        paragraph_text = self._reader.read_paragraph(element, style, is_hidden_by_table=is_hidden)
        self._notes.update(dict.fromkeys(paragraph_text.notes))
        start = " ".join(paragraph_text.text.split())[:40]
        for problem in paragraph_text.problems:
            self._report(f'{problem[:-1]} (at "{start}").' if start else problem)
        return paragraph_text

    def _report(self, problem: str) -> None:
        """Note a problem of the document, up to ``MAX_PROBLEMS``."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def _read_attached(self, paragraph_text: ParagraphText) -> Iterator[TextBlock]:
        """Yield the text boxes and charts of a paragraph."""
        for box in paragraph_text.boxes:
            yield from self._read_blocks(box)
        for kind, relation_id in paragraph_text.charts:
            try:
                name = self.package.find_relations(self._part)[relation_id].target
                if name not in self._charts:  # in a genuine file, each chart has its own part
                    self._charts.add(name)
                    root = self.package.read_tree(name)
                    yield from drawings.read_chart(root) if kind == "chart" else drawings.read_diagram(root)
            except (KeyError, etree.LxmlError):
                self._report(f"A {kind} cannot be read.")

    def _is_skipped(self, properties: Any | None, text: str) -> bool:
        """Return whether a paragraph is neither shown nor counted: it is empty, and its end is hidden."""
        marks = properties.find(qname("w:rPr")) if properties is not None else None
        return not text and bool(read_toggle(marks, "w:vanish"))

    def _read_table(self, table: Any) -> Iterator[TextBlock]:
        attached: list[TextBlock] = []
        text = format_table(self._read_rows(table, attached))
        if text:
            yield TextBlock(BlockKind.TABLE, text)
        yield from attached

    def _read_rows(self, table: Any, attached: list[TextBlock]) -> Iterator[list[str]]:
        """Yield the rows as the texts of their columns. Text boxes and charts in cells are added to ``attached``."""
        is_hidden = bool(self._styles.find_style(read_value(table.find(qname("w:tblPr")), "w:tblStyle")).is_hidden)
        above: dict[int, str] = {}
        for row in _find_nested(table, _ROW):
            properties = row.find(qname("w:trPr"))
            if properties is not None and (
                read_toggle(properties, "w:hidden") or properties.find(qname("w:del")) is not None
            ):
                continue
            cells = [""] * _limit_span(read_number(properties, "w:gridBefore"), 0)
            for cell in _find_nested(row, _CELL):
                cells += self._read_cell(cell, attached, above.get(len(cells), ""), is_hidden=is_hidden)
            above = {column: text for column, text in enumerate(cells) if len(text) <= MAX_REPEATED}
            yield cells

    def _read_cell(self, cell: Any, attached: list[TextBlock], above: str, *, is_hidden: bool) -> list[str]:
        """Return the text of a cell, and empty texts for the further columns that it spans.

        A cell that continues the cell above it has the text ``above``.
        """
        properties = cell.find(qname("w:tcPr"))
        if properties is not None and properties.find(qname("w:cellDel")) is not None:
            return []
        if merged := _find_merge(properties):
            text = above if merged == "w:vMerge" else ""
        else:
            text = " ".join(filter(None, self._read_cell_texts(cell, attached, is_hidden=is_hidden)))
        return [text] + [""] * (_limit_span(read_number(properties, "w:gridSpan"), 1) - 1)

    def _read_cell_texts(self, cell: Any, attached: list[TextBlock], *, is_hidden: bool) -> Iterator[str]:
        """Yield the texts of the paragraphs and tables in a cell."""
        for element in _find_content(cell):
            if element.tag == _TABLE:
                rows = (", ".join(filter(None, cells)) for cells in self._read_rows(element, attached))
                yield "; ".join(filter(None, rows))
            elif element.tag == _P:
                properties = element.find(qname("w:pPr"))
                style_id, style = self._styles.find_paragraph_style(properties)
                paragraph = self._read_paragraph(element, style, is_hidden=is_hidden)
                text = paragraph.text.strip()
                list_place = self._numbering.find_place(properties, style_id)
                if list_place is not None and not self._is_skipped(properties, text):
                    text = f"{self._numbering.take_number(list_place)} {text}".strip()
                yield text
                attached += self._read_attached(paragraph)


def _make_block(text: str, number: str, style: WordStyle, properties: Any | None, *, is_item: bool) -> TextBlock:
    """Return the block of a paragraph. ``number`` may be empty; ``is_item`` is True in a list."""
    numbered = f"{number} {text}" if number else text
    level = style.heading_level
    direct = read_number(properties, "w:outlineLvl")
    if level is None and direct is not None and direct < 9:
        level = direct + 1
    if level is not None:
        return TextBlock(BlockKind.HEADING, numbered, level=level)
    if number:
        # A list item whose text begins with its number needs no other mark.
        return TextBlock(BlockKind.LIST_ITEM, numbered, source=numbered)
    is_list = is_item or (style.name.lower().startswith("list") and not _is_taken_out(properties))
    return TextBlock(BlockKind.LIST_ITEM if is_list else BlockKind.PARAGRAPH, text)


def _is_taken_out(properties: Any | None) -> bool:
    """Return whether a paragraph is excluded from the list of its style."""
    numbers = properties.find(qname("w:numPr")) if properties is not None else None
    return read_value(numbers, "w:numId") == "0"


def _is_end_deleted(properties: Any | None) -> bool:
    """Return whether the end of a paragraph was deleted, so that its text continues in the next paragraph."""
    marks = properties.find(qname("w:rPr")) if properties is not None else None
    return marks is not None and any(marks.find(qname(name)) is not None for name in ("w:del", "w:moveFrom"))


def _find_content(container: Any) -> Iterator[Any]:
    """Yield the paragraphs, tables and embedded documents in a container, including those in other elements."""
    for child in container:
        if child.tag in (_P, _TABLE, qname("w:altChunk"), qname("w:subDoc")):
            yield child
        elif child.tag == _ALTERNATIVES:
            yield from next(filter(None, (list(_find_content(form)) for form in child)), [])
        elif child.tag not in _LEFT_OUT:
            yield from _find_content(child)


def _find_nested(container: Any, name: str) -> Iterator[Any]:
    """Yield the rows of a table or the cells of a row, including those in other elements."""
    for child in container:
        if child.tag == name:
            yield child
        elif child.tag not in _LEFT_OUT:
            yield from _find_nested(child, name)


def _find_merge(properties: Any | None) -> str | None:
    """Return the property that merges a cell into the previous one or the one above; None without one."""
    for name in ("w:hMerge", "w:vMerge"):
        merge = properties.find(qname(name)) if properties is not None else None
        if merge is not None and merge.get(qname("w:val"), "continue") == "continue":
            return name
    return None


def _limit_span(columns: int | None, default: int) -> int:
    return min(default if columns is None else columns, MAX_SPAN)

"""The text of web pages, as a browser shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from baton_documents.html import limits as html_limits
from baton_documents.html import visibility as html_visibility
from baton_documents.html.cascade import find_sheet_styles
from baton_documents.html.controls import ListNumbers, find_box_mark, read_input, read_selection
from baton_documents.html.panels import Panels, find_panels
from baton_documents.html.tables import TableGrid, find_data_tables
from baton_documents.html.visibility import SheetStyle
from baton_documents.media_types import MediaType
from baton_documents.results import BlockKind, ExtractedText, TextBlock
from baton_documents.text.inline_text import read_formula, write_subscript, write_superscript
from baton_documents.text.plain_text import read_text
from baton_documents.titles import clean_title

_LEFT_OUT = frozenset({
    "audio", "canvas", "datalist", "footer", "iframe", "nav", "noscript", "object", "script", "style", "svg",
    "template", "video",
})  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BUTTONS_OF = _HEADINGS | {"summary", "dt"}
"""Elements in which a button is read, because the button opens the content below, and its text is the heading."""
_LISTS = frozenset({"ol", "ul", "menu"})
# fmt: off
_BLOCKS = _HEADINGS | _LISTS | frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "form", "header", "hgroup", "hr", "html", "legend", "li", "main", "p",
    "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
})
# fmt: on
_BREAK = "\0"
"""The sign for a line break. No text contains it."""
_NOT_SHOWN = re.compile("[\u00ad\u200b\ufeff]")
"""Invisible characters, most of which mark places where words may be divided."""


def extract(body: bytes, charset: str | None = None) -> ExtractedText:
    """Return the title, headings, paragraphs, items of lists, tables and preformatted text of a page.

    Hidden parts and navigation are left out. A part that a control of the page opens begins with the control's name.
    """
    text = read_text(body, MediaType("text/html", charset))
    html_limits.check(text)
    parser = LexborHTMLParser(text)
    title = parser.css_first("title")
    root = parser.body
    blocks: list[TextBlock] = []
    if root is not None:
        styles = find_sheet_styles(parser, len(text))
        blocks = _Reader(find_data_tables(root), styles, find_panels(root, styles)).read(root)
    return ExtractedText(tuple(blocks), clean_title(title.text(strip=True)) if title is not None else None)


@dataclass(slots=True)
class _Reader:
    """A reader of one page. The text between the borders of block elements is one block."""

    tables: set[int]
    """The ``mem_id`` of the tables that hold data."""
    styles: Mapping[int, SheetStyle]
    """The styles of elements that a style sheet may hide, by their ``mem_id``."""
    panels: Panels
    blocks: list[TextBlock] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    """The texts of the block so far."""
    open_blocks: list[str] = field(default_factory=list)
    """The tags of block elements around the text, outermost first."""
    lists: list[ListNumbers] = field(default_factory=list)
    mark: str = ""
    """The mark of a list item that has no text yet, such as "1. "; empty without one."""
    table: TableGrid | None = None
    preformatted: int = 0
    """The number of ``pre`` elements around the text, whose white space is kept."""
    script_starts: list[int] = field(default_factory=list)
    """The numbers of parts before each superscript or subscript around the text."""
    visibilities: list[bool] = field(default_factory=lambda: [True])
    """Whether text is visible, for each element around the text that sets the visibility, outermost first."""

    def read(self, root: Any) -> list[TextBlock]:
        """Return the blocks below ``root``."""
        node = root
        while True:
            if self._begin(node):
                if node.child is not None:
                    node = node.child
                    continue
                self._end(node)
            while node.mem_id != root.mem_id and node.next is None:
                node = node.parent
                self._end(node)
            if node.mem_id == root.mem_id:
                self._flush()
                return self.blocks
            node = node.next

    def _begin(self, node: Any) -> bool:
        """Read the start of a node. Return whether its content and its end are to be read."""
        tag = node.tag or "-"  # a processing instruction has no tag
        if tag == "-text":
            self._write(node.text_content or "")
            return False
        if tag.startswith("-") or tag in _LEFT_OUT:
            return False
        attributes = node.attributes
        name = self.panels.names.get(node.mem_id)
        if name is None and html_visibility.is_hidden(attributes, self.styles.get(node.mem_id)):
            return False
        if self._is_left_out(tag, attributes) or node.mem_id in self.panels.tab_lists:
            return False
        if self._read_whole(node, tag, attributes):
            return False
        visibility = html_visibility.find_visibility(attributes, self.styles.get(node.mem_id))
        if visibility is not None:
            self.visibilities.append(visibility or name is not None)
        if name and self.table is None:
            self._flush()
            self._add(BlockKind.PARAGRAPH, f"{name}:")
        if tag in ("sup", "sub"):
            self.script_starts.append(len(self.parts))
        elif tag in _BLOCKS:
            self._begin_block(node, tag, attributes)
        elif tag == "q":
            self._write("\u201c")
        if mark := find_box_mark(tag, attributes):
            self._write(f"{mark} ")
        return True

    def _write(self, text: str) -> None:
        """Add text to the block, if it is visible."""
        if self.visibilities[-1]:
            self.parts.append(text)

    def _is_left_out(self, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Return whether an element is a button outside headings or a closed dialog, or repeats the formula before."""
        if tag == "button":
            return not _BUTTONS_OF.intersection(self.open_blocks)
        if tag == "dialog":
            return "open" not in attributes
        return "katex-html" in (attributes.get("class") or "")  # the formula in pieces, for the eye

    def _read_whole(self, node: Any, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Read an element whose text is not the text of its nodes. Return whether it is such an element."""
        match tag:
            case "br":
                text = _BREAK
            case "input":
                text = f" {read_input(attributes)} "
            case "select":
                text = f" {read_selection(node)} "
            case "textarea":
                text = f" {(node.text() or '').strip()} ".replace("\n", _BREAK)
            case "math":
                text = read_formula(node)
            case _:
                return False
        self._write(text)
        return True

    def _begin_block(self, node: Any, tag: str, attributes: Mapping[str, str | None]) -> None:
        self._separate()
        self.open_blocks.append(tag)
        if tag in _LISTS:
            self.lists.append(ListNumbers.of(node))
        elif tag == "li":
            mark = self.lists[-1].take(attributes.get("value")) if self.lists else ""
            if self.table is None:
                self.mark = mark
            else:
                while self.parts and not self.parts[-1].strip():
                    self.parts.pop()
                self.parts.append(f"; {mark}" if self.parts else mark)
        elif tag == "pre":
            self.preformatted += 1
        elif tag == "table" and node.mem_id in self.tables:
            self.table = TableGrid()
        elif self.table is not None:
            if tag == "tr":
                self.table.begin_row()
            elif tag in ("thead", "tbody", "tfoot"):
                self.table.begin_group(tag)
            elif tag in ("td", "th", "caption"):
                self.parts.clear()

    def _end(self, node: Any) -> None:
        tag = node.tag
        attributes = node.attributes
        if tag in ("sup", "sub"):
            self._end_script(tag)
        elif tag == "q":
            self._write("\u201d")
        elif tag in _BLOCKS:
            self._end_block(node, tag, attributes)
            self.open_blocks.pop()
        if html_visibility.find_visibility(attributes, self.styles.get(node.mem_id)) is not None:
            self.visibilities.pop()

    def _end_block(self, node: Any, tag: str, attributes: Mapping[str, str | None]) -> None:
        if self.table is None:
            self._flush()
        elif tag in ("td", "th", "caption"):
            text = _collapse_space("".join(self.parts)).replace("\n", " ")
            self.parts.clear()
            if tag == "caption":
                self.table.caption = text
            else:
                self.table.add(text, attributes)
        elif tag == "table":
            self._add(BlockKind.PARAGRAPH, self.table.caption)
            self._add(BlockKind.TABLE, self.table.text())
            self.table = None
            self.parts.clear()
        else:
            self._separate()
        if tag in _LISTS:
            self.lists.pop()
        elif tag == "li":
            self.mark = ""
        elif tag == "pre":
            self.preformatted -= 1

    def _end_script(self, tag: str) -> None:
        start = self.script_starts.pop()
        if start <= len(self.parts):
            text = "".join(self.parts[start:])
            del self.parts[start:]
            before = next((part for part in reversed(self.parts) if part), "")
            self.parts.append((write_superscript if tag == "sup" else write_subscript)(text, before))

    def _separate(self) -> None:
        """Separate the text before the start or end of a block from the text after it."""
        if self.table is not None:
            self.parts.append(" ")
        elif not self.preformatted:
            self._flush()
        elif self.parts and not self.parts[-1].endswith("\n"):
            self.parts.append("\n")

    def _flush(self) -> None:
        """Add the text so far as a block, if it is not empty."""
        text = "".join(self.parts)
        self.parts.clear()
        if self.preformatted:
            self._add(BlockKind.CODE, _NOT_SHOWN.sub("", text.replace(_BREAK, "\n")).strip("\n").rstrip())
            return
        text = _collapse_space(text)
        if not text:
            return
        heading = next((tag for tag in reversed(self.open_blocks) if tag in _HEADINGS), None)
        text, self.mark = self.mark + text, ""
        if heading is not None:
            self._add(BlockKind.HEADING, text, int(heading[1]))
        else:
            self._add(BlockKind.LIST_ITEM if "li" in self.open_blocks else BlockKind.PARAGRAPH, text)

    def _add(self, kind: BlockKind, text: str, level: int | None = None) -> None:
        if text:
            self.blocks.append(TextBlock(kind, text, level=level))


def _collapse_space(text: str) -> str:
    """Return a text with white space as a browser shows it: single spaces, and line breaks."""
    lines = _NOT_SHOWN.sub("", text).split(_BREAK)
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))

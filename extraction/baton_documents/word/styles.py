"""Styles of Word documents, from which paragraphs and runs inherit values (ISO/IEC 29500-1 section 17.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from baton_documents.office.xml import qname, read_toggle

MAX_ANCESTORS = 50
"""The most styles from which a style inherits, including itself."""
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_VAL = qname("w:val")
_FONT_SLOTS = tuple(map(qname, ("w:ascii", "w:hAnsi")))


@dataclass(frozen=True, slots=True)
class WordStyle:
    """The values of a style, including inherited ones, that affect the text. None means that a value is not set."""

    name: str = ""
    is_hidden: bool | None = None
    font: str | None = None
    outline: int | None = None
    """The level of a heading from 0, or 9 for body text."""
    shift: str | None = None
    """``superscript``, ``subscript`` or ``baseline``."""
    list_id: str | None = None
    list_level: int | None = None

    @property
    def heading_level(self) -> int | None:
        """The level of a heading, from 1; None for other texts."""
        if match := _HEADING.fullmatch(self.name):
            return int(match[1])
        if self.name.lower() == "title":
            return 1
        return self.outline + 1 if self.outline is not None and self.outline < 9 else None


PLAIN = WordStyle()


class WordStyles:
    """The styles of a document by their ids."""

    def __init__(self, root: Any | None) -> None:
        self._elements: dict[str, Any] = {}
        self._found: dict[str, WordStyle] = {}
        self._default: str | None = None
        self.document = PLAIN
        """The values that apply without a style."""
        if root is None:
            return
        for element in root.iterfind(qname("w:style")):
            style_id = element.get(qname("w:styleId"), "")
            self._elements[style_id] = element
            if element.get(qname("w:type")) == "paragraph" and element.get(qname("w:default")) in ("1", "true", "on"):
                self._default = style_id
        defaults = root.find(f"{qname('w:docDefaults')}/{qname('w:rPrDefault')}/{qname('w:rPr')}")
        self.document = WordStyle(is_hidden=read_toggle(defaults, "w:vanish"), font=read_font(defaults))

    def find_style(self, style_id: str | None) -> WordStyle:
        """Return the style with an id; ``PLAIN`` if it is missing."""
        if style_id is None or style_id not in self._elements:
            return PLAIN
        if style_id not in self._found:
            self._found[style_id] = self._resolve(style_id)
        return self._found[style_id]

    def find_paragraph_style(self, properties: Any | None) -> tuple[str | None, WordStyle]:
        """Return the id and the style of a paragraph with these properties (``w:pPr``).

        The id is None if the paragraph has no known style, and the document has no default style.
        """
        style_id = read_value(properties, "w:pStyle")
        if style_id is None or style_id not in self._elements:
            style_id = self._default
        return style_id, self.find_style(style_id)

    def _resolve(self, style_id: str) -> WordStyle:
        """Return a style with the values that it inherits."""
        name = read_value(self._elements[style_id], "w:name") or ""
        hidden: bool | None = None
        font: str | None = None
        outline: int | None = None
        shift: str | None = None
        list_id: str | None = None
        list_level: int | None = None
        seen: set[str] = set()
        ancestor: str | None = style_id
        while ancestor in self._elements and ancestor not in seen and len(seen) < MAX_ANCESTORS:
            seen.add(ancestor)
            element = self._elements[ancestor]
            of_runs, of_paragraphs = element.find(qname("w:rPr")), element.find(qname("w:pPr"))
            hidden = read_toggle(of_runs, "w:vanish") if hidden is None else hidden
            font = read_font(of_runs) if font is None else font
            shift = read_value(of_runs, "w:vertAlign") if shift is None else shift
            outline = read_number(of_paragraphs, "w:outlineLvl") if outline is None else outline
            if of_paragraphs is not None and (numbers := of_paragraphs.find(qname("w:numPr"))) is not None:
                list_id = read_value(numbers, "w:numId") if list_id is None else list_id
                list_level = read_number(numbers, "w:ilvl") if list_level is None else list_level
            if outline is None and (heading := WordStyle(read_value(element, "w:name") or "").heading_level):
                # The names of built-in headings imply their levels.
                outline = heading - 1 if _HEADING.fullmatch(read_value(element, "w:name") or "") else None
            ancestor = read_value(element, "w:basedOn")
        return WordStyle(name, hidden, font, outline, shift, list_id, list_level)


def read_value(parent: Any | None, name: str) -> str | None:
    """Return the value (``w:val``) of the child ``name``; None without one."""
    child = parent.find(qname(name)) if parent is not None else None
    return child.get(_VAL) if child is not None else None


def read_number(parent: Any | None, name: str) -> int | None:
    """Return the value of the child ``name`` as a number of at most nine digits; None for other values."""
    value = read_value(parent, name)
    return int(value) if value is not None and value.isdecimal() and len(value) < 10 else None


def read_font(properties: Any | None) -> str | None:
    """Return the font that a run's properties set for Latin characters; None without one."""
    fonts = properties.find(qname("w:rFonts")) if properties is not None else None
    return next(filter(None, map(fonts.get, _FONT_SLOTS)), None) if fonts is not None else None

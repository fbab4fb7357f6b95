"""Numbers of lists and headings in Word documents (ISO/IEC 29500-1 section 17.9)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from baton_documents.office.number_words import write_number
from baton_documents.office.xml import qname, read_toggle
from baton_documents.text.symbol_fonts import MARKS, decode_symbols
from baton_documents.word.styles import WordStyles, read_font, read_number, read_value

LEVELS = 9
"""The number of levels of a list."""
MAX_TEXT = 255
"""The most characters of the text around the numbers of a level."""
_LEVEL_MARK = re.compile(r"%([1-9])")
_MAX_LINKS = 10
"""The most links from definitions to styles that are followed."""


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The place of a paragraph in a list: the list's id (``w:numId``) and a level from 0."""

    list_id: str
    level: int


@dataclass(frozen=True, slots=True)
class _Level:
    """The format of the numbers of one level."""

    start: int = 1
    form: str = "decimal"
    zeros: int = 0
    """The number of digits of a custom format such as ``001``; 0 for others."""
    text: str = ""
    """The shown text, in which ``%1`` stands for the number of the first level."""
    font: str | None = None
    restarts_below: int | None = None
    """Levels with an index (from 0) below this number restart the numbers; None if every level above does."""
    is_decimal_throughout: bool = False
    """Whether the numbers of all levels in the text are shown in digits."""
    is_hidden: bool = False


class WordNumbering:
    """The lists of a document, with the last numbers of their levels. Paragraphs must be numbered in their order."""

    def __init__(self, root: Any | None, styles: WordStyles) -> None:
        self._styles = styles
        self._lists: dict[str, Any] = {}
        self._definitions: dict[str, Any] = {}
        self._levels: dict[tuple[str, int], _Level] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[tuple[str, int]] = set()
        self._definition_ids: dict[str, str] = {}
        self._style_levels: dict[tuple[str, str | None], int | None] = {}
        if root is not None:
            for element in root.iterfind(qname("w:num")):
                self._lists[element.get(qname("w:numId"), "")] = element
            for element in root.iterfind(qname("w:abstractNum")):
                self._definitions[element.get(qname("w:abstractNumId"), "")] = element

    def find_place(self, properties: Any | None, style_id: str | None) -> ListPlace | None:
        """Return the place of a paragraph with these properties and this style; None outside lists."""
        style = self._styles.find_style(style_id)
        numbers = properties.find(qname("w:numPr")) if properties is not None else None
        direct, level = read_value(numbers, "w:numId"), read_number(numbers, "w:ilvl")
        list_id = style.list_id if direct is None else direct
        if list_id is None or list_id == "0" or self._get_definition(list_id) is None:
            return None
        if level is None:
            level = self._get_level_of_style(list_id, style_id) if direct is None else 0
        if level is None:
            level = style.list_level or 0
        return ListPlace(list_id, min(level, LEVELS - 1))

    def take_number(self, list_place: ListPlace) -> str:
        """Count a paragraph, and return its number as it is shown. A bullet is empty unless it is a box or a tick."""
        key = self._get_definition_id(list_place.list_id)
        counts = self._counts.setdefault(key, [None] * LEVELS)
        for level in range(LEVELS):
            self._restart_on_first_use(list_place.list_id, level, counts)
        level = list_place.level
        for above in range(level):
            if counts[above] is None:
                counts[above] = self._get_level(list_place.list_id, above).start
        before = counts[level]
        counts[level] = self._get_level(list_place.list_id, level).start if before is None else before + 1
        for below in range(level + 1, LEVELS):
            restarts_below = self._get_level(list_place.list_id, below).restarts_below
            if restarts_below is None or level < restarts_below:
                counts[below] = None
        return self._format_number(list_place, counts)

    def _restart_on_first_use(self, list_id: str, level: int, counts: list[int | None]) -> None:
        """Restart a level on its first use by a list that has its own first number for the level."""
        if (list_id, level) in self._begun:
            return
        self._begun.add((list_id, level))
        override = self._find_override(list_id, level)
        if read_number(override, "w:startOverride") is not None:
            counts[level] = None

    def _format_number(self, list_place: ListPlace, counts: list[int | None]) -> str:
        """Return the number at a place as it is shown, given the last numbers of the levels."""
        own = self._get_level(list_place.list_id, list_place.level)
        if own.is_hidden:
            return ""
        if own.form == "bullet":
            mark = decode_symbols(own.text, own.font).strip()
            return mark if mark in MARKS else ""

        def write_level(match: re.Match[str]) -> str:
            level = int(match[1]) - 1
            list_level = self._get_level(list_place.list_id, level)
            count = counts[level] if counts[level] is not None else list_level.start
            form = "decimal" if own.is_decimal_throughout and list_level.form != "none" else list_level.form
            return str(count).zfill(list_level.zeros) if list_level.zeros else write_number(count or 0, form)

        return decode_symbols(_LEVEL_MARK.sub(write_level, own.text), own.font).strip()

    def _get_level(self, list_id: str, level: int) -> _Level:
        key = (list_id, level)
        if key not in self._levels:
            self._levels[key] = self._read_level(list_id, level)
        return self._levels[key]

    def _read_level(self, list_id: str, level: int) -> _Level:
        override = self._find_override(list_id, level)
        element = override.find(qname("w:lvl")) if override is not None else None
        if element is None:
            element = _find_child_at(self._get_definition(list_id), "w:lvl", level)
        start = read_number(override, "w:startOverride")
        if element is None:
            return _Level(start=1 if start is None else start)
        own_start = read_number(element, "w:start")
        form = next(element.iter(qname("w:numFmt")), None)  # it may be inside alternatives
        kind = form.get(qname("w:val"), "decimal") if form is not None else "decimal"
        custom = form.get(qname("w:format"), "") if form is not None and kind == "custom" else ""
        properties = element.find(qname("w:rPr"))
        return _Level(
            start=start if start is not None else own_start if own_start is not None else 0,
            form=kind,
            zeros=len(custom.partition(",")[0]) if custom.startswith("0") else 0,
            text=(read_value(element, "w:lvlText") or "")[:MAX_TEXT],
            font=read_font(properties),
            restarts_below=read_number(element, "w:lvlRestart"),
            is_decimal_throughout=bool(read_toggle(element, "w:isLgl")),
            is_hidden=bool(read_toggle(properties, "w:vanish")),
        )

    def _find_override(self, list_id: str, level: int) -> Any | None:
        return _find_child_at(self._lists.get(list_id), "w:lvlOverride", level)

    def _get_definition_id(self, list_id: str) -> str:
        """Return the id of the definition that lists share."""
        if list_id not in self._definition_ids:
            self._definition_ids[list_id] = self._find_definition_id(list_id)
        return self._definition_ids[list_id]

    def _find_definition_id(self, list_id: str) -> str:
        """Return the id of a list's definition; empty if it has none.

        A definition may refer to a style, and then the definition of that style's list is used.
        """
        definition_id = read_value(self._lists.get(list_id), "w:abstractNumId") or ""
        for _ in range(_MAX_LINKS):
            linked = read_value(self._definitions.get(definition_id), "w:numStyleLink")
            if linked is None:
                break
            target = self._styles.find_style(linked).list_id or ""
            definition_id = read_value(self._lists.get(target), "w:abstractNumId") or ""
        return definition_id

    def _get_definition(self, list_id: str) -> Any | None:
        return self._definitions.get(self._get_definition_id(list_id))

    def _get_level_of_style(self, list_id: str, style_id: str | None) -> int | None:
        """Return the level that a list's definition assigns to a style; None without one."""
        key = (list_id, style_id)
        if key not in self._style_levels:
            self._style_levels[key] = self._find_level_of_style(list_id, style_id)
        return self._style_levels[key]

    def _find_level_of_style(self, list_id: str, style_id: str | None) -> int | None:
        definition = self._get_definition(list_id)
        for element in definition.iterfind(qname("w:lvl")) if definition is not None else ():
            if style_id is not None and read_value(element, "w:pStyle") == style_id:
                return _read_level_number(element)
        return None


def _find_child_at(parent: Any | None, name: str, level: int) -> Any | None:
    children = parent.iterfind(qname(name)) if parent is not None else ()
    return next((child for child in children if _read_level_number(child) == level), None)


def _read_level_number(element: Any) -> int:
    value = element.get(qname("w:ilvl"), "")
    return int(value) if value.isdecimal() and len(value) < 3 else 0

"""Bounds of web pages, which are checked by their tags before a tree is built."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from baton_documents import refusals

MAX_DEPTH = 1_000
"""The deepest nesting of elements. The time to build a tree grows with the square of its depth."""
MAX_TAGS = 1_000_000
"""The most tags of a page. A tree takes about 300 bytes for a tag."""
MAX_TABLES = 50
"""The deepest nesting of tables."""
MAX_ATTRIBUTES = 1_000
"""The most attributes of one element. A parser compares all of them with each other."""
MAX_REPEATED = 1_000_000
"""The most elements that a parser adds, because formatting without an end tag continues in the next blocks."""
MAX_OPTION_STEPS = 20_000_000
"""The most steps of a parser, which passes all earlier options of a select at each option. About 6,000 fit in one."""

_TAG = re.compile(r"<(?:(!--)|(/?)([A-Za-z][^\s/>]*))")
_COMMENT_END = re.compile(r"(?<=<!--)-?>|--!?>")
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+"""
_ATTRIBUTES = re.compile(f"(?:{_ATTRIBUTE})*+")
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
_RAW_TEXT_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
_PARSED_AS_MARKUP = ("svg", "math", "select")
"""Elements in which the content of a script may be parsed as markup."""
# fmt: off
_UNCOUNTED = frozenset({
    "area", "base", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html", "img",
    "input", "li", "link", "meta", "option", "p", "param", "rb", "rp", "rt", "rtc", "source", "tbody", "td", "tfoot",
    "th", "thead", "tr", "track", "wbr",
})
"""Elements that are empty, or may end without an end tag. They do not count for the depth."""
_FORMATTING = frozenset({
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
})
# fmt: on
"""Elements that continue after the end of a block (HTML, 13.2.4.3)."""
_SAME = 3
"""The most equal formatting elements that a parser remembers."""
_CELLS = frozenset({"td", "th", "caption"})
"""Elements at whose ends the formatting in them ends too."""


@dataclass(slots=True)
class _OpenElements:
    """The elements that have begun and not ended at the current place of a page."""

    names: list[str] = field(default_factory=list)
    formatting: list[list[str]] = field(default_factory=lambda: [[]])
    """Tags of formatting elements with their attributes: a list for the page, and one for each open table."""
    repeated: int = 0
    """The elements that a parser has added so far, because formatting continues."""
    options: int = 0
    """The options of the current select."""
    option_steps: int = 0
    """The options that a parser has passed so far."""

    def begin(self, name: str, tag: str) -> None:
        """Open an element. ``tag`` is its name with its attributes. Raises ``DocumentRefused`` at a limit."""
        if name in _FORMATTING:
            here = self.formatting[-1]
            if here.count(tag) < _SAME:
                here.append(tag)
        if name == "select":
            self.options = 0
        elif name == "option":
            self.options += 1
            self.option_steps += self.options
            if self.option_steps > MAX_OPTION_STEPS:
                raise refusals.too_many_elements()
        if name in _UNCOUNTED:
            return
        self.names.append(name)
        if len(self.names) > MAX_DEPTH:
            raise refusals.too_deep()
        if name == "table":
            self.formatting.append(list(self.formatting[-1]))
            if len(self.formatting) > MAX_TABLES + 1:
                raise refusals.too_deep()

    def end(self, name: str) -> None:
        """Close the innermost element of this name, and the elements in it that end with it."""
        if name in _FORMATTING:
            here = self.formatting[-1]
            last = next((index for index in range(len(here) - 1, -1, -1) if here[index].startswith(f"{name} ")), None)
            if last is not None:
                del here[last]
            # The blocks in the element stay open.
            self._close_alone(name)
        elif self.names and self.names[-1] == name:
            self._close_innermost()
        elif name in self.names and name not in ("span", "label"):  # a parser ignores their ends around open blocks
            while self._close_innermost() != name:
                pass

    def note_border(self, name: str) -> None:
        """Note the start or end of an element that is not formatting, and count the formatting that continues.

        Raises ``DocumentRefused`` at ``MAX_REPEATED``.
        """
        if name in _CELLS and len(self.formatting) > 1:
            self.formatting[-1].clear()
        self.repeated += len(self.formatting[-1])
        if self.repeated > MAX_REPEATED:
            raise refusals.too_many_elements()

    def _close_alone(self, name: str) -> None:
        """Close the innermost element of this name, and no other."""
        for index in range(len(self.names) - 1, -1, -1):
            if self.names[index] == name:
                del self.names[index]
                return

    def _close_innermost(self) -> str:
        name = self.names.pop()
        if name == "table":
            self.formatting.pop()
        return name


def check(text: str) -> None:
    """Raise ``DocumentRefused`` if a page has too many elements or attributes, or too deep ones."""
    open_elements, position, tags = _OpenElements(), 0, 0
    while tag_match := _TAG.search(text, position):
        position = tag_match.end()
        if tag_match[1]:
            match = _COMMENT_END.search(text, position)
            position = match.end() if match else len(text)
            continue
        name = tag_match[3].lower()
        attributes = _ATTRIBUTES.match(text, position)
        position = attributes.end() if attributes else position
        _check_attributes(text[tag_match.end() : position])
        tags += 1
        if tags > MAX_TAGS:
            raise refusals.too_many_elements()
        if name not in _FORMATTING:
            open_elements.note_border(name)
        if tag_match[2]:
            open_elements.end(name)
            continue
        open_elements.begin(name, f"{name} {text[tag_match.end() : position]}")
        if name in _RAW_TEXT_ENDS and not any(parent in open_elements.names for parent in _PARSED_AS_MARKUP):
            match = _RAW_TEXT_ENDS[name].search(text, position)
            position = match.start() if match else len(text)


def _check_attributes(attributes: str) -> None:
    if len(attributes) < 2 * MAX_ATTRIBUTES:
        return
    for number, _ in enumerate(_ONE_ATTRIBUTE.finditer(attributes), 1):
        if number > MAX_ATTRIBUTES:
            raise refusals.too_many_elements()

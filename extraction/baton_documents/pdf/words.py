"""The words of a page of a PDF file with their places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from baton_documents.pdf.places import Box

DIVIDED = "\x02"
"""PDFium's sign for a hyphen that divides a word at the end of a line. It is in no text."""
HYPHENS = ("-", "\u00ad", "\u2010", "\ufffe", DIVIDED)
MOST_UNKNOWN = 0.1
"""The share of letters without a meaning in Unicode from which on the text of a page cannot be read."""


@dataclass(frozen=True, slots=True)
class Word:
    """Letters without white space between them, or a value of a form."""

    text: str
    box: Box
    is_value: bool = False


@dataclass(slots=True)
class Line:
    """Words on one line, as far as they belong together."""

    words: list[Word]
    size: float
    """The size of its letters, in points; 0 if unknown."""
    is_upright: bool = True
    is_table: bool = False
    """True if its only word is a table."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> Box:
        box = self.words[0].box
        for word in self.words[1:]:
            box = box.around(word.box)
        return box


@dataclass(slots=True)
class PageText:
    """The visible text of one page."""

    lines: list[Line] = field(default_factory=list)
    letters: int = 0
    unknown: int = 0
    """Letters without a meaning in Unicode."""
    lost: int = 0
    """Those of them that are left out."""

    @property
    def is_garbled(self) -> bool:
        return self.unknown > MOST_UNKNOWN * self.letters


def joined(lines: Iterable[str]) -> str:
    """Return lines as one text. A word that was divided at the end of a line is whole again."""
    text = ""
    for line in lines:
        if not text:
            text = line
        elif is_divided(text, line):
            text = text[:-1] + line
        else:
            text = f"{text}\n{line}"
    return text.replace(DIVIDED, "-")


def is_divided(line: str, after: str) -> bool:
    """Return whether a word continues in the next line."""
    return len(line) > 1 and line[-1] in HYPHENS and line[-2].isalpha() and after[:1].islower()

"""The words of a PDF page with their places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from baton_documents.pdf.places import Box

DIVIDED = "\x02"
"""PDFium's sign for a hyphen that divides a word at the end of a line. No text contains it."""
HYPHENS = ("-", "\u00ad", "\u2010", "\ufffe", DIVIDED)
MOST_UNKNOWN = 0.1
"""The largest share of letters without a meaning in Unicode on a readable page."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word without white space, or the value of a form field or the text of a table."""

    text: str
    box: Box
    is_value: bool = False


@dataclass(slots=True)
class Line:
    """Words on one line that belong together."""

    words: list[Word]
    size: float
    """The size of the letters, in points; 0 if unknown."""
    is_upright: bool = True
    is_table: bool = False
    """Whether the only word is the text of a table."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> Box:
        box = self.words[0].box
        for word in self.words[1:]:
            box = box.unite(word.box)
        return box


@dataclass(slots=True)
class PageText:
    """The visible text of one page."""

    lines: list[Line] = field(default_factory=list)
    letters: int = 0
    unknown: int = 0
    """The number of letters without a meaning in Unicode."""
    lost: int = 0
    """The number of unknown letters that are left out."""

    @property
    def is_garbled(self) -> bool:
        return self.unknown > MOST_UNKNOWN * self.letters


def join_lines(lines: Iterable[str]) -> str:
    """Return lines as one text, with divided words joined again."""
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
    """Return whether the last word of a line continues in the next line, ``after``."""
    return len(line) > 1 and line[-1] in HYPHENS and line[-2].isalpha() and after[:1].islower()

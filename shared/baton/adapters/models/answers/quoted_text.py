"""Marks that an answer only mentions: in code, in quotation marks or in a quoted line."""

from __future__ import annotations

import re

MAX_MARKS = 100
"""The maximum number of marks that are read in an answer. Each mark costs a search of all text before it."""
_FENCE = re.compile(r"^[ \t>*+\-\d.)]*(?:```|~~~)[^`\n]*$", re.MULTILINE)
_QUOTES = "\"'`\u2018\u201a\u201c\u201e\u00ab\u2039\u300c\u300e("
"""Characters directly before a mark that is only mentioned."""
_CODE_TAGS = ("code", "pre")


def is_quoted(before: str) -> bool:
    """Return whether a mark is only mentioned. ``before`` is the answer's text before the mark."""
    if len(_FENCE.findall(before)) % 2:
        return True
    line = before[before.rfind("\n") + 1 :]
    if line.count("`") % 2 or line.endswith(tuple(_QUOTES)) or line.startswith(("    ", "\t")):
        return True
    return line.lstrip().startswith(">") or any(
        before.count(f"<{tag}") > before.count(f"</{tag}") for tag in _CODE_TAGS
    )


def stands_apart(before: str) -> bool:
    """Return whether a mark after ``before`` is outside a sentence: it begins a line, or follows without a space."""
    return not before or before[-1] == "\n" or not before[-1].isspace()


class Beginnings:
    """The beginnings of marks. A mark may be split between two pieces of a text, at any character."""

    def __init__(self, *marks: str) -> None:
        """``marks`` are in lower case."""
        self._all = frozenset(mark[:length] for mark in marks for length in range(1, len(mark)))
        self._longest = max(map(len, marks)) - 1

    def measure_at_end(self, text: str) -> int:
        """Return how many characters at the end of ``text`` may be the beginning of a mark; 0 if none are."""
        for start in range(max(0, len(text) - self._longest), len(text)):
            if text[start].lower() in self._all and text[start:].lower() in self._all:
                return len(text) - start
        return 0

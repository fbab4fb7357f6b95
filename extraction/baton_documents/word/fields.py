"""Fields of Word documents: their results are shown, their instructions are not (ISO/IEC 29500-1 section 17.16)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from baton_documents.office.xml import qname, toggle
from baton_documents.text.symbol_fonts import symbols
from baton_documents.word.styles import number_of, value_of

TICKED, EMPTY = "☑", "☐"
_FIELD = qname("w:fldChar")
_KIND = qname("w:fldCharType")
_DELETED = frozenset({qname("w:del"), qname("w:moveFrom")})
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_UNREAD = frozenset({"EQ", "LISTNUM", "AUTONUM", "AUTONUMLGL", "AUTONUMOUT"})
"""Fields that Word shows although the file stores no result."""


COUNTS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES", "SECTION"})
"""Fields whose results depend on their page."""


@dataclass(slots=True)
class Field:
    """A field that has begun and not ended."""

    form: Any | None
    """The data of an older form (``w:ffData``); None for other fields."""
    instruction: list[str] = field(default_factory=list)
    is_in_result: bool = False
    has_result: bool = False

    @property
    def missing_result(self) -> str:
        """The text that Word shows for a field without a stored result; may be empty."""
        if self.form is not None and (text := form_text(self.form)):
            return text
        return result_of("".join(self.instruction))

    @property
    def unread_name(self) -> str | None:
        """The name of a field whose text cannot be determined; None for others."""
        words = "".join(self.instruction).split(maxsplit=1)
        return words[0].upper() if words and words[0].upper() in _UNREAD and not self.missing_result else None


def ended_fields(root: Any) -> frozenset[Any]:
    """Return the marks of fields that have an end. Fields without one would hide all further text."""
    ahead: list[Any] = []
    runs: set[Any] = set()
    for mark in root.iter(_FIELD):
        if any(ancestor.tag in _DELETED for ancestor in mark.iterancestors()):
            continue
        kind = mark.get(_KIND)
        if kind == "begin":
            ahead.append([mark])
        elif ahead:
            ahead[-1].append(mark)
            if kind == "end":
                runs.update(ahead.pop())
    return frozenset(runs)


def form_text(form: Any) -> str:
    """Return the shown text of an older form: the mark of a check box, the entry of a list, or a default text."""
    box, choice = form.find(qname("w:checkBox")), form.find(qname("w:ddList"))
    if box is not None:
        checked = toggle(box, "w:checked")
        return TICKED if (toggle(box, "w:default") if checked is None else checked) else EMPTY
    if choice is not None:
        entries = [entry.get(qname("w:val"), "") for entry in choice.iterfind(qname("w:listEntry"))]
        chosen = number_of(choice, "w:result")
        index = (number_of(choice, "w:default") or 0) if chosen is None else chosen
        return entries[index] if index < len(entries) else ""
    text = form.find(qname("w:textInput"))
    return value_of(text, "w:default") or ""


def result_of(instruction: str) -> str:
    """Return the text that an instruction itself contains, for a symbol or a button; otherwise empty."""
    words = [quoted or plain for quoted, plain in _WORD.findall(instruction)]
    match [word.upper() for word in words[:1]]:
        case ["SYMBOL"] if len(words) > 1:
            return _symbol(words)
        case ["MACROBUTTON" | "GOTOBUTTON"]:
            return " ".join(words[2:])
    return ""


def _symbol(words: list[str]) -> str:
    try:
        code = int(words[1], 0)
        character = chr(code)
    except (ValueError, OverflowError):
        return ""
    font = _behind(words, "\\f")
    if font is None and code < 0x100 and "\\u" not in words:
        return bytes([code]).decode("cp1252", "replace")
    return symbols(character, font)


def _behind(words: Iterable[str], switch: str) -> str | None:
    ahead = iter(words)
    return next((next(ahead, None) for word in ahead if word.lower() == switch), None)

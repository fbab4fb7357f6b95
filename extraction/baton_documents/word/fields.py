"""Fields of Word documents: their results are shown, their instructions are not (ISO/IEC 29500-1 section 17.16)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from baton_documents.office.xml import qname, read_toggle
from baton_documents.text.symbol_fonts import decode_symbols
from baton_documents.word.styles import read_number, read_value

TICKED, EMPTY = "☑", "☐"
"""The marks of check boxes."""
_FIELD = qname("w:fldChar")
_KIND = qname("w:fldCharType")
_DELETED = frozenset({qname("w:del"), qname("w:moveFrom")})
_ARGUMENT = re.compile(r'"([^"]*)"|(\S+)')
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
    """Whether its instruction has ended, so that the text that follows is its result."""
    has_result: bool = False
    """Whether some of its result is shown."""

    @property
    def missing_result(self) -> str:
        """The text that Word shows for a field without a stored result; may be empty."""
        if self.form is not None and (text := read_form(self.form)):
            return text
        return find_result("".join(self.instruction))

    @property
    def unread_name(self) -> str | None:
        """The name of a field whose text cannot be determined; None for others."""
        words = "".join(self.instruction).split(maxsplit=1)
        return words[0].upper() if words and words[0].upper() in _UNREAD and not self.missing_result else None


def find_ended_fields(root: Any) -> frozenset[Any]:
    """Return the marks (``w:fldChar``) of fields that have an end. Others would hide all further text."""
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


def read_form(form: Any) -> str:
    """Return the shown text of an older form: the mark of a check box, the entry of a list, or a default text.

    Empty if the form shows none.
    """
    box, choice = form.find(qname("w:checkBox")), form.find(qname("w:ddList"))
    if box is not None:
        checked = read_toggle(box, "w:checked")
        return TICKED if (read_toggle(box, "w:default") if checked is None else checked) else EMPTY
    if choice is not None:
        entries = [entry.get(qname("w:val"), "") for entry in choice.iterfind(qname("w:listEntry"))]
        chosen = read_number(choice, "w:result")
        index = (read_number(choice, "w:default") or 0) if chosen is None else chosen
        return entries[index] if index < len(entries) else ""
    text = form.find(qname("w:textInput"))
    return read_value(text, "w:default") or ""


def find_result(instruction: str) -> str:
    """Return the text that an instruction itself contains, for a symbol or a button; otherwise empty."""
    words = [quoted or plain for quoted, plain in _ARGUMENT.findall(instruction)]
    match [word.upper() for word in words[:1]]:
        case ["SYMBOL"] if len(words) > 1:
            return _write_symbol(words)
        case ["MACROBUTTON" | "GOTOBUTTON"]:
            return " ".join(words[2:])
    return ""


def _write_symbol(words: list[str]) -> str:
    """Return the character of a SYMBOL instruction; empty if it has no valid code."""
    try:
        code = int(words[1], 0)
        character = chr(code)
    except (ValueError, OverflowError):
        return ""
    font = _find_argument(words, "\\f")
    if font is None and code < 0x100 and "\\u" not in words:
        return bytes([code]).decode("cp1252", "replace")
    return decode_symbols(character, font)


def _find_argument(words: Iterable[str], switch: str) -> str | None:
    """Return the word after a switch such as ``\\f``; None without it."""
    ahead = iter(words)
    return next((next(ahead, None) for word in ahead if word.lower() == switch), None)

"""A cell of a sheet as the file stores it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from baton_documents.sheets.shared_texts import read_rich_text

_INTEGER_DIGITS = 9


@dataclass(slots=True)
class SheetCell:
    """A cell of a row (ISO/IEC 29500-1 section 18.3.1.4)."""

    row: int
    column: int
    """From 1, like the row."""
    kind: str
    """The stored kind: ``n`` number, ``s`` shared text, ``inlineStr``, ``str``, ``b``, ``e`` error, ``d`` date."""
    style: int
    """The index of its format in ``Workbook.formats``."""
    value: str | None = None
    """The stored value; None without one."""
    text: str = ""
    """The text of an ``inlineStr``."""
    formula: str | None = None
    """The stored formula, empty if it is shared with another cell; None if the cell has none."""
    formula_kind: str = ""
    formula_key: str = ""
    """The number of a shared formula, or the range of an array."""

    @property
    def address(self) -> str:
        return f"{write_column(self.column)}{self.row}"

    def read(self, element: Any) -> None:
        """Read the value and the formula from the cell's element."""
        for child in element:
            tag = child.tag
            if tag.endswith("}v"):
                self.value = child.text or ""
            elif tag.endswith("}f"):
                self.formula = (child.text or "").strip()
                self.formula_kind = child.get("t", "normal")
                self.formula_key = child.get("ref" if self.formula_kind == "array" else "si", "")
            elif tag.endswith("}is"):
                self.text = read_rich_text(child)

    def is_without_result(self, *, is_stale: bool) -> bool:
        """Return whether the result of the cell's formula is not stored. An empty text may be a result.

        ``is_stale`` is True if Excel is to calculate all results: some programs then store zero for each.
        """
        if self.kind == "inlineStr":
            return not self.text
        if self.kind == "str" and self.value is not None:
            return False
        value = (self.value or "").strip()
        return not value or (is_stale and value == "0")


def parse_integer(digits: str | None) -> int:
    """Return the number of a text with fewer than ten digits; 0 for any other text."""
    return int(digits) if digits is not None and digits.isdecimal() and len(digits) <= _INTEGER_DIGITS else 0


def parse_address(address: str) -> tuple[int, int]:
    """Return the row and the column, both from 1, of an address such as ``B2``; 0 for a missing part."""
    letters = address.rstrip("0123456789")
    return parse_integer(address[len(letters) :]), parse_column(letters)


@lru_cache(maxsize=1024)
def parse_column(letters: str) -> int:
    """Return the number of a column, from 1, for its letters; 0 for any other text. At most four letters are read."""
    if not (letters.isascii() and letters.isalpha()):
        return 0
    number = 0
    for letter in letters[:4].upper():
        number = number * 26 + ord(letter) - 64
    return number


@lru_cache(maxsize=16_384)
def write_column(number: int) -> str:
    """Return the letters of a column, whose number is from 1."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters

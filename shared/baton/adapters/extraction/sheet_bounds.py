"""How much room the sheets of a workbook take, found out before a library makes that room.

A few bytes of a sheet can stand for much: an address for all cells up to it, a number for a text that cells share.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from xml.parsers import expat

from baton.adapters.extraction import refusals

MAX_CELLS = 20_000_000
"""Cells of a sheet from its first to its last one, empty ones too: that much room is taken for it."""
MAX_SHEET_TEXT = 64 * 1024 * 1024
"""Characters of a sheet's cells. A text that cells share counts for each of them."""
SHARED_TEXTS = "xl/sharedstrings.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_PIECE = 1024 * 1024


def check_sheets(archive: zipfile.ZipFile) -> None:
    """Raise ``DocumentUnreadable`` for a workbook with a sheet that takes too much room."""
    entries = {entry.filename.lower().replace("\\", "/"): entry for entry in archive.infolist()}
    shared = _SharedTexts()
    relations = _Relations()
    for name, reading in ((SHARED_TEXTS, shared), (_RELATIONS, relations)):
        if name in entries:
            _read(archive, entries[name], reading)
    for name, entry in entries.items():
        if name != SHARED_TEXTS and (name.endswith(".xml") or name in relations.targets):
            _read(archive, entry, _Sheet(shared.lengths))


class _Reading:
    """What is looked for in an entry. Names come without their name spaces."""

    def start(self, name: str, attributes: dict[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, data: str) -> None: ...


class _Relations(_Reading):
    """The entries that a workbook refers to, in lower case."""

    def __init__(self) -> None:
        self.targets: set[str] = set()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        target = attributes.get("Target", "").lower().replace("\\", "/").removeprefix("/")
        self.targets |= {target, f"xl/{target}"}


class _SharedTexts(_Reading):
    """The lengths of the texts that cells share."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "si":
            self.lengths.append(0)

    def text(self, data: str) -> None:
        if self.lengths:
            self.lengths[-1] += len(data)


class _Sheet(_Reading):
    """The bounds of the cells of a sheet, and the length of their texts."""

    def __init__(self, shared: Sequence[int]) -> None:
        self._shared = shared
        self._rows = self._columns = 0
        self._row = self._column = 0
        self._text = 0
        self._is_shared = False
        self._value: list[str] | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            given = attributes.get("r", "").strip()
            self._row = int(given) if given.isdecimal() and len(given) < 10 else self._row + 1
            self._column = 0
        elif name == "c":
            self._cell(attributes.get("r", ""))
            self._is_shared = attributes.get("t") == "s"
        elif name == "v":
            self._value = []

    def text(self, data: str) -> None:
        if self._value is not None:
            self._value.append(data)

    def end(self, name: str) -> None:
        if name != "v" or self._value is None:
            return
        value, self._value = "".join(self._value).strip().removeprefix("+"), None
        if self._is_shared and value.isdecimal() and len(value) < 10:
            place = int(value)
            self._text += self._shared[place] if place < len(self._shared) else 0
            if self._text > MAX_SHEET_TEXT:
                raise refusals.too_long()

    def _cell(self, address: str) -> None:
        letters = address.rstrip("0123456789")
        digits = address[len(letters) :]
        # A cell without an address is beside the one before it.
        self._column = _number(letters) if letters else self._column + 1
        row = int(digits) if 0 < len(digits) < 10 else self._row
        self._rows, self._columns = max(self._rows, row, self._row), max(self._columns, self._column)
        if self._rows * self._columns > MAX_CELLS:
            raise refusals.too_long()


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, reading: _Reading) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: reading.start(name.rpartition(" ")[2], attributes)
    parser.EndElementHandler = lambda name: reading.end(name.rpartition(" ")[2])
    parser.CharacterDataHandler = reading.text
    try:
        with archive.open(entry) as content:
            while piece := content.read(_PIECE):
                parser.Parse(piece, False)  # noqa: FBT003 - takes no names
            parser.Parse(b"", True)  # noqa: FBT003
    except expat.ExpatError:
        raise refusals.damaged() from None


def _number(letters: str) -> int:
    number = 0
    for letter in letters[:4].upper():
        number = number * 26 + ord(letter) - 64
    return number

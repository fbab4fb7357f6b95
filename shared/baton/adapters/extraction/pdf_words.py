"""The words of a page of a PDF file with their places, in the order of the file."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium_c

from baton.adapters.extraction.pdf_objects import PageObjects, address_of
from baton.adapters.extraction.pdf_places import Box, PagePlaces
from baton.adapters.extraction.symbol_fonts import is_symbol_font, symbols

MAX_CHARACTERS = 1_000_000
"""The largest number of characters of one page."""
DIVIDED = "\x02"
"""PDFium's sign for a hyphen that divides a word at the end of a line. It is in no text."""
SMALLEST = 1.0
"""Points below which nobody can read letters."""
MOST_UNKNOWN = 0.1
"""The share of letters without a meaning in Unicode from which on the text of a page cannot be read."""
_SCANNED = 0.5
"""The share of a scanned page from which on its picture covers it."""
_HARDLY = 5
"""A stamp or a footer on a scanned page is less than one letter of so many."""
_HYPHENS = ("-", "\u00ad", "\u2010", "\ufffe", DIVIDED)
_JOINTS = ("\ufffe", DIVIDED)
"""Hyphens at which PDFium has put two lines together."""
_ENDS_OF_LINES = re.compile("\r\n|[\r\n\ufffe\x02]")
_WORD = re.compile(r"[^\s\0]+")
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_PLACES = str.maketrans({"\u00ad": None, "\ufffe": None})
"""Places for hyphens."""
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_BULLET = "\uf0b7"
_USUAL = frozenset("\uf0a7\uf0d8\uf06f\uf0a8\uf0fe\uf0fd\uf0fc\uf0fb")
"""Bullets and boxes of Wingdings. In fonts of unknown names they have hardly any other meaning."""
_FONT = re.compile(r"(?:[A-Z]{6}\+)?([A-Za-z]+?)(?:MT|PS)* ?([23]?)(?:[-,].*)?")
_LONGEST_NAME = 128
_UPRIGHT = math.radians(10)


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
    return len(line) > 1 and line[-1] in _HYPHENS and line[-2].isalpha() and after[:1].islower()


def read(text_page: Any, places: PagePlaces, objects: PageObjects) -> PageText:
    """Return the words of a page. Text that is not shown is left out.

    Text without ink is left out, too, unless it is that of a scan: a picture of the page with hardly any other text.
    """
    if objects.invisible and objects.covered(places.whole) > _SCANNED:
        whole = _read(text_page, places, objects.hidden)
        shown = _read(text_page, places, objects.hidden | objects.invisible)
        return whole if shown.letters * _HARDLY < whole.letters else shown
    return _read(text_page, places, objects.hidden | objects.invisible)


def _read(text_page: Any, places: PagePlaces, left_out: set[int]) -> PageText:
    found = PageText()
    reader = _Reader(text_page, places, left_out, places.whole)
    for start, end in reader.line_ranges():
        words = list(reader.words(start, end, found))
        if not words:
            continue
        line = reader.line(words, start, end)
        if found.lines and _goes_on(found.lines[-1], line):
            found.lines[-1].words.extend(words)
        else:
            found.lines.append(line)
    return found


def _goes_on(before: Line, line: Line) -> bool:
    """Return whether a line is the rest of the one before it: PDFium parts them at wide gaps."""
    last, first = before.words[-1].box, line.words[0].box
    is_level = before.is_upright and line.is_upright and abs(last.middle - first.middle) < 0.2 * before.size
    return is_level and first.left >= last.right - 1


@dataclass(slots=True)
class _Reader:
    page: Any
    places: PagePlaces
    left_out: set[int]
    whole: Box
    text: str = ""

    def __post_init__(self) -> None:
        count = max(0, min(self.page.count_chars(), MAX_CHARACTERS))
        text = self.page.get_text_range(0, count) if count else ""
        if len(text) != count:  # otherwise letters have no place among those of the page
            text = "".join(_letter(self.page.raw, number) for number in range(count))
        self.text = text

    def line_ranges(self) -> Iterator[tuple[int, int]]:
        start = 0
        for found in _ENDS_OF_LINES.finditer(self.text):
            if found[0] not in _JOINTS:
                yield start, found.start()
            elif self._is_end_of_line(found.start()):
                yield start, found.end()
            else:
                continue
            start = found.end()
        yield start, len(self.text)

    def _is_end_of_line(self, hyphen: int) -> bool:
        """Return whether the letter behind a hyphen stands elsewhere: PDFium makes one word of both halves."""
        if hyphen + 1 == len(self.text):
            return False
        before, after = self._box(hyphen), self._box(hyphen + 1)
        return abs(after.middle - before.middle) > 0.5 * before.height or after.right < before.left

    def words(self, start: int, end: int, found: PageText) -> Iterator[Word]:
        for match in _WORD.finditer(self.text, start, end):
            for first, last in self._visible(match.start(), match.end()):
                box = self._box(first).around(self._box(last - 1))
                if min(box.height, box.width) <= 0 or max(box.height, 0) < SMALLEST:
                    continue
                if box.within(self.whole).area < 0.2 * box.area:  # outside of the page
                    continue
                text = self._symbols(first, self.text[first:last])
                found.letters += last - first
                found.unknown += self._unknown(first, text)
                yield Word(self._write(text, is_last=last == end), box)

    def line(self, words: list[Word], start: int, end: int) -> Line:
        first = next(number for number in range(start, end) if not self.text[number].isspace())
        angle = pdfium_c.FPDFText_GetCharAngle(self.page.raw, first)
        turned = (angle + self.places.turns * math.pi / 2 + math.pi) % (2 * math.pi) - math.pi
        is_upright = abs(turned) < _UPRIGHT
        size = max(words, key=lambda word: len(word.text)).box.height
        return Line(words, size if is_upright else 0.0, is_upright)

    def _visible(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of a word that are shown."""
        if not self.left_out:
            yield start, end
            return
        first = start
        for number in range(start, end + 1):
            if number == end or self._is_left_out(number):
                if number > first:
                    yield first, number
                first = number + 1

    def _is_left_out(self, number: int) -> bool:
        item = pdfium_c.FPDFText_GetTextObject(self.page.raw, number)
        return bool(item) and address_of(item) in self.left_out

    def _box(self, number: int) -> Box:
        rectangle = pdfium_c.FS_RECTF()
        if not pdfium_c.FPDFText_GetLooseCharBox(self.page.raw, number, ctypes.byref(rectangle)):
            return Box(0.0, 0.0, 0.0, 0.0)
        return self.places.box(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)

    def _symbols(self, first: int, text: str) -> str:
        """Return a word with the pictures that its letters stand for."""
        font = self._font(first)
        if not is_symbol_font(font) and not _PRIVATE.search(text):
            return text
        return "".join(self._symbol(first + place, letter) for place, letter in enumerate(text))

    def _symbol(self, number: int, letter: str) -> str:
        font = self._font(number)
        is_private = _PRIVATE.match(letter) is not None
        if is_symbol_font(font):
            # PDFium knows the letters of Symbol.
            is_code = is_private or ("\x20" < letter < "\u0100" and font != "symbol" and letter != "\u00ad")
            return symbols(letter, font) if is_code else letter
        if letter == _BULLET:
            return "\u2022"
        return symbols(letter, "wingdings") if letter in _USUAL else letter

    def _font(self, number: int) -> str:
        """Return the name of a letter's font as office files have it."""
        name, flags = ctypes.create_string_buffer(_LONGEST_NAME), ctypes.c_int()
        pdfium_c.FPDFText_GetFontInfo(self.page.raw, number, name, _LONGEST_NAME, ctypes.byref(flags))
        found = _FONT.fullmatch(name.value.decode("latin-1"))
        return f"{found[1]} {found[2]}".strip().lower() if found else ""

    def _unknown(self, first: int, text: str) -> int:
        if text.isalnum() and text.isascii():  # of one font
            return len(text) * self._is_unknown(first, text[0])
        return sum(self._is_unknown(first + place, letter) for place, letter in enumerate(text))

    def _is_unknown(self, number: int, letter: str) -> bool:
        if letter.isascii() and letter > "\x1f":
            return bool(pdfium_c.FPDFText_HasUnicodeMapError(self.page.raw, number) == 1)
        if letter in (DIVIDED, "\u00ad", "\ufffe"):
            return False
        return letter == "\ufffd" or unicodedata.category(letter) in ("Co", "Cc", "Cn", "Cs")

    def _write(self, text: str, *, is_last: bool) -> str:
        is_divided = is_last and len(text) > 1 and text[-1] in _HYPHENS and text[-2].isalpha()
        text = _LIGATURES.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text).translate(_PLACES)
        if is_divided:
            return text if text.endswith(("-", "\u2010")) else text.rstrip(DIVIDED) + DIVIDED
        return text.replace(DIVIDED, "-")


def _letter(raw: Any, number: int) -> str:
    code = pdfium_c.FPDFText_GetUnicode(raw, number)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\0" if not code else "\ufffd"

"""The letters of a PDF page, in PDFium's order."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium_c

from baton_documents.pdf.glyph_names import GlyphNames
from baton_documents.pdf.objects import PageObjects, find_address
from baton_documents.pdf.places import Box, PagePlaces
from baton_documents.pdf.words import DIVIDED, HYPHENS, Line, PageText, Word
from baton_documents.text.symbol_fonts import decode_symbols, is_symbol_font

MAX_CHARACTERS = 1_000_000
"""The most characters of one page that are read."""
SMALLEST = 1.0
"""The smallest height of readable letters, in points."""
_JOINTS = ("\ufffe", DIVIDED)
"""Hyphens at which PDFium joins two lines."""
_ENDS_OF_LINES = re.compile("\r\n|[\r\n\ufffe\x02]")
_WORD = re.compile(r"[^\s\0]+")
_LIGATURES = re.compile("[\u2e9f\u2ef3\u2f00-\u2fd5\ufb00-\ufb06\ufb1d-\ufdff\ufe70-\ufefc]")
REST = "\ufdd0"
"""The sign in place of the second half of a letter that PDFium counts twice. No text contains it."""
NOTHING = "\ufdd1"
"""The sign in place of a letter that PDFium does not know. No text contains it."""
_PAIRS = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]")
_PLACES = str.maketrans({"\u00ad": None, "\ufffe": None, REST: None, "\u200e": None, "\u200f": None})
"""Invisible characters to remove: places for hyphens, second halves of letters, and marks of directions."""
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_BULLET = "\uf0b7"
_USUAL = frozenset("\uf0a7\uf0d8\uf06f\uf0a8\uf0fe\uf0fd\uf0fc\uf0fb")
"""Bullets and boxes of Wingdings. They rarely mean anything else in fonts of unknown names."""
_FONT = re.compile(r"(?:[A-Z]{6}\+)?([A-Za-z]+?)(?:MT|PS)* ?([23]?)(?:[-,].*)?")
_LONGEST_NAME = 128
"""The most bytes of a font's name that are read."""
_UPRIGHT = math.radians(10)
"""The largest angle of an upright letter."""


def read_letters(text_page: Any) -> str:
    """Return the letters of a page in PDFium's order, one for each of PDFium's indexes."""
    count = max(0, min(text_page.count_chars(), MAX_CHARACTERS))
    text = text_page.get_text_range(0, count) if count else ""
    if len(text) != count:  # every letter needs the same index as in PDFium
        text = "".join(_read_letter(text_page.raw, number) for number in range(count))
        text = _PAIRS.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16") + REST, text)
        text = _HALVES.sub("\ufffd", text)
    if "\0" in text:
        text = re.sub("\0", lambda match: _mark_unknown(text_page, match.start()), text)
    return text


def _mark_unknown(text_page: Any, number: int) -> str:
    """Return ``NOTHING`` for a letter that PDFium does not know, and a zero character for one that it has added."""
    return NOTHING if pdfium_c.FPDFText_GetTextObject(text_page.raw, number) else "\0"


def _is_private(letter: str) -> bool:
    return unicodedata.category(letter) == "Co"


@dataclass(slots=True)
class Reader:
    """A reader of a page's letters and their places."""

    page: Any
    text: str
    """The letters of the page in PDFium's order."""
    places: PagePlaces
    objects: PageObjects
    names: GlyphNames
    is_from_right: bool = False
    """Whether the document requests that all lines run from the right."""
    left_out: set[int] = field(default_factory=set)
    """The addresses of text objects that are not read."""
    whole: Box = field(init=False)
    """The box of the whole shown page."""
    _styles: dict[int, tuple[float, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.whole = self.places.whole

    def find_line_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of letters (first, end) of the lines, without line ends. A range may be empty."""
        start = 0
        for match in _ENDS_OF_LINES.finditer(self.text):
            if match[0] not in _JOINTS:
                yield start, match.start()
            elif self._is_end_of_line(match.start()):
                yield start, match.end()
            else:
                continue
            start = match.end()
        yield start, len(self.text)

    def _is_end_of_line(self, hyphen: int) -> bool:
        """Return whether the letter after a hyphen is on another line, though PDFium joins both parts of the word."""
        if hyphen + 1 == len(self.text):
            return False
        before, after = self.find_box(hyphen), self.find_box(hyphen + 1)
        return abs(after.middle - before.middle) > 0.5 * before.height or after.right < before.left

    def find_words(self, start: int, end: int, page_text: PageText) -> Iterator[Word]:
        """Yield the visible words of a line, given as a range of letters, and count their letters in ``page_text``."""
        for match in _WORD.finditer(self.text, start, end):
            for first, last in self._find_visible_ranges(match.start(), match.end()):
                box = self.find_box(first).unite(self.find_box(last - 1))
                if self.is_seen(box):
                    text = self.decode(first, self.text[first:last], page_text)
                    if text:
                        yield Word(self.write(text, is_last=last == end), box)

    def is_seen(self, box: Box) -> bool:
        """Return whether letters are large enough to be read, and on the page."""
        if min(box.height, box.width) <= 0 or box.height < SMALLEST:
            return False
        return bool(box.intersect(self.whole).area >= 0.2 * box.area)

    def decode(self, first: int, text: str, page_text: PageText) -> str:
        """Return the visible letters for ``text``, which begins at index ``first``, and count them in ``page_text``.

        Letters without a meaning in Unicode are left out.
        """
        text = self._show_symbols(first, text)
        page_text.letters += len(text)
        if text.isalnum() and text.isascii() and not self._is_unknown(first, text[0]):  # then all have one font
            return text
        letters = []
        for number, letter in enumerate(text, first):
            if self._is_unknown(number, letter):
                letter = self._find_by_name(number, letter)
                page_text.unknown += letter == "" or _is_private(letter)
                page_text.lost += letter == ""
            letters.append(letter)
        return "".join(letters)

    def make_line(self, words: list[Word], start: int, end: int) -> Line:
        """Return the line of words. Its longest word decides about the size, and whether the line is upright."""
        first = max(_WORD.finditer(self.text, start, end), key=lambda word: word.end() - word.start()).start()
        is_upright = self.is_upright(first)
        return Line(words, self.measure_size(first) if is_upright else 0.0, is_upright)

    def measure_size(self, number: int) -> float:
        """Return the size of a letter in points. The height of its box depends on its font."""
        matrix = pdfium_c.FS_MATRIX()
        pdfium_c.FPDFText_GetMatrix(self.page.raw, number, matrix)
        return float(pdfium_c.FPDFText_GetFontSize(self.page.raw, number)) * math.hypot(matrix.c, matrix.d)

    def find_origin(self, number: int) -> tuple[float, float]:
        """Return the point at which a letter is drawn, in the file's coordinates."""
        x, y = ctypes.c_double(), ctypes.c_double()
        pdfium_c.FPDFText_GetCharOrigin(self.page.raw, number, x, y)
        return round(x.value, 2), round(y.value, 2)

    def measure_along(self, number: int) -> float:
        """Return the position of a letter along its line, whatever the angle of the line."""
        x, y = self.find_origin(number)
        angle = pdfium_c.FPDFText_GetCharAngle(self.page.raw, number)
        return float(x * math.cos(angle) - y * math.sin(angle))

    def find_style(self, owner: int, number: int) -> tuple[float, bool]:
        """Return the size of a text object's letters in points, and whether they are upright."""
        if owner not in self._styles:
            self._styles[owner] = self.measure_size(number), self.is_upright(number)
        return self._styles[owner]

    def is_upright(self, number: int) -> bool:
        """Return whether a letter is upright on the page as it is shown."""
        angle = pdfium_c.FPDFText_GetCharAngle(self.page.raw, number)
        turned = (angle + self.places.turns * math.pi / 2 + math.pi) % (2 * math.pi) - math.pi
        return bool(abs(turned) < _UPRIGHT)

    def _find_visible_ranges(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of a word that are not left out."""
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
        return bool(item) and find_address(item) in self.left_out

    def find_box(self, number: int) -> Box:
        """Return the box of a letter, with the space above and below it that its font reserves."""
        rectangle = pdfium_c.FS_RECTF()
        if not pdfium_c.FPDFText_GetLooseCharBox(self.page.raw, number, ctypes.byref(rectangle)):
            return Box(0.0, 0.0, 0.0, 0.0)
        return self.places.place_box(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)

    def _show_symbols(self, first: int, text: str) -> str:
        """Return a word with the symbols that its letters show in symbol fonts."""
        font = self._find_font(first)
        if not is_symbol_font(font) and not _PRIVATE.search(text):
            return text
        return "".join(self._show_symbol(first + index, letter) for index, letter in enumerate(text))

    def _show_symbol(self, number: int, letter: str) -> str:
        """Return the symbol that a letter shows in its font; the letter itself in other fonts."""
        font = self._find_font(number)
        is_private = _PRIVATE.match(letter) is not None
        if is_symbol_font(font):
            # PDFium translates the letters of Symbol itself.
            is_code = is_private or ("\x20" < letter < "\u0100" and font != "symbol" and letter != "\u00ad")
            return decode_symbols(letter, font) if is_code else letter
        if letter == _BULLET:
            return "\u2022"
        return decode_symbols(letter, "wingdings") if letter in _USUAL else letter

    def _find_font(self, number: int) -> str:
        """Return the name of a letter's font in lower case, as Office files write it; empty if it is unknown."""
        match = _FONT.fullmatch(self._read_font_name(number))
        return f"{match[1]} {match[2]}".strip().lower() if match else ""

    def _read_font_name(self, number: int) -> str:
        """Return the name of a letter's font as the file has it; empty if it is unknown."""
        name, flags = ctypes.create_string_buffer(_LONGEST_NAME), ctypes.c_int()
        pdfium_c.FPDFText_GetFontInfo(self.page.raw, number, name, _LONGEST_NAME, ctypes.byref(flags))
        return name.value.decode("latin-1")

    def _find_by_name(self, number: int, letter: str) -> str:
        """Return an unknown letter by the name of its glyph; empty without a name."""
        if _is_private(letter):
            return letter
        code = 0 if letter == NOTHING else ord(letter)
        return self.names.find_letter(self._read_font_name(number), code) if code < 256 else ""

    def _is_unknown(self, number: int, letter: str) -> bool:
        """Return whether PDFium does not know which letter a glyph shows."""
        if letter.isascii() and letter > "\x1f":
            return bool(pdfium_c.FPDFText_HasUnicodeMapError(self.page.raw, number) == 1)
        if letter in (DIVIDED, REST, "\u00ad", "\ufffe", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f"):
            return False
        return letter in ("\ufffd", NOTHING) or unicodedata.category(letter) in ("Co", "Cc", "Cn", "Cs")

    def write(self, text: str, *, is_last: bool) -> str:
        """Return the text of a word without ligatures. ``is_last`` is True for the last word of a line.

        A hyphen that may divide a word at the end of a line is kept as it is, or becomes ``DIVIDED``.
        """
        is_divided = is_last and len(text) > 1 and text[-1] in HYPHENS and text[-2].isalpha()
        text = _LIGATURES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text).translate(_PLACES)
        if is_divided:
            return text if text.endswith(("-", "\u2010")) else text.rstrip(DIVIDED) + DIVIDED
        return text.replace(DIVIDED, "-")


def _read_letter(raw: Any, number: int) -> str:
    """Return a letter, or half of a surrogate pair; a zero character if PDFium does not know the letter."""
    code = pdfium_c.FPDFText_GetUnicode(raw, number)
    return chr(code) if 0 < code < 0x110000 else "\0" if not code else "\ufffd"

"""The font that replaces fonts which a PDF file names and does not embed.

PDFium searches the system for such a font, and leaves out text without a width in the font that it finds: letters that
are placed one by one, and whole vertical lines. This module provides a font in which each letter of Unicode is a box,
so that a file is read alike on all machines. The file gives the distances of letters, except in the standard families,
whose widths the format defines: there the boxes have these widths.
"""

from __future__ import annotations

import ctypes
import struct
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pypdfium2.raw as pdfium_c
from pdfminer.fontmetrics import FONT_METRICS

FULL = (
    (0x2E80, 0x2FFF),
    (0x3001, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0xFE30, 0xFE4F),
    (0xFF01, 0xFF60),
    (0x20000, 0x3FFFF),
)
"""Ranges of letters that are as wide as high, including the white space around them."""
_BLANK = ((0x7F, 0xA0), (0x2000, 0x200F), (0x3000, 0x3000))
"""Ranges of white space. Text that only consists of it may be left out."""
_MARKS = (0x300, 0x1FFF)
"""The range with nearly all marks above and below letters."""
_WHOLE, _COLLECTION = 0, int.from_bytes(b"ttcf", "big")
"""The table numbers with which PDFium requests the whole font, and the collection that contains it."""
_START = 16
"""The offset of the font in its collection, in bytes."""
_Shape = tuple[int, int, int]
"""The advance to the next letter, and the left and right edges of the box, in thousandths of the letters' size."""
_USUAL: _Shape = (500, 0, 250)
_MARK: _Shape = (0, -250, 0)
_FULL: _Shape = (1000, 0, 1000)
_USUAL_FAMILY = "Helvetica"
_OWN_FAMILIES = ("Symbol", "ZapfDingbats")
"""Families for which PDFium has fonts."""
_FAMILIES = tuple(family for family in FONT_METRICS if family not in _OWN_FAMILIES)
"""The families whose widths the format defines. The handle of a family in PDFium is its index plus 1."""


@cache
def replace_system_fonts() -> object:
    """Make PDFium use boxes for all fonts that files do not embed, until this process ends.

    Return the functions that PDFium calls. The cache keeps them in memory.
    """
    kinds = dict(pdfium_c.FPDF_SYSFONTINFO._fields_)
    fonts = pdfium_c.FPDF_SYSFONTINFO(version=1)
    fonts.MapFont = kinds["MapFont"](_choose_family)
    fonts.GetFont = kinds["GetFont"](lambda *_: None)
    fonts.GetFontData = kinds["GetFontData"](_write_font)
    pdfium_c.FPDF_SetSystemFontInfo(fonts)
    return fonts


def _choose_family(
    _: Any, weight: int, is_italic: int, charset: int, pitch: int, name: Any, is_exact: Any
) -> int | None:
    """Return the handle of the family for a font that a file does not embed; None if PDFium has the font itself."""
    family = ctypes.string_at(name).decode("latin-1")
    if family in _OWN_FAMILIES:
        return None
    return _FAMILIES.index(family if family in _FAMILIES else _USUAL_FAMILY) + 1


def _write_font(_: Any, handle: int, table: int, buffer: Any, size: int) -> int:
    """Write the font with a handle into a buffer, as far as it fits. Return its length; 0 for a part of a font."""
    content = make_box_font(_FAMILIES[handle - 1])
    if table not in (_WHOLE, _COLLECTION):
        return 0
    if table == _WHOLE:
        content = content[_START:]
    if buffer:
        ctypes.memmove(buffer, content, min(size, len(content)))
    return len(content)


@cache
def make_box_font(family: str) -> bytes:
    """Return a collection with one TrueType font of boxes, which have the widths of a standard family."""
    properties, widths = FONT_METRICS[family]
    edges: Any = properties["FontBBox"]
    bottom, top = int(edges[1]), int(edges[3])
    ranges = list(_list_ranges(widths))
    shapes = [_USUAL, *dict.fromkeys(shape for _, _, shape in ranges)]  # the first shape is for missing letters
    glyphs = [_make_glyph(shape) for shape in shapes]
    places = [sum(map(len, glyphs[:number])) for number in range(len(glyphs) + 1)]
    numbers = {shape: number for number, shape in enumerate(shapes)}
    groups = b"".join(struct.pack(">3I", first, last, numbers[shape]) for first, last, shape in ranges)
    # All other numbers are versions, counts and offsets of the format, equal for each family.
    tables = {
        b"cmap": struct.pack(">4HI2H3I", 0, 1, 3, 10, 12, 13, 0, 16 + len(groups), 0, len(ranges)) + groups,
        b"glyf": b"".join(glyphs),
        b"head": struct.pack(
            ">4I2H2Q4h2H3h", 1 << 16, 0, 0, 0x5F0F3CF5, 0, 1000, 0, 0, 0, bottom, 1000, top, 0, 8, 2, 1, 0
        ),
        b"hhea": struct.pack(">I3hH11hH", 1 << 16, top, bottom, 0, 1000, 0, 0, 1000, 1, *[0] * 7, len(glyphs)),
        b"hmtx": b"".join(struct.pack(">Hh", advance, begin) for advance, begin, _ in shapes),
        b"loca": struct.pack(f">{len(places)}I", *places),
        b"maxp": struct.pack(">I14H", 1 << 16, len(glyphs), 4, 1, 0, 0, 1, *[0] * 8),
    }
    return _join_tables(tables)


def _list_ranges(widths: Mapping[str, float]) -> Iterator[tuple[int, int, _Shape]]:
    """Yield ranges of code points (first, last) with one shape, which cover all letters from the space on."""
    shapes = {
        ord(letter): (int(width), 0, 0 if letter.isspace() else int(width) // 2) for letter, width in widths.items()
    }
    shapes |= {code: _MARK for code in range(*_MARKS) if unicodedata.category(chr(code)) in ("Mn", "Me")}
    parts = [(code, code, shape) for code, shape in shapes.items()]
    parts += [(first, last, _FULL) for first, last in FULL]
    parts += [(first, last, (_USUAL[0], 0, 0)) for first, last in _BLANK]
    begin = ord(" ")
    for first, last, shape in sorted(parts):
        if first > begin:
            yield begin, first - 1, _USUAL
        yield first, last, shape
        begin = last + 1
    yield begin, 0x10FFFF, _USUAL


def _make_glyph(shape: _Shape) -> bytes:
    """Return the outline of a box; empty for a shape without width."""
    _, begin, end = shape
    if begin == end:
        return b""
    bottom, top = (-120, 880) if shape == _FULL else (-207, 718)
    sides = struct.pack(">8h", begin, 0, end - begin, 0, bottom, top - bottom, 0, bottom - top)
    return struct.pack(">5h2H4B", 1, begin, bottom, end, top, 3, 0, 1, 1, 1, 1) + sides


def _join_tables(tables: Mapping[bytes, bytes]) -> bytes:
    """Return a collection of one font. Of a collection, unlike a single font, PDFium keeps one copy for all names."""
    places, content = b"", b""
    start = _START + 12 + 16 * len(tables)
    for name, table in sorted(tables.items()):
        words = table + bytes(-len(table) % 4)
        # PDFium distinguishes collections by their checksums.
        checksum = sum(struct.unpack(f">{len(words) // 4}I", words)) & 0xFFFFFFFF
        places += struct.pack(">4s3I", name, checksum, start + len(content), len(table))
        content += words
    header = struct.pack(">4s3I", b"ttcf", 1 << 16, 1, _START)
    return header + struct.pack(">I4H", 1 << 16, len(tables), 64, 2, 16 * len(tables) - 64) + places + content

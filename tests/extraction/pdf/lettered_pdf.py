"""PDF files with lines of any letters at given places, as the file draws them: from the left to the right."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from tests.extraction.pdf.pdf_objects import one_page, stream

SIZE = 6
WIDTH = 3.6
"""Points of a letter. Those of Chinese and Japanese are as wide as they are high, and marks have no width."""
Piece = tuple[float, float, str]
"""The left end of a run of letters, its height on the page, and the letters."""
_CODES = [*range(0x21, 0x7F), *range(0xA1, 0x100)]
"""Those for which the font has glyphs. PDFium leaves out what draws nothing."""


def make_lettered(
    pieces: Iterable[Piece], *, marks: Sequence[str] = (), turned: Sequence[Piece] = (), catalog: bytes = b""
) -> bytes:
    """A file whose only font names its letters in a table. Each piece is a text object; those turned run up."""
    pieces = list(pieces)
    letters = sorted({letter for _, _, text in [*pieces, *turned] for letter in text} - {" "})
    codes = {" ": 0x20, **dict(zip(letters, _CODES, strict=False))}
    content = b"".join(
        b"BT /U %d Tf %s %.2f %.2f Tm <%s> Tj ET "
        % (SIZE, matrix, x, y, bytes(codes[item] for item in text).hex().encode())
        for matrix, part in ((b"1 0 0 1", pieces), (b"0 1 -1 0", turned))
        for x, y, text in part
    )
    names = b"".join(
        b"<%02x> <%s>\n" % (code, letter.encode("utf-16-be").hex().encode()) for letter, code in codes.items()
    )
    table = (
        b"/CIDInit /ProcSet findresource begin begincmap /CMapType 2 def 1 begincodespacerange <00> <ff> "
        b"endcodespacerange %d beginbfchar\n%sendbfchar endcmap end" % (len(codes), names)
    )
    widths = dict.fromkeys(range(0x20, 0x100), 600)
    widths |= {codes[letter]: 1000 for letter in letters if _is_full(letter)}
    widths |= {codes[letter]: 0 for letter in marks}
    font = (
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/FirstChar 32/LastChar 255"
        b"/Widths[%s]/ToUnicode 11 0 R/FontDescriptor 12 0 R>>" % b" ".join(b"%d" % width for width in widths.values())
    )
    shape = b"<</Type/FontDescriptor/FontName/Helvetica/Flags 32/Ascent 800/Descent -200/FontBBox[0 -200 1000 800]>>"
    return one_page(content, b"/Font<</U 10 0 R>>", {10: font, 11: stream(table), 12: shape}, catalog=catalog)


def _is_full(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in ("W", "F")


def place_right_aligned(
    lines: Iterable[str], right: float = 560.0, top: float = 740.0, leading: float = 9.0
) -> list[Piece]:
    """Return the pieces of right-aligned lines."""
    return [(right - WIDTH * len(line), top - leading * number, line) for number, line in enumerate(lines)]

"""Characters that browsers read, and that Python's codecs of their encodings lack.

``gb18030`` lacks the euro sign of a single byte. ``euc_jp`` and ``iso2022_jp`` lack what Microsoft has added to the
Japanese standard (numbers in circles, 髙, 﨑, units), and ``cp932`` has.
"""

from __future__ import annotations

import codecs

RESTORED = "baton-codec-gaps"
"""The error handler's name: these characters are decoded, and everything else becomes U+FFFD."""


def _restore(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding == "gb18030" and error.object[error.start] == 0x80:
        return "\u20ac", error.start + 1
    pair = error.object[error.start : error.start + 2]
    row, cell = (byte & 0x7F for byte in pair) if len(pair) == 2 else (0, 0)
    has_high_bits = error.encoding == "euc_jp"
    if (
        len(pair) == 2
        and all((byte > 0x7F) == has_high_bits for byte in pair)
        and all(0x21 <= each <= 0x7E for each in (row, cell))
    ):
        try:
            return _shifted(row - 0x20, cell - 0x20).decode("cp932"), error.start + 2
        except UnicodeDecodeError:
            pass
    return "\ufffd", error.end


def _shifted(row: int, cell: int) -> bytes:
    """Return the Shift JIS of a character, by its row and cell in JIS X 0208 (both from 1)."""
    lead = (row - 1) // 2 + (0x81 if row <= 62 else 0xC1)
    trail = cell + 0x9E if row % 2 == 0 else cell + 0x3F + (cell > 63)
    return bytes((lead, trail))


codecs.register_error(RESTORED, _restore)

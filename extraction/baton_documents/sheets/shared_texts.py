"""The texts that cells of a workbook share."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import IO, Any

from baton_documents import refusals
from baton_documents.office.xml import stream
from baton_documents.text.inline_text import shifted

MAX_SHARED = 64 * 1024 * 1024
"""The most bytes of all shared texts."""
MAX_SHARED_TEXTS = 8_000_000
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


class SharedTexts:
    """The shared texts by their numbers, in a form that takes little more memory than their characters."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def text(self, number: int) -> str:
        """Return the text with a number. Raises ``IndexError`` if it is missing."""
        start = self._ends[number - 1] if number else 0
        return self._bytes[start : self._ends[number]].decode()

    @classmethod
    def read(cls, content: IO[bytes]) -> SharedTexts:
        """Return the texts of a part. Raises ``DocumentRefused`` if they are too long."""
        texts = cls()
        for element in stream(content, "si"):
            texts._bytes += rich_text(element).encode(errors="replace")
            texts._ends.append(len(texts._bytes))
            if len(texts._bytes) > MAX_SHARED or len(texts._ends) > MAX_SHARED_TEXTS:
                raise refusals.too_long()
        return texts


def rich_text(element: Any) -> str:
    """Return the text of an ``si`` or ``is`` element from its runs, without phonetic texts (``rPh``)."""
    return unescaped("".join(_texts(element)))


def unescaped(text: str) -> str:
    """Return a text without the escapes of characters that XML cannot hold (ISO/IEC 29500-1 section 22.9.2.19)."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _texts(element: Any) -> Iterator[str]:
    before = ""
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name == "t":
            before = child.text or ""
        elif name == "r":
            text = "".join(part.text or "" for part in child if part.tag.rpartition("}")[2] == "t")
            direction = _direction(child)
            before = shifted(text, before, is_raised=direction == "superscript") if direction else text
        else:
            continue
        yield before


def _direction(run: Any) -> str | None:
    """Return ``superscript`` or ``subscript`` if a run is one; otherwise None."""
    for properties in run:
        if properties.tag.rpartition("}")[2] == "rPr":
            values = (child.get("val") for child in properties if child.tag.rpartition("}")[2] == "vertAlign")
            return next((value for value in values if value in ("superscript", "subscript")), None)
    return None

"""The texts that cells of a workbook share."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import IO, Any

from baton_documents import refusals
from baton_documents.office.xml import stream_elements
from baton_documents.text.inline_text import mark_script

MAX_SHARED = 64 * 1024 * 1024
"""The most bytes of all shared texts."""
MAX_SHARED_TEXTS = 8_000_000
"""The most shared texts, whose places take memory too."""
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


class SharedTexts:
    """The shared texts by their numbers, in a form that takes little more memory than their characters."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def get_text(self, number: int) -> str:
        """Return the text with a number. Raises ``IndexError`` if it is missing."""
        start = self._ends[number - 1] if number else 0
        return self._bytes[start : self._ends[number]].decode()

    @classmethod
    def read(cls, content: IO[bytes]) -> SharedTexts:
        """Return the texts of a part. Raises ``DocumentRefused`` if they are too long, and ``XMLSyntaxError``."""
        texts = cls()
        for element in stream_elements(content, "si"):
            texts._bytes += read_rich_text(element).encode(errors="replace")
            texts._ends.append(len(texts._bytes))
            if len(texts._bytes) > MAX_SHARED or len(texts._ends) > MAX_SHARED_TEXTS:
                raise refusals.too_long()
        return texts


def read_rich_text(element: Any) -> str:
    """Return the text of an ``si`` or ``is`` element from its runs, without phonetic texts (``rPh``)."""
    return unescape("".join(_read_texts(element)))


def unescape(text: str) -> str:
    """Return a text with its escapes replaced by characters (ISO/IEC 29500-1 section 22.9.2.19)."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _read_texts(element: Any) -> Iterator[str]:
    """Yield the texts and the runs of an ``si`` or ``is`` element."""
    before = ""
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name == "t":
            before = child.text or ""
        elif name == "r":
            text = "".join(part.text or "" for part in child if part.tag.rpartition("}")[2] == "t")
            direction = _find_direction(child)
            before = mark_script(text, before, is_raised=direction == "superscript") if direction else text
        else:
            continue
        yield before


def _find_direction(run: Any) -> str | None:
    """Return ``superscript`` or ``subscript`` if a run is one; otherwise None."""
    for properties in run:
        if properties.tag.rpartition("}")[2] == "rPr":
            values = (child.get("val") for child in properties if child.tag.rpartition("}")[2] == "vertAlign")
            return next((value for value in values if value in ("superscript", "subscript")), None)
    return None

"""Text measured and cut by its size in UTF-8, and codes in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

MENDED_AT_ONCE = 16 * 1024
"""Characters replaced in one call. The codec holds the interpreter's lock and replaces surrogates slowly."""


def utf8_size(text: str) -> int:
    """Return the size of ``text`` in bytes, lone surrogates included. Models split surrogate pairs between chunks."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by ``U+FFFD``, and join pairs to characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_mend(text[start:end]) for start, end in slices(text, MENDED_AT_ONCE))
    return text


def fold(text: str) -> str:
    """Return a text that is the same for texts that differ in case and spacing only."""
    return " ".join(text.casefold().split())


def slices(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of slices of ``size`` characters, or one more in order not to split a surrogate pair."""
    start = 0
    while start < len(text):
        end = start + size
        if "\ud800" <= text[end - 1 : end] <= "\udbff":
            end += 1
        yield start, end
        start = end


def _mend(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def first_bytes(text: str, size: int) -> str:
    """Return the longest prefix of ``text`` with at most ``size`` bytes. It ends at a whole character."""
    if size <= 0:
        return ""
    if text.isascii():
        return text[:size]
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= size:
        return text
    while encoded[size] & 0xC0 == 0x80:  # not the first byte of a character
        size -= 1
    return encoded[:size].decode("utf-8", "surrogatepass")


MAX_CODES = 20
"""Codes of a query that are searched as phrases."""
MAX_CODE = 64
"""The largest number of characters of a code. A longer text is an address."""
_CODE = re.compile(r"(?<!\w)[^\W_]++(?:(?:_|[^\w\s])++[^\W_]++)++")


def codes_of(query: str) -> list[str]:
    """Return the codes of several parts in a query, each once, in lower case."""
    found = (match[0].lower() for match in _CODE.finditer(query))
    codes = dict.fromkeys(code for code in found if len(code) <= MAX_CODE and any(map(str.isdigit, code)))
    return list(codes)[:MAX_CODES]

"""Text by its size in UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

MENDED_AT_ONCE = 16 * 1024
"""Characters: the codec holds the interpreter's lock until it is done, and is slow at replacing surrogates."""


def utf8_size(text: str) -> int:
    """Bytes that ``text`` takes, halves of surrogate pairs included, which models write between two pieces of text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def encodable(text: str) -> str:
    """The text with ``U+FFFD`` for every half of a surrogate pair, which UTF-8 cannot hold; pairs become characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_mended(text[start:end]) for start, end in slices(text, MENDED_AT_ONCE))
    return text


def slices(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Where ``text`` can be cut into slices of ``size`` characters, or one more: no surrogate pair is parted."""
    start = 0
    while start < len(text):
        end = start + size
        if "\ud800" <= text[end - 1 : end] <= "\udbff":
            end += 1
        yield start, end
        start = end


def _mended(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def first_bytes(text: str, size: int) -> str:
    """The longest beginning of ``text`` that takes at most ``size`` bytes; no character is parted."""
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

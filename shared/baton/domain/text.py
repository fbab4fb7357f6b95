"""Text by its size in UTF-8."""

from __future__ import annotations


def utf8_size(text: str) -> int:
    """Bytes that ``text`` takes, halves of surrogate pairs included, which models write between two pieces of text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


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

"""Functions on text: its size in UTF-8, normal forms, unsafe characters, slices, and codes in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

MENDED_AT_ONCE = 16 * 1024
"""Characters replaced in one call. The codec holds the interpreter's lock and replaces surrogates slowly."""

MAX_MARKS = 30
"""Marks on one letter that a normal form keeps."""
ALWAYS_FAST = 1_000
"""Characters of a text that is normalised within a millisecond, however many marks it has."""
MAX_GROWTH = 4
"""The largest factor by which a compatibility form may be longer than its text."""
NEVER_CUT = 4_000
"""Characters up to which a compatibility form is not cut."""


def count_bytes(text: str) -> int:
    """Return the size of ``text`` in bytes. Lone surrogates count too, because models split pairs between chunks."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def replace_surrogates(text: str) -> str:
    """Return a text with ``U+FFFD`` for lone surrogates, which UTF-8 cannot encode. Pairs become characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        parts = (text[start:end].encode("utf-16", "surrogatepass") for start, end in split_slices(text, MENDED_AT_ONCE))
        return "".join(part.decode("utf-16", "replace") for part in parts)
    return text


PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
"""A placeholder of a sentence: the name of a value, or the path to one in an object, such as ``{customer.name}``."""
_SILENT = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u2060\ufeff]")
"""Invisible characters that do not change the text: hints on hyphens, spaces and directions."""
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u180e\u202a-\u202e\u2061-\u206f\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Control characters, and invisible ones that hide, move or reorder what people read."""


def make_readable(text: str) -> str:
    """Return a text without characters that hide, move or reorder parts of it for readers, in a terminal too.

    Each unsafe character becomes ``U+FFFD``, which is visible. Invisible characters that change nothing (``_SILENT``)
    are removed. All line breaks become line feeds, and tabs become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    lines = re.sub("\r\n?|[\u2028\u2029]", "\n", text).replace("\t", " ")
    return _UNSAFE.sub("\ufffd", _SILENT.sub("", lines))


def is_plain_line(text: str) -> bool:
    """Return whether a text is one line without tabs and characters that people cannot see."""
    return "\n" not in text and make_readable(text) == text


def fold(text: str) -> str:
    """Return a normal form that is the same for texts that differ only in case and spacing."""
    return " ".join(text.casefold().split())


def normalise_text(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in a normal form of Unicode, at a cost that grows with its length only.

    Only the first ``MAX_MARKS`` marks on a letter are kept, which is Unicode's own limit (UAX 15, Stream-Safe Text). A
    compatibility form (``NFKC``, ``NFKD``) over ``NEVER_CUT`` characters is cut at ``MAX_GROWTH`` times the text's
    length: one character can become eighteen, but only texts made of such characters grow like that.
    """
    # Normalising puts the marks of a letter in order, which is quadratic in their number.
    if len(text) > ALWAYS_FAST and not text.isascii():
        text = _compile_long_marks().sub(r"\1", text)
    normalised = unicodedata.normalize(form, text)
    if form == "NFC" or len(normalised) <= NEVER_CUT:
        return normalised
    return normalised[: max(NEVER_CUT, MAX_GROWTH * len(text))]


@cache
def _compile_long_marks() -> Any:
    """Return the pattern of marks beyond ``MAX_MARKS``, and of kana's half-width signs, which become marks."""
    import regex  # loaded by the first long text that is not ASCII

    return regex.compile(rf"([\p{{M}}\uff9e\uff9f]{{{MAX_MARKS}}})[\p{{M}}\uff9e\uff9f]+")


def split_slices(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of slices of ``size`` characters, or one more to keep a surrogate pair whole."""
    start = 0
    while start < len(text):
        end = start + size
        if "\ud800" <= text[end - 1 : end] <= "\udbff" and "\udc00" <= text[end : end + 1] <= "\udfff":
            end += 1
        yield start, end
        start = end


def cut_to_bytes(text: str, size: int) -> str:
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


def find_codes(query: str) -> list[str]:
    """Return up to ``MAX_CODES`` codes of several parts in a query, such as ``a-1001``, each once, in lower case."""
    matches = (match[0].lower() for match in _CODE.finditer(query))
    codes = dict.fromkeys(code for code in matches if len(code) <= MAX_CODE and any(map(str.isdigit, code)))
    return list(codes)[:MAX_CODES]

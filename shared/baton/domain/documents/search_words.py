"""Words of texts and queries in the form that searches compare, in every index, the prompt and the list of threads.

The rules come from Unicode's properties, so that they hold for all scripts: decimal digits, combining classes, line
breaking. Letters of Latin scripts that do not decompose, such as ø, become those of the library ``anyascii``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from baton.domain.text import normalise_text, replace_surrogates

_ASCII_WORD = re.compile("[a-zA-Z0-9]+")
_OVERLAY, _NUKTA, _FIRST_POINT, _LAST_POINT, _FIRST_ACCENT = 1, 7, 10, 36, 200
"""Canonical combining classes: strokes, nuktas of Indian scripts, points of Hebrew, Arabic and Syriac, and accents.
Words are compared without these. Marks of other classes distinguish words: signs of vowels, viramas, Thai tones, and
voicing of kana."""
_ARABIC_LETTERS = {
    "\u0640": "",  # tatweel, which only stretches a word
    "\u0629": "\u0647",  # teh marbuta, often typed as heh
    "\u06c1": "\u0647",
    "\u06be": "\u0647",
    "\u06d5": "\u0647",
    "\u0649": "\u064a",  # the forms of yeh on Arabic, Persian and Urdu keyboards
    "\u06cc": "\u064a",
    "\u06d2": "\u064a",
    "\u06a9": "\u0643",  # the forms of kaf
}
"""Letters that keyboards of other languages have in place of each other (Lucene's Arabic and Persian normalisation)."""


def to_search_form(text: str) -> str:
    """Return a text without differences of case, accents, width and forms of letters, and with the digits 0 to 9.

    Only Latin letters are transliterated: ``to_search_form("Straße ٤٢")`` is ``"strasse 42"``.
    """
    if text.isascii():
        return text.lower()
    apart = normalise_text("NFKD", replace_surrogates(text)).casefold()
    return normalise_text("NFKC", apart.translate(_load_forms()))


def split_words(text: str) -> list[str]:
    """Return the words of a text in their order, in the form in which they are written.

    Where a script writes no spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese), each sign counts as a word.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return [word for word, _ in find_words(text)]


def find_words(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words that ``split_words`` returns, each with its position in the text."""
    if text.isascii():
        yield from ((match[0], match.start()) for match in _ASCII_WORD.finditer(text))
        return
    patterns = _load_patterns()
    for match in patterns.run.finditer(text):
        if match["unspaced"] is None:
            yield match[0], match.start()
            continue
        yield from ((sign[0], match.start() + sign.start()) for sign in patterns.sign.finditer(match[0]))


def index_words(text: str) -> list[str]:
    """Return the words by which an index finds a text, or by which a query searches, in the order of the text.

    Signs of scripts without spaces are joined in pairs too, because single signs say little. A Korean word is followed
    by its pairs of syllables, because particles are written together with it.
    """
    text = to_search_form(text)
    if text.isascii():
        return split_words(text)
    words: list[str] = []
    patterns = _load_patterns()
    for match in patterns.run.finditer(text):
        if match["unspaced"] is not None:
            signs = patterns.sign.findall(match[0])
            words += [signs[0], *(sign for first, last in pairwise(signs) for sign in (first + last, last))]
        else:
            words.append(match[0])
            if len(match[0]) > 2 and patterns.hangul.search(match[0]):
                words += [first + last for first, last in pairwise(match[0])]
    return words


class _Patterns:
    """Patterns over properties of Unicode. Their library is loaded by the first text that is not ASCII."""

    def __init__(self) -> None:
        import regex

        # Ideographs, kana and their marks (ID, CJ, NS), and scripts that need a dictionary to be divided (SA).
        unspaced = r"\p{lb=ID}\p{lb=CJ}\p{lb=NS}\p{lb=SA}\p{WB=Katakana}"
        self.run = regex.compile(rf"(?V1)(?P<unspaced>[\w&&[{unspaced}]]+)|[\w--[_{unspaced}]]+")
        self.sign = regex.compile(r"\X")
        self.hangul = regex.compile(r"\p{Hangul}")
        self.ignorable = regex.compile(r"\p{DI}")
        self.latin = regex.compile(r"\p{Latin}")


@cache
def _load_patterns() -> _Patterns:
    return _Patterns()


class _Forms(dict[int, str]):
    """A cache of the form of each character. Unicode's number of characters bounds its size."""

    def __init__(self) -> None:
        from anyascii import anyascii

        super().__init__({ord(letter): form for letter, form in _ARABIC_LETTERS.items()})
        self._ascii = anyascii
        self._patterns = _load_patterns()

    def __missing__(self, code: int) -> str:
        form = self._make_form(chr(code))
        self[code] = form
        return form

    def _make_form(self, character: str) -> str:
        if character.isascii():
            return character
        if (digit := unicodedata.decimal(character, None)) is not None:
            return str(digit)
        if _is_accent(unicodedata.combining(character)) or self._patterns.ignorable.match(character):
            return ""
        return self._ascii(character).lower() if self._patterns.latin.match(character) else character


@cache
def _load_forms() -> Any:
    return _Forms()


def _is_accent(combining_class: int) -> bool:
    is_point = _FIRST_POINT <= combining_class <= _LAST_POINT
    return combining_class in (_OVERLAY, _NUKTA) or is_point or combining_class >= _FIRST_ACCENT

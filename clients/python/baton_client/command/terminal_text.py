"""Text of others, made safe for a terminal."""

from __future__ import annotations

import unicodedata

_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the order of text. The marks of single letters (U+200E, U+200F) are harmless."""


def make_printable(text: object) -> str:
    """Return ``text`` without control characters, except line feeds and tabs: a terminal would obey them.

    An escape sequence loses the character that makes it one, so that its rest is visible.
    """
    content = "" if text is None else str(text)
    return "".join(
        character for character in content.replace("\r\n", "\n") if character in "\n\t" or _is_shown(character)
    )


def one_line(text: object, longest: int | None = None) -> str:
    """Return ``text`` as one printable line of at most ``longest`` characters; None: of any length."""
    line = " ".join(make_printable(text).split())
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "\u2026"


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cs"} and character not in _DIRECTION

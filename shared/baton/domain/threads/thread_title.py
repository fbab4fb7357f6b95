"""Titles of threads: the titles that users may set, and a model's text made into a title."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

from baton.domain.errors import InvalidRequest
from baton.domain.text import cut_to_bytes, normalise_text, replace_surrogates


class TitleSource(StrEnum):
    """The source of a title after the first answer."""

    MODEL = "model"
    """The light model writes the title. If it fails, the title is the beginning of the first message."""
    BEGINNING = "beginning"
    """The title is the beginning of the first message."""
    NONE = "none"
    """Baton makes no titles. Threads have only those that users give them."""


MAX_TITLE = 120
"""Characters of a title that a user gives."""
MAX_MADE_TITLE = 60
"""Characters of a title that Baton makes."""
MAX_PREVIEW = 100
"""Characters of a preview, the beginning of the first message."""
MAX_MADE_BYTES = 120
"""Bytes of a title that Baton makes, and of a preview. Every turn writes the item that holds them."""
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text around them. A title with them would rearrange lists."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Zl", "Zp", "Zs"})
"""Categories of characters that show nothing by themselves."""
_BREAKING = frozenset({"Cc", "Zl", "Zp"})
"""Categories of control characters and ends of lines."""
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1(?![\w*])")
"""Text between asterisks. Other asterisks are literal, as in ``2 * 3`` and ``*.py``."""
_MARKUP = re.compile(r"^(?:#{1,6}|[-*+>]|\d{1,2}[.)])\s+|[_`~]{2,}|[`<>\[\]]|!(?=\[)")
_LABEL = re.compile("^(?:title|titel|título|titre|标题|عنوان)\\s*[:\uff1a]\\s*", re.IGNORECASE)
_QUOTES = "\"' \u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a\u300c\u300d\u300e\u300f"
"""Quotation marks, which models like to set around titles, and the space."""


def parse_title(text: str) -> str:
    """Return a user's title in normal form NFC, without spaces around it.

    Raises ``InvalidRequest`` for a title that is too long or blank, has several lines or changes the direction of text.
    """
    title = normalise_text("NFC", replace_surrogates(text)).strip()
    if len(title) > MAX_TITLE:
        raise InvalidRequest(f"title must have at most {MAX_TITLE} characters.")
    if any(unicodedata.category(character) in _BREAKING for character in title):
        raise InvalidRequest("title must be one line without control characters.")
    if any(character in _REORDERING for character in title):
        raise InvalidRequest("title must not contain characters that change the direction of text.")
    if not _is_visible(title):
        raise InvalidRequest("title must not be blank.")
    return title


def to_title(text: str) -> str:
    """Return a title made of a model's text: one short line without markup; empty if nothing is left."""
    line = next((line for line in text.splitlines() if _is_visible(line)), "")
    line = _LABEL.sub("", _MARKUP.sub("", _EMPHASIS.sub(r"\2", _to_plain(line))).strip(_QUOTES))
    title = cut_beginning(line.strip(_QUOTES), MAX_MADE_TITLE).rstrip(".。,;:")
    return title if _is_visible(title) and title.strip("* ") else ""


def cut_beginning(text: str, length: int = MAX_MADE_TITLE) -> str:
    """Return the beginning of ``text`` as one line of at most ``length`` characters and ``MAX_MADE_BYTES``.

    Empty if it shows nothing.
    """
    line = _to_plain(text)
    cut = cut_to_bytes(line[:length], MAX_MADE_BYTES)
    if len(cut) < len(line):
        room = cut_to_bytes(line[: length - 1], MAX_MADE_BYTES - len("…".encode()))
        whole_words, _, _ = room.rpartition(" ")
        cut = f"{(whole_words if len(whole_words) >= len(room) // 2 else room).rstrip()}…"
    return cut if _is_visible(cut) else ""


def _to_plain(text: str) -> str:
    """Return ``text`` as one line, without control characters and characters of ``_REORDERING``."""
    characters = (
        " " if unicodedata.category(character) in _BREAKING else character for character in replace_surrogates(text)
    )
    return normalise_text(
        "NFC", " ".join("".join(character for character in characters if character not in _REORDERING).split())
    )


def _is_visible(text: str) -> bool:
    return any(unicodedata.category(character) not in _INVISIBLE for character in text)

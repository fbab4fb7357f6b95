"""Text that comes in pieces, broken into a terminal's lines between words."""

from __future__ import annotations

import re

from rich.cells import cell_len

_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class WordWrap:
    """A filter that adds line feeds where a word would not fit. A word is held back until it is whole."""

    def __init__(self) -> None:
        self._column = 0
        self._word = ""
        """The beginning of a word whose end has not come."""

    def add(self, text: str, width: int) -> str:
        """Return what can be shown of the text so far. ``width`` is in cells of the terminal."""
        pieces = _PIECES.findall(self._word + text)
        self._word = ""
        if pieces and not pieces[-1].isspace() and self._may_wait(pieces[-1], width):
            self._word = pieces.pop()
        return "".join(self._place(piece, width) for piece in pieces)

    def end(self, width: int) -> str:
        """Return what was held back. The next text begins a line."""
        word, self._word = self._word, ""
        text = self._place(word, width) if word else ""
        self._column = 0
        return text

    def _may_wait(self, word: str, width: int) -> bool:
        """Return whether a word should be held back. Long ones, and scripts without spaces, are shown as they come."""
        return cell_len(word) == len(word) and len(word) < width // 2

    def _place(self, piece: str, width: int) -> str:
        if piece == "\n":
            self._column = 0
            return piece
        cells = cell_len(piece)
        is_beyond = self._column + cells > width
        if piece.isspace() and is_beyond:
            self._column = 0
            return "\n"
        if is_beyond and self._column > 0 and cells <= width:
            self._column = cells
            return f"\n{piece}"
        self._column = (self._column + cells) % width if is_beyond else self._column + cells
        return piece


def fits_between_words(text: str, width: int) -> bool:
    """Return whether lines of ``width`` cells can be broken between words alone.

    Otherwise the terminal wraps the text, so that a long address can be copied whole.
    """
    return all(cell_len(word) <= width for word in text.split())

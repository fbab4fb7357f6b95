"""Exact token counts with tiktoken, from a vocabulary file that ships with the product."""

from __future__ import annotations

import hashlib
import re
import threading
from binascii import a2b_base64
from pathlib import Path

import tiktoken

VOCABULARY_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The file's name in a tiktoken cache: SHA-1 of the address tiktoken would load it from."""

VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

PATTERN = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
"""How o200k_base cuts text before merging, as in ``tiktoken_ext.openai_public`` (a test compares the two)."""

LONGEST_BLANK = 128 * 1024
"""Longest run of white space given to tiktoken at once, a multiple of its longest blank token (128 spaces)."""

_LONG_BLANK = re.compile(rf"\s{{{LONGEST_BLANK}}}(?=\s\s)")
"""A slice to cut off; two blanks must follow, since the last one belongs to the word after it."""


class TiktokenCounter:
    """Counts tokens as ``o200k_base`` does. Thread-safe; the vocabulary (0.2 s) is loaded at the first count
    or by ``load``.

    Counting takes about 20 ms a megabyte of prose and up to 0.8 s a megabyte without any word boundary, and releases
    the GIL meanwhile. Counts are exact, except that a run of more than 128 K white space characters, on which
    tiktoken itself fails near a million, is counted in slices: exact for spaces, else at most two tokens a slice more.
    """

    def __init__(self, folder: Path) -> None:
        """``folder`` holds the vocabulary file, named as in a tiktoken cache (``TIKTOKEN_CACHE_DIR``)."""
        self._path = folder / VOCABULARY_FILE
        self._lock = threading.Lock()
        self._encoding: tiktoken.Encoding | None = None

    def count(self, text: str) -> int:
        """The number of tokens of ``text``; special-token spellings count as ordinary text.

        Raises ``RuntimeError`` if the vocabulary file is missing or damaged.
        """
        encoding = self._encoding or self.load()
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))

    def load(self) -> tiktoken.Encoding:
        """Load the vocabulary, unless it is loaded. Raises as ``count`` does."""
        with self._lock:
            if self._encoding is None:
                # Not tiktoken.get_encoding(): that one downloads a file it does not find, in the middle of a turn.
                self._encoding = tiktoken.Encoding(
                    name="o200k_base", pat_str=PATTERN, mergeable_ranks=_read_ranks(self._path), special_tokens={}
                )
            return self._encoding


def _pieces(text: str) -> list[str]:
    if len(text) <= LONGEST_BLANK:
        return [text]
    cuts = [match.end() for match in _LONG_BLANK.finditer(text)]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _read_ranks(path: Path) -> dict[bytes, int]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RuntimeError(f"The tokenizer's vocabulary cannot be read from {path}.") from error
    if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        raise RuntimeError(f"The tokenizer's vocabulary in {path} is damaged.")
    fields = data.split()  # token and rank in turn; read without a loop of Python's, for cold starts wait for it
    return dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))

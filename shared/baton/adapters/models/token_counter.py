"""Token counts of OpenAI's vocabulary, from files that ship with the product."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from binascii import a2b_base64
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from baton.adapters.models.token_pieces import PATTERN, PieceCounter, TooManyLookups
from baton.domain.metrics import Metric, count

if TYPE_CHECKING:
    import tiktoken

logger = Logger(child=True)

VOCABULARY_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The file's name in a tiktoken cache: the SHA-1 of the address from which tiktoken loads it."""

VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

TABLE_FILE = "o200k_base.table"
"""The vocabulary as ``token_pieces`` reads it. A test makes it from ``VOCABULARY_FILE`` and compares."""

TABLE_SHA256 = "75565266f0abe8c6cba0776eb65aa0d52215eca9bc24c64caad44bedcf824f33"

MAX_COUNTED = 32 * 1024
"""The maximum number of characters that are counted in one text."""
MAX_REMEMBERED = 8 * 1024
"""The maximum length of a text whose count is cached, in characters. Every turn counts the same prompt and tools."""
REMEMBERED = 256
"""The number of texts whose counts are cached: 2 Mi characters at most."""
PART = 8_000
"""The number of fields of the vocabulary's file that are read at once. Each token has two."""
SAMPLES = 16
"""The number of samples of a longer text that are counted, at equal distances."""


class TiktokenCounter:
    """A token counter that counts as ``o200k_base`` does. Thread-safe.

    The first texts are counted with a table. The vocabulary, which takes 0.2 s to load, is loaded when the table would
    take longer: for texts with many rare words, or in scripts in which most words are several tokens. In an event loop
    such counts are estimates until a thread has loaded the vocabulary.

    Other counts of up to 32 K characters are exact. A megabyte without word boundaries, or in rare scripts, would block
    the event loop for half a second. Of a longer text 32 K characters are counted, and the result is scaled. It is
    within a few per cent for prose, code and data. A crafted text can defeat it; the model then refuses the prompt.
    """

    def __init__(self, folder: Path) -> None:
        """``folder`` holds the vocabulary file, named as in a tiktoken cache (``TIKTOKEN_CACHE_DIR``)."""
        self._path = folder / VOCABULARY_FILE
        self._table = folder / TABLE_FILE
        self._encoding: tiktoken.Encoding | None = None
        self._loading: threading.Thread | None = None
        self._remembered = lru_cache(REMEMBERED)(self._count_exactly)

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``, or an estimate; special-token spellings count as ordinary text.

        Raises ``RuntimeError`` if a file that the count needs is missing or damaged.
        """
        if len(text) <= MAX_COUNTED:
            return self._count(text, self._remembered if len(text) <= MAX_REMEMBERED else self._count_exactly)
        size = MAX_COUNTED // SAMPLES
        starts = [number * (len(text) - size) // (SAMPLES - 1) for number in range(SAMPLES)]
        tokens = sum(self._count(text[start : start + size], self._count_exactly) for start in starts)
        return tokens * len(text) // MAX_COUNTED

    def prepare(self, texts: Iterable[str]) -> None:
        """Count ``texts``, so that the files that their counts need are loaded. Raises as ``count`` does."""
        for text in texts:
            self.count(text)

    def load(self) -> tiktoken.Encoding:
        """Return the vocabulary, and load it if necessary. Raises as ``count`` does."""
        with _reading:
            if self._path not in _encodings:
                _encodings[self._path] = _read_encoding(self._path)
            self._encoding = _encodings[self._path]
            return self._encoding

    def _count(self, text: str, count_exactly: Callable[[str], int]) -> int:
        """Return the number of tokens, or in an event loop an estimate while a thread loads the vocabulary."""
        try:
            return count_exactly(text)
        except TooManyLookups as excess:
            if self._path not in _encodings and _is_in_event_loop():
                self._begin_loading()
                return excess.estimate
        self.load()
        return count_exactly(text)

    def _count_exactly(self, text: str) -> int:
        """Return the number of tokens. Raises ``TooManyLookups`` if the vocabulary is needed and not loaded."""
        if self._encoding is None and (pieces := _load_piece_counter(self._table)) is not None:
            return pieces.count(text)
        return len((self._encoding or self.load()).encode_ordinary(text))

    def _begin_loading(self) -> None:
        """Load the vocabulary in a thread, once. If that fails, the log has the reason."""
        if self._loading is None:
            self._loading = threading.Thread(target=self._load_or_log, name="vocabulary", daemon=True)
            self._loading.start()

    def _load_or_log(self) -> None:
        try:
            self.load()
        except Exception:
            logger.exception("the tokenizer's vocabulary is not loaded")
            count(Metric.INTERNAL_FAULTS)


@cache
def _load_piece_counter(path: Path) -> PieceCounter | None:
    """Return the counter with the table; None if this machine cannot read it, or if there is no such file.

    Raises ``RuntimeError`` if the file is damaged.
    """
    if sys.byteorder != "little" or not path.exists():
        return None
    return PieceCounter(_read_file(path, TABLE_SHA256))


_reading = threading.Lock()
"""Held while reading: threads that need the vocabulary at the same time would each read it."""
_encodings: dict[Path, tiktoken.Encoding] = {}
"""Loaded vocabularies by file: the functions of a local cloud share a process, and one vocabulary of 20 MB."""


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _read_encoding(path: Path) -> tiktoken.Encoding:
    import tiktoken

    fields = _read_file(path, VOCABULARY_SHA256).split()  # alternating tokens and ranks
    ranks: dict[bytes, int] = {}
    # In parts, because one call for all of them would let no other thread work until it ends.
    for start in range(0, len(fields), PART):
        part = fields[start : start + PART]
        ranks.update(zip(map(a2b_base64, part[::2]), map(int, part[1::2]), strict=True))
    # Not tiktoken.get_encoding(), which would download a missing file in the middle of a turn.
    return tiktoken.Encoding(name="o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def _read_file(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RuntimeError(f"The tokenizer's vocabulary cannot be read from {path}.") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RuntimeError(f"The tokenizer's vocabulary in {path} is damaged.")
    return data

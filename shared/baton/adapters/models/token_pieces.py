"""Exact token counts from a table of the vocabulary that is ready to be read.

tiktoken builds maps of all 200,000 tokens before it counts, which takes a seventh of a worker's start. A conversation
uses few of these tokens. This module cuts a text into the same pieces as tiktoken, and looks up each piece.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from zlib import crc32

BITS = 17
"""The number of bits of a token's CRC-32 that select its bucket, so that a bucket has one or two tokens."""
MAX_LOOKUPS = 300_000
"""The number of lookups after which loading the whole vocabulary would have cost less."""
MAX_TEXT_LOOKUPS = 20_000
"""The maximum number of lookups for one text. They take about 20 ms."""
MAX_PIECE = 256
"""The maximum size of a piece that is more than one token, in bytes. The time to merge is quadratic: 2 ms for this."""
REMEMBERED = 8_192
"""The number of pieces whose counts are cached: 3 MiB at most."""

UPPER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
LOWER = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
PATTERN = "|".join(
    [
        rf"""[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        rf"""[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
"""The pattern by which o200k_base splits text, as in ``tiktoken_ext.openai_public`` (a test compares the two)."""

GUESSED_BYTES = 3
"""Bytes that an estimate assumes for each token if no piece of the text was counted."""

_ABSENT = 1 << 32
"""The rank of bytes that are no token. It is higher than every rank."""


class TooManyLookups(Exception):
    """The text, or the texts so far, should be counted with the whole vocabulary."""

    def __init__(self, estimate: int = 0) -> None:
        self.estimate = estimate
        """The text's number of tokens, estimated from its beginning."""
        super().__init__("too many lookups")


class PieceCounter:
    """A token counter with a table. Threads may share it; then the limits are approximate."""

    def __init__(self, table: bytes) -> None:
        """``table`` is what ``make_table`` returns."""
        self._table = _Table(table)
        self._lookups = 0
        self._limit = 0
        self._count = lru_cache(REMEMBERED)(self._count_piece)

    def count(self, text: str) -> int:
        """Return the number of tokens. Lone surrogates count as U+FFFD. Raises ``TooManyLookups`` with an estimate."""
        self._limit = min(MAX_LOOKUPS, self._lookups + MAX_TEXT_LOOKUPS)
        pieces = _cut_ascii(text) if text.isascii() else _make_cutter()(text)
        try:
            return sum(map(self._count, pieces))
        except UnicodeEncodeError:  # lone surrogates, which tiktoken replaces
            return self.count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        except TooManyLookups:
            raise TooManyLookups(self._estimate(pieces)) from None

    def _estimate(self, pieces: Sequence[str]) -> int:
        """Estimate the number of tokens from the first pieces, whose tokens are known."""
        tokens = size = 0
        for piece in pieces:
            try:
                tokens += self._count(piece)
            except TooManyLookups:
                break
            size += len(piece.encode())
        whole = sum(len(piece.encode(errors="replace")) for piece in pieces)
        return tokens * whole // size if size else whole // GUESSED_BYTES

    def _count_piece(self, text: str) -> int:
        """Return a piece's number of tokens by byte-pair encoding, which merges the pair of the lowest rank first.

        Raises ``TooManyLookups``, and ``UnicodeEncodeError`` for a lone surrogate.
        """
        piece = text.encode()
        if self._look_up_rank(piece) != _ABSENT:
            return 1
        if len(piece) > MAX_PIECE:
            raise TooManyLookups
        ends = list(range(len(piece) + 1))
        ranks = [self._look_up_rank(piece[start : start + 2]) for start in range(len(piece) - 1)]
        while ranks and (lowest := min(ranks)) != _ABSENT:
            index = ranks.index(lowest)
            del ends[index + 1], ranks[index]
            if index < len(ranks):
                ranks[index] = self._look_up_rank(piece[ends[index] : ends[index + 2]])
            if index:
                ranks[index - 1] = self._look_up_rank(piece[ends[index - 1] : ends[index + 1]])
        return len(ends) - 1

    def _look_up_rank(self, token: bytes) -> int:
        self._lookups += 1
        if self._lookups > self._limit:
            raise TooManyLookups
        return self._table.find_rank(token)


class _Table:
    """Ranks of tokens in one piece of memory: starts of buckets, starts of tokens, ranks, and the tokens' bytes."""

    def __init__(self, data: bytes) -> None:
        bits, tokens = _HEAD.unpack_from(data)
        view, offset = memoryview(data), _HEAD.size
        parts = []
        for size in ((1 << bits) + 1, tokens + 1, tokens):
            parts.append(view[offset : offset + 4 * size].cast("I"))
            offset += 4 * size
        self._mask = (1 << bits) - 1
        self._buckets, self._starts, self._ranks = parts
        self._tokens = data[offset:]

    def find_rank(self, token: bytes) -> int:
        """Return the rank of ``token``; ``_ABSENT`` if there is no such token."""
        bucket, starts = crc32(token) & self._mask, self._starts
        for index in range(self._buckets[bucket], self._buckets[bucket + 1]):
            if self._tokens[starts[index] : starts[index + 1]] == token:
                return self._ranks[index]
        return _ABSENT


_HEAD = struct.Struct("<2I")


def make_table(ranks: Mapping[bytes, int]) -> bytes:
    """Return the table of a vocabulary, for a machine with little-endian numbers."""
    buckets: list[list[bytes]] = [[] for _ in range(1 << BITS)]
    for token in ranks:
        buckets[crc32(token) & (1 << BITS) - 1].append(token)
    tokens = [token for bucket in buckets for token in bucket]
    arrays = [
        array("I", accumulate(map(len, buckets), initial=0)),
        array("I", accumulate(map(len, tokens), initial=0)),
        array("I", map(ranks.__getitem__, tokens)),
    ]
    return b"".join([_HEAD.pack(BITS, len(tokens)), *(numbers.tobytes() for numbers in arrays), *tokens])


def _make_ascii_pattern() -> str:
    pattern = PATTERN
    for wide, narrow in {UPPER: "A-Z", LOWER: "a-z", r"\p{L}\p{N}": "A-Za-z0-9", r"\p{N}": "[0-9]"}.items():
        pattern = pattern.replace(wide, narrow)
    return pattern


_cut_ascii = re.compile(_make_ascii_pattern(), re.ASCII).findall


@cache
def _make_cutter() -> Callable[[str], list[str]]:
    import regex  # imported here, because ASCII texts do not need it

    findall: Callable[[str], list[str]] = regex.compile(PATTERN).findall
    return findall

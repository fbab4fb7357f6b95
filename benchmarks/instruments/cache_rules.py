"""Prices of the input of model calls, by the providers' published rules of prompt caches.

- OpenAI, automatic: https://developers.openai.com/api/docs/guides/prompt-caching and, for the price of writes since the
  GPT-5.6 family, https://learn.microsoft.com/azure/foundry/openai/how-to/prompt-caching
- Anthropic (and Claude on Amazon Bedrock), by breakpoints:
  https://platform.claude.com/docs/en/build-with-claude/prompt-caching and
  https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
- Google, implicit: https://ai.google.dev/gemini-api/docs/caching. The lifetime of a prefix is not published, and is
  assumed to be five minutes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request, in the order of caches: the tools, or a message."""

    text: str
    tokens: int
    ends_prefix: bool = False
    """Whether the client marks the end of a prefix to cache."""


@dataclass(frozen=True, slots=True)
class Call:
    """The input of one model call."""

    at: float
    """Seconds since the conversation began."""
    pieces: tuple[Piece, ...]
    turn: int
    price: float = 1.0
    """The input price of the call's model, as a multiple of that of the agent's model."""

    @property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one provider. Prices are multiples of the price of uncached input."""

    name: str
    read: float
    """The price of input that is read from the cache."""
    write: float
    """The price of input that is written to the cache."""
    minimum: int
    """The fewest tokens of a cached prefix."""
    seconds: float
    """The seconds for which an unused prefix is kept."""
    by_breakpoints: bool = False
    """Whether only prefixes that end with a marked piece are cached."""
    lookback: int = 20
    """The number of blocks, up to and including the breakpoint's, that are searched for an earlier prefix."""
    step: int = 1
    """The number of tokens of which cached prefixes are multiples."""


OPENAI = Rules("OpenAI, GPT-5.6", read=0.1, write=1.25, minimum=1_024, seconds=30 * MINUTE, step=128)
ANTHROPIC = Rules("Anthropic", read=0.1, write=1.25, minimum=1_024, seconds=5 * MINUTE, by_breakpoints=True)
GOOGLE = Rules("Google, implicit", read=0.1, write=1.0, minimum=4_096, seconds=5 * MINUTE)
PROVIDERS = (OPENAI, ANTHROPIC, GOOGLE)


@dataclass
class PromptCache:
    """The cache of one provider."""

    rules: Rules
    _kept: dict[str, float] = field(default_factory=dict)
    """The times until which prefixes are kept, by the prefixes' hashes."""

    def charge(self, call: Call) -> tuple[float, int]:
        """Return the price of a call's input, in uncached tokens, and the number of tokens read from the cache."""
        rules, ends = self.rules, _list_prefixes(call.pieces)
        tokens = [end for _, end in ends]
        newest_first = range(len(ends) - 1, -1, -1)
        if rules.by_breakpoints:
            marks = [index for index, piece in enumerate(call.pieces) if piece.ends_prefix]
            candidates = [
                index for mark in reversed(marks) for index in newest_first if 0 <= mark - index < rules.lookback
            ]
        else:
            marks = [len(ends) - 1]
            candidates = list(newest_first)
        hit = next((index for index in candidates if self._has(ends[index][0], call.at)), None)
        read = tokens[hit] // rules.step * rules.step if hit is not None else 0
        if read < rules.minimum:
            read = 0
        last = tokens[marks[-1]] if marks else 0
        written = max(0, last - read) if last >= rules.minimum else 0
        for index in range(len(ends)) if not rules.by_breakpoints else marks:
            if tokens[index] >= rules.minimum:
                self._kept[ends[index][0]] = call.at + rules.seconds
        if hit is not None and read:
            self._kept[ends[hit][0]] = call.at + rules.seconds
        plain = call.tokens - read - written
        return (plain + rules.write * written + rules.read * read) * call.price, read

    def _has(self, prefix: str, at: float) -> bool:
        """Return whether the prefix with a hash is kept at a time."""
        return self._kept.get(prefix, -1.0) >= at


def count_repeated(calls: Sequence[Call]) -> list[tuple[int, int]]:
    """Return for each call the tokens of its longest prefix that an earlier call had too, and of the whole call."""
    prefixes: set[str] = set()
    shares: list[tuple[int, int]] = []
    for call in calls:
        ends = _list_prefixes(call.pieces)
        shares.append((max((tokens for prefix, tokens in ends if prefix in prefixes), default=0), call.tokens))
        prefixes |= {prefix for prefix, _ in ends}
    return shares


def _list_prefixes(pieces: Sequence[Piece]) -> list[tuple[str, int]]:
    """Return the hashes and tokens of the prefixes that end with the first piece, the second piece, and so on."""
    running, tokens = hashlib.sha256(), 0
    ends: list[tuple[str, int]] = []
    for piece in pieces:
        running.update(f"{len(piece.text)}\0{piece.text}".encode())
        tokens += piece.tokens
        ends.append((running.hexdigest(), tokens))
    return ends

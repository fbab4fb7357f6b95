"""Trigger phrases and exit words: rules that recognise a user's message without a model.

A trigger is a phrase or a pattern. A **phrase** ("create skill") matches if its words occur in this order within one
sentence, as whole words, with at most ``GAP`` other words between two of them. A **pattern** contains a character that
has a meaning in regular expressions; google-re2 matches it in linear time. It matches whole words only and needs no
``\\b``. Case is ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

from baton.domain.patterns import compile_cached
from baton.domain.text import normalise_text

MAX_TRIGGER = 200
MAX_EXIT_WORD = 40
MAX_TEXT = 20_000
"""Characters of a message that are searched. The intent is at the beginning; the rest is usually pasted text."""
MAX_PATTERN_SIZE = 3_000
"""Instructions in the compiled form of a pattern of a tenant's agent."""
MATCHING_WORK = 2_000_000
"""The most instructions of a pattern times searched characters of a message. This much work takes 5 ms where re2 runs
out of states. For patterns of up to 100 instructions, all of the longest message is searched."""
GAP = 3
"""Words that may occur between two words of a phrase."""

_META = re.compile(r"[\\.^$*+?{}\[\]()|]")
_SENTENCE_ENDS = re.compile(r"[.!?;:]+(?=\s|$)|\n\s*\n|。")
# Scripts without spaces between words: every character counts as a word.
_ALONE = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
_ESCAPED = re.compile(r"\\.|\[[^\]]*\]")
_SPELLED = re.compile(r"[^\W\d_]{2,}")
_APOSTROPHE = re.compile("['\u2019]")
_WORD = r"\pL\pN\pM_"
"""The characters of words, for re2, whose ``\\w`` is ASCII only."""
_UNSUPPORTED = frozenset({r"\C", r"\Q", r"\E"})
_CLASS_BEGINS = re.compile(r"\^?\]?")
_NAMED_CLASS = re.compile(r":\^?[a-z]+:\]")
_PROBES = ("zq", "0", "Щ")
"""A pattern that matches all of these matches nearly every message."""

_Matcher = Callable[[str], bool]
"""Returns whether a trigger matches text prepared by ``_to_plain``."""


def matches(trigger: str, text: str) -> bool:
    """Return whether a message matches ``trigger``, which was validated when it was loaded."""
    return _get_matcher(trigger)(normalise(text))


def find_first_match(triggers: Sequence[str], text: str) -> str | None:
    """Return the first of the triggers that the message matches; None if it matches none."""
    return next((trigger for trigger in triggers if matches(trigger, text)), None)


Specificity = tuple[int, int]
"""The part of a message that a trigger accounts for, in words and characters. Greater values are more specific."""


def measure_specificity(trigger: str, text: str) -> Specificity:
    """Return how specific a trigger is for a message that matches it.

    A pattern counts only for the words that it spells out, so ``.*`` does not make it more specific.
    """
    if is_phrase(trigger):
        words = split_phrase(trigger)
        return len(words), sum(map(len, words))
    spelled = _SPELLED.findall(_ESCAPED.sub(" ", trigger))
    match = compile_cached(make_loosest_pattern(trigger), ignores_case=True).search(normalise(text))
    matched_words = split_phrase(match[0]) if match is not None else []
    return min(len(spelled), len(matched_words)), min(sum(map(len, spelled)), sum(map(len, matched_words)))


def split_into_sentences(text: str) -> Sequence[Sequence[str]]:
    """Return the words of a message, by sentence."""
    return _split_sentences(normalise(text))


def normalise(text: str) -> str:
    """Return a message in the form in which triggers are searched for."""
    return _to_plain(text[:MAX_TEXT])


def make_loosest_pattern(trigger: str) -> str:
    """Return the pattern ``trigger`` in the form for re2, without word borders: it also matches within words."""
    return "".join(_translate(_to_plain(trigger)))


def is_phrase(trigger: str) -> bool:
    """Return whether the trigger is a phrase, and not a pattern."""
    return _META.search(trigger) is None


def measure_pattern(trigger: str) -> int:
    """Return the number of instructions in the program of a pattern; 0 for a phrase. Matching takes time in proportion.

    Words of a few alternatives have some dozens; ``\\w`` has some hundreds. Raises ``ValueError``.
    """
    if is_phrase(trigger):
        return 0
    return int(compile_cached(make_loosest_pattern(trigger), ignores_case=True).programsize)


def normalise_trigger(trigger: str) -> str:
    """Return a normal form, which is equal for phrases that differ in case or spacing only.

    The case of patterns is kept, because it may have a meaning in them (``\\w``, ``\\W``).
    """
    return " ".join(split_phrase(trigger)) if is_phrase(trigger) else _to_plain(trigger).strip()


def find_exit_locale(words: Mapping[str, Sequence[str]], text: str) -> str | None:
    """Return the locale of the exit word that the message consists of; None if it is not an exit word."""
    if len(text) > 2 * MAX_EXIT_WORD + 20:  # an exit word with spaces and punctuation around it is shorter
        return None
    trimmed = _trim(text)
    return next((locale for locale, exits in words.items() if trimmed in map(_trim, exits)), None)


def check_trigger(trigger: str) -> str:
    """Check a trigger and return it without surrounding space. Raises ``ValueError`` with the reason."""
    trigger = trigger.strip()
    if not 1 <= len(trigger) <= MAX_TRIGGER:
        raise ValueError(f"a trigger has 1 to {MAX_TRIGGER} characters")
    if not trigger.isprintable():
        raise ValueError("a trigger is one line of printable characters")
    matcher = _get_matcher(trigger)
    if matcher("") or all(map(matcher, _PROBES)):
        raise ValueError(f"the trigger {trigger!r} matches nearly every message")
    return trigger


def _check_exit_word(word: str) -> str:
    if not _trim(word) or len(word) > MAX_EXIT_WORD:
        raise ValueError(f"an exit word has 1 to {MAX_EXIT_WORD} characters, with a letter or a digit")
    return word


Trigger = Annotated[str, AfterValidator(check_trigger)]
ExitWord = Annotated[str, AfterValidator(_check_exit_word)]


@lru_cache(maxsize=2048)
def _get_matcher(trigger: str) -> _Matcher:
    """Return the matcher of a trigger. Raises ``ValueError`` for an unusable pattern, or a phrase without words."""
    if not is_phrase(trigger):
        return _make_pattern_matcher(_to_plain(trigger))
    phrase = split_phrase(trigger)
    if not phrase:
        raise ValueError("a trigger has at least one letter or digit")
    return lambda text: any(_are_in_order(phrase, sentence) for sentence in _split_sentences(text))


def _are_in_order(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether ``phrase`` are among ``words`` in order, with at most ``GAP`` others between two of them."""
    if phrase[0] not in words:  # the usual case, and every message is compared with every trigger
        return False
    ends = {index for index, first in enumerate(words) if first == phrase[0]}
    for word in phrase[1:]:
        within = {end + step for end in ends for step in range(1, GAP + 2)}
        ends = {index for index in within if index < len(words) and words[index] == word}
    return bool(ends)


def _make_pattern_matcher(pattern: str) -> _Matcher:
    inner = "".join(_translate(pattern))
    # Compile ``inner`` alone first, so that the text around it cannot close an unmatched parenthesis.
    searched_chars = MATCHING_WORK // compile_cached(inner, ignores_case=True).programsize
    whole = compile_cached(f"(?:^|[^{_WORD}])(?:{inner})(?:$|[^{_WORD}])", ignores_case=True)
    return lambda text: whole.search(text[:searched_chars]) is not None


def _translate(pattern: str) -> Iterator[str]:
    r"""Yield the pattern in pieces, with ``\w`` and ``\W`` for letters of every script. Raises ``ValueError``.

    ``\b`` at its ends is left out, because re2's is ASCII only and word borders are checked anyway.
    """
    in_class, at = False, 0
    while at < len(pattern):
        piece = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        at += len(piece)
        if piece in _UNSUPPORTED:
            raise ValueError(f"the pattern {pattern!r} cannot be used: {piece} is not supported")
        if piece == r"\b" and at in (len(piece), len(pattern)):
            continue
        if piece == "[":
            # A bracket at the beginning of a class is literal, and named classes ([:alpha:]) contain brackets.
            rest = _NAMED_CLASS.match(pattern, at) if in_class else _CLASS_BEGINS.match(pattern, at)
            piece += rest[0] if rest else ""
            at += len(piece) - 1
            in_class = True
        elif piece == "]":
            in_class = False
        elif piece == r"\w":
            piece = _WORD if in_class else f"[{_WORD}]"
        elif piece == r"\W" and not in_class:
            piece = f"[^{_WORD}]"
        yield piece


@lru_cache(maxsize=8)
def _split_sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of each sentence. Cached, because one message is compared with many triggers."""
    return tuple(tuple(split_phrase(sentence)) for sentence in _SENTENCE_ENDS.split(text))


@lru_cache(maxsize=8)
def _to_plain(text: str) -> str:
    """Return the text in Unicode form NFKC, with ``?`` for lone surrogates."""
    return normalise_text("NFKC", text.encode("utf-8", "replace").decode())[:MAX_TEXT]


def _fold(text: str) -> str:
    return normalise_text("NFKC", _to_plain(text).casefold())


def _is_word_character(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def split_phrase(text: str) -> list[str]:
    """Return the case-folded words of a text. Apostrophes are dropped; all other non-letters separate words."""
    folded = _ALONE.sub(r" \1 ", _APOSTROPHE.sub("", _fold(text)))
    return "".join(character if _is_word_character(character) else " " for character in folded).split()


def _trim(text: str) -> str:
    """Return the case-folded text with single spaces, from its first to its last letter or digit."""
    folded = " ".join(_fold(text).split())
    positions = [index for index, character in enumerate(folded) if _is_word_character(character)]
    return folded[positions[0] : positions[-1] + 1] if positions else ""

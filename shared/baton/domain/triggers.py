"""Trigger phrases and exit words: what a user's message is recognised by, without asking a model.

A trigger is a phrase or a pattern. A **phrase** ("create skill") is found where its words come in this order within
one sentence, each as a whole word, with at most ``GAP`` other words between two of them. A **pattern** is whatever
holds a character that means something in regular expressions; google-re2 matches it, in time linear in the message
whatever the pattern. It is found where it covers whole words; it needs no ``\\b`` of its own. Case does not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator

from baton.domain.patterns import compiled

MAX_TRIGGER = 200
MAX_EXIT_WORD = 40
MAX_TEXT = 20_000
"""Characters of a message that are looked at: an intent stands at its beginning, and what follows is pasted."""
GAP = 3
"""Words that may stand between two words of a phrase."""

_META = re.compile(r"[\\.^$*+?{}\[\]()|]")
_SENTENCE_ENDS = re.compile(r"[.!?;:]+(?=\s|$)|\n\s*\n|。")
# Scripts without spaces between words: every character counts as a word.
_ALONE = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
_APOSTROPHE = re.compile("['\u2019]")
_WORD = r"\pL\pN\pM_"
"""A word's characters, for re2, whose own ``\\w`` knows ASCII only."""
_UNSUPPORTED = frozenset({r"\C", r"\Q", r"\E"})
_CLASS_BEGINS = re.compile(r"\^?\]?")
_NAMED_CLASS = re.compile(r":\^?[a-z]+:\]")
_PROBES = ("zq", "0", "Щ")
"""A pattern that is found in all of these is found in nearly every message."""

_Found = Callable[[str], bool]
"""Whether it is found in text that ``_plain`` prepared."""


def matches(trigger: str, text: str) -> bool:
    """Whether a message triggers; ``trigger`` was checked when it was loaded."""
    return _finder(trigger)(_plain(text[:MAX_TEXT]))


def matching(triggers: Sequence[str], text: str) -> str | None:
    """The first of the triggers that the message matches."""
    return next((trigger for trigger in triggers if matches(trigger, text)), None)


def as_compared(trigger: str) -> str:
    """The same for triggers that are found in the same messages, whatever their case or spacing.

    Of patterns only those that are spelt alike: their case may mean something (``\\w``, ``\\W``).
    """
    return " ".join(_words(trigger)) if _META.search(trigger) is None else _plain(trigger).strip()


def exit_locale(words: Mapping[str, Sequence[str]], text: str, preferred: str | None = None) -> str | None:
    """The locale in whose words the message asks to leave; None if it says anything else, or more.

    ``words`` are the agent's, by locale: all of them count, whichever language the user is thought to speak. The
    ``preferred`` locale wins where several share the word.
    """
    if len(text) > 2 * MAX_EXIT_WORD + 20:
        return None
    said = _trimmed(text)
    locales = sorted(words, key=lambda locale: locale != preferred)
    return next((locale for locale in locales if said in map(_trimmed, words[locale])), None)


def checked_trigger(trigger: str) -> str:
    """The trigger without surrounding space. Raises ``ValueError`` that says what is wrong with it."""
    trigger = trigger.strip()
    if not 1 <= len(trigger) <= MAX_TRIGGER:
        raise ValueError(f"a trigger has 1 to {MAX_TRIGGER} characters")
    if not trigger.isprintable():
        raise ValueError("a trigger is one line of printable characters")
    found = _finder(trigger)
    if found("") or all(map(found, _PROBES)):
        raise ValueError(f"the trigger {trigger!r} matches nearly every message")
    return trigger


def _checked_exit_word(word: str) -> str:
    if not _trimmed(word) or len(word) > MAX_EXIT_WORD:
        raise ValueError(f"an exit word has 1 to {MAX_EXIT_WORD} characters, with a letter or a digit")
    return word


Trigger = Annotated[str, AfterValidator(checked_trigger)]
ExitWord = Annotated[str, AfterValidator(_checked_exit_word)]


@lru_cache(maxsize=2048)
def _finder(trigger: str) -> _Found:
    """What finds the trigger. Raises ``ValueError`` for a pattern re2 does not take."""
    if _META.search(trigger) is None:
        return _phrase(trigger)
    return _pattern(_plain(trigger))


def _phrase(trigger: str) -> _Found:
    wanted = _words(trigger)
    if not wanted:
        raise ValueError("a trigger has at least one letter or digit")
    return lambda text: any(_in_order(wanted, sentence) for sentence in _sentences(text))


def _in_order(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether ``wanted`` are among ``words`` in order, with at most ``GAP`` others between two of them."""
    if wanted[0] not in words:  # nearly always, and every message is compared with every trigger
        return False
    ends = {place for place, word in enumerate(words) if word == wanted[0]}
    for want in wanted[1:]:
        within = {end + step for end in ends for step in range(1, GAP + 2)}
        ends = {place for place in within if place < len(words) and words[place] == want}
    return bool(ends)


def _pattern(pattern: str) -> _Found:
    inner = "".join(_translated(pattern))
    # Alone first: a stray parenthesis must not find its partner in what is put around it.
    compiled(inner, ignores_case=True)
    whole = compiled(f"(?:^|[^{_WORD}])(?:{inner})(?:$|[^{_WORD}])", ignores_case=True)
    return lambda text: whole.search(text) is not None


def _translated(pattern: str) -> Iterator[str]:
    r"""The pattern, piece by piece, with ``\w`` and ``\W`` for the letters of every script. Raises ``ValueError``.

    ``\b`` at its ends is left out: re2's own knows ASCII only, and the borders of words are checked anyway.
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
            # A bracket that comes first in a class stands for itself, and named classes ([:alpha:]) have their own.
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
def _sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of each sentence; remembered, for one message is held against many triggers."""
    return tuple(tuple(_words(sentence)) for sentence in _SENTENCE_ENDS.split(text))


@lru_cache(maxsize=8)
def _plain(text: str) -> str:
    """Text in one Unicode form (NFKC), encodable: halves of surrogate pairs become ``?``."""
    # One character may become eighteen.
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())[:MAX_TEXT]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", _plain(text).casefold())


def _is_of_words(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _words(text: str) -> list[str]:
    """The words of a text, folded; apostrophes join, everything else that is no letter, mark or digit parts."""
    folded = _ALONE.sub(r" \1 ", _APOSTROPHE.sub("", _folded(text)))
    return "".join(c if _is_of_words(c) else " " for c in folded).split()


def _trimmed(text: str) -> str:
    """The text folded, with single spaces, without what surrounds its first and last letter or digit."""
    folded = " ".join(_folded(text).split())
    places = [place for place, character in enumerate(folded) if _is_of_words(character)]
    return folded[places[0] : places[-1] + 1] if places else ""

"""The relevance of a found text to a message, and the equality of two texts in content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from baton.domain.documents.search_words import split_words, to_search_form
from baton.domain.memory.found_item import FoundItem
from baton.domain.text import normalise_text

WORDS_FLOOR = 1 / 3
"""The share of the message's words that a text must have if it was found by words only, or has no vector.

Such a text has no similarity that shows whether it fits. The value was chosen and not measured.
"""
MAX_QUERY_WORDS = 200
"""The most words of a message that are compared with found texts."""
MAX_COMPARED = 20_000
"""Characters of a text that are compared."""


def _read_words(text: str) -> frozenset[str]:
    """Return the words of a list, with and without their accents."""
    return frozenset({*text.split(), *to_search_form(text).split()})


STOP_WORDS = _read_words(
    """
    a about after again all also am an and any are as at be because been before being but by can could did do does
    doing for from get give going had has have he her here hers him his how i if in into is it its just know let like
    me mention mentioned more most my of on or our out over please recall remember remind said say says she should so
    some tell that the their them then there these they this those to told too up us very was we were what when where
    which who whom whose why will with would you your aber als am an auch auf aus bei bin bist das dass dein deine dem
    den der des die dir du ein eine einem einen einer er es für hab habe haben hast hat ich ihr im in ist ja kann mein
    meine mich mir mit nach noch oder sag sich sie sind so über und uns von war was wann warum wer wie wir wo zu zum
    zur
    """
)
"""Words that say nothing about the subject. Negations are not among them: they make a difference."""

FILLERS = _read_words(
    """
    a an the also just please so well ein eine einen der die das bitte auch
    """
)
"""Words in which two texts with the same content may differ."""

NEGATIONS = _read_words(
    """
    no not never none neither nor without cannot cant couldnt didnt doesnt dont hadnt hasnt havent isnt wasnt werent
    wont wouldnt false wrong nein nicht nie niemals kein keine keinen keiner keinem ohne falsch
    """
)
"""Words that reverse the meaning of their neighbours."""

ENDINGS = ("ings", "ing", "ies", "ied", "es", "ed", "s")
"""Endings of English words. Longer endings are listed before shorter ones that they contain."""
MIN_STEM = 3
"""The least number of characters of a stem."""

TELLERS = (("user", "said"), ("assistant", "said"))
"""The beginnings of facts that only quote."""
MIN_QUOTED = 20
"""The least number of characters of a quote. Shorter texts occur in others by chance."""


def find_content_words(text: str) -> tuple[str, ...]:
    """Return the words of the first ``MAX_COMPARED`` characters in their form for searches, in order.

    Stop words are left out if there are other words.
    """
    words = tuple(split_words(to_search_form(_remove_apostrophes(text[:MAX_COMPARED]))))
    return tuple(word for word in words if word not in STOP_WORDS) or words


def compute_coverage(words: frozenset[str], text: str) -> float:
    """Return the share of ``words`` that the text has, from 0 to 1. Words with the same stem count as equal.

    The share is 0 if there are no words.
    """
    if not words:
        return 0.0
    stems = {_remove_ending(word) for word in find_content_words(text)}
    return sum(_remove_ending(word) in stems for word in words) / len(words)


def find_irrelevance(item: FoundItem, words: frozenset[str], floor: float) -> str | None:
    """Return the reason why an item is not relevant; None if it is.

    Its cosine similarity must reach ``floor``. An item that has no similarity, or was found by words only, must instead
    have the share ``WORDS_FLOOR`` of the message's ``words``, or ``floor`` if that is more. Both signals are absolute,
    unlike the fused score, which is always high for the best item. An item that alone has a code, a number or a name
    of the message is relevant.
    """
    if item.terms or (item.cosine is not None and item.cosine >= floor):
        return None
    if item.cosine is not None and not item.by_words:
        return f"below the relevance floor: {item.cosine:.3f} < {floor:g}"
    share, least = compute_coverage(words, item.shown), max(floor, WORDS_FLOOR)
    return f"too few of the message's words: {share:.2f} < {least:.2f}" if share < least else None


@lru_cache(maxsize=512)
def make_same_text_key(text: str) -> tuple[str, ...]:
    """Return a key that is equal for texts that differ in case, spacing, punctuation or fillers only.

    Any other word distinguishes texts: a number, a name, "not", "from" and "to".
    """
    words = split_words(normalise_text("NFKC", _remove_apostrophes(text)).casefold())
    return tuple(word for word in words if word not in FILLERS) or (text.strip(),)


def make_quoted_key(text: str) -> tuple[str, ...]:
    """Return the key of a text's content, without the words that only name its speaker."""
    key = make_same_text_key(text)
    for teller in TELLERS:
        if key[: len(teller)] == teller and len(key) > len(teller):
            return key[len(teller) :]
    return key


def quotes(text: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether a text contains another one, both given by their keys. Texts under ``MIN_QUOTED`` do not count."""
    sought = " ".join(other)
    return len(sought) >= MIN_QUOTED and f" {sought} " in f" {' '.join(text)} "


def is_echo(text: tuple[str, ...], quoted: Sequence[tuple[str, ...]], *, may_add: bool) -> bool:
    """Return whether a text consists of quotes only. All texts are given by their keys.

    With ``may_add`` it may add words around its quotes, such as "On that day you said", but no negation, and fewer
    words than it quotes. A text that adds more has new content.
    """
    rest = f" {' '.join(text)} "
    for words in sorted(quoted, key=len, reverse=True):
        # The spaces on both sides stay, so that an adjacent quote is found too.
        rest = rest.replace(f" {' '.join(words)} ", "  ")
    remaining = rest.split()
    added = [word for word in remaining if word not in STOP_WORDS]
    if not may_add or not NEGATIONS.isdisjoint(remaining):
        return not added
    return len(added) < len(text) - len(remaining)


def _remove_apostrophes(text: str) -> str:
    return text.replace("\u2019", "").replace("'", "")


def _remove_ending(word: str) -> str:
    """Return a word without common English endings: enough to count "cats" as "cat"."""
    if word.endswith(ENDINGS):  # a quick check, because most words have other endings
        for ending in ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
                return word.removesuffix(ending)
    return word

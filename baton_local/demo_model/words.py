"""The words of questions and texts, compared without their endings. Words such as "the" do not count."""

from __future__ import annotations

import re
from collections.abc import Sequence

CLEAR = 0.6
"""The least share of a question's words in a text that is about the question: both of two words, two of three."""
SMALL_WORDS = frozenset(
    """
    a about after all also am an and any are as at be been before being best between but by can compare cons could
    did difference do does for from get give had has have he her his how i if in into is it its list many may me
    more most much must my need of often on or our please practice practices pros shall she should show so tell than
    that the their them there they this to us use was we were what when where which who whom whose why will with
    would you your explain called named
    aber als am an auch auf aus bei bin bis bitte da das dass dein dem den der des die du ein eine einem einen einer
    eines er es für gibt hat habe haben ich ihr im in ist ja kann kannst können man mein mich mir mit muss müssen nach
    nicht noch oder oft sein sich sie sind so soll und uns unser vom von vor wann war warum was welche welchem welchen
    welcher welches wem wen wenn wer wie wieso viel viele wird wir wo woher wohin wozu zu zum zur über
    """.split()  # noqa: SIM905
)
"""Words of English and German that say nothing about the subject of a question."""
_ENDINGS = frozenset(["s", "es", "d", "ed", "ing", "n", "en", "e", "er", "r", "ly", "ment", "ung"])
_IRREGULAR = [
    frozenset(forms.split())
    for forms in """
    say said; tell told; go goes went gone; come came; keep kept; write wrote written; run ran; begin began begun
    buy bought; break broke broken; build built; choose chose chosen; find found; give gave given; hold held
    know knew known; leave left; lose lost; make made; mean meant; meet met; pay paid; send sent; speak spoke spoken
    take took taken; teach taught; think thought; colour color; favourite favorite
    """.replace("\n", ";").split(";")
]
"""Common words with irregular forms."""


def find_content_words(text: str) -> list[str]:
    """Return the different words of a text, in lower case, without ``SMALL_WORDS`` and words of one letter."""
    words = re.findall(r"\w+(?:[-.]\w+)*", text.casefold())
    return list(dict.fromkeys(word for word in words if word not in SMALL_WORDS and len(word) > 1))


def compute_share(words: Sequence[str], text: str) -> float:
    """Return the share of ``words`` that a text has in some form, from 0 to 1. ``words`` must not be empty."""
    others = set(re.findall(r"\w+(?:[-.]\w+)*", text.casefold())) | set(re.findall(r"\w+", text.casefold()))
    return sum(any(_are_alike(word, other) for other in others) for word in words) / len(words)


def mentions(text: object, question: str) -> bool:
    """Return whether a text is about the subject of a question."""
    words = find_content_words(question)
    return bool(words) and compute_share(words, str(text)) >= CLEAR


def _are_alike(word: str, other: str) -> bool:
    """Return whether two words are forms of the same word, such as "refill" and "refilled", or "say" and "said"."""
    if any(word in forms and other in forms for forms in _IRREGULAR):
        return True
    shorter, longer = sorted((word, other), key=len)
    if longer.startswith(shorter) and (shorter == longer or (len(shorter) > 2 and longer[len(shorter) :] in _ENDINGS)):
        return True
    return len(shorter) > 5 and shorter[:-2] == longer[: len(shorter) - 2] and len(longer) - len(shorter) < 3

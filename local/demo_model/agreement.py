"""Yes, no, and replies that say neither: what a short answer to a question means."""

from __future__ import annotations

import re

LONGEST = 120
"""Characters of a reply that may be a plain yes or no."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_YES = _set(
    "yes yeah yep yup sure ok okay alright fine good great perfect correct right exactly approve approved agree agreed"
    " absolutely go continue do like take use works lgtm ship let's ja jawohl gern gerne klar genau passt gut weiter"
)
_WITH_YES = _set(
    "all of course on ahead it that this looks sounds is i it's that's to me with them those these the one please"
    " thanks thank you now very so would and then for bitte danke das so mach machen wir"
)
_NO = _set("no nope nah not nothing none never skip nein nichts nicht")
_WITH_NO = _set(
    "yet really now else more special it that's that is all everything i don't do think so want thanks thank you please"
    " weiter mehr danke noch das"
)
_ENDS = re.compile(r"that(?:'s| is) (?:all|it|everything)|das war'?s|das ist alles", re.IGNORECASE)
_VAGUE = _set(
    "hm hmm hmmm uh uhm um er err huh what pardon idk dunno know care mind idea clue maybe perhaps whatever something"
    " anything stuff thing things depends choose decide pick both hi hello hey ahnung weiß weiss vielleicht egal wie"
    " irgendwas"
)
_WITH_VAGUE = _set(
    "i i'm don't dont do not sure no some well so and but or you up to it all any sorry just my the of keine ich nicht"
    " bitte"
)
_LEAVES = re.compile(
    r"(?:please )?"
    r"(?:(?:i )?(?:never ?mind|forget (?:it|that|about it)|changed my mind|give up|want to (?:stop|leave|quit|give up))"
    r"|(?:let'?s )?(?:stop|quit|leave)(?: (?:it|this|here))?(?: now)?"
    r"|(?:take|bring|send|get|transfer) me back\b.*"
    r"|(?:go |i want )?back to (?:the )?(?:main )?(?:assistant|agent|menu|start).*|return to (?:the )?main.*"
    r"|i (?:do not|don'?t) want (?:this|it|a skill)(?: any ?more)?)"
    r"(?: (?:please|thanks|thank you))?[\s.!]*",
    re.IGNORECASE,
)


def is_yes(text: str) -> bool:
    """Whether the text agrees, and says nothing else."""
    return _says(text, _YES, _WITH_YES)


def is_no(text: str) -> bool:
    """Whether the text declines, or says that there is nothing to say."""
    is_end = len(text) <= LONGEST and _ENDS.fullmatch(" ".join(text.split()).rstrip(".! ")) is not None
    return is_end or _says(text, _NO, _WITH_NO)


def is_vague(text: str) -> bool:
    """Whether the text says nothing that could be an answer."""
    is_doubt = " ".join(_words(text)[-2:]) == "not sure" and len(text) <= LONGEST
    return not re.search(r"\w", text) or is_doubt or _says(text, _VAGUE, _WITH_VAGUE)


def leaves(text: str) -> bool:
    """Whether the user no longer wants what they are in the middle of."""
    return len(text) <= LONGEST and _LEAVES.fullmatch(" ".join(text.split())) is not None


def _says(text: str, meant: frozenset[str], besides: frozenset[str]) -> bool:
    """Whether a short text has words of one kind, and otherwise only such as go along with them."""
    words = set(_words(text)) if len(text) <= LONGEST else set()
    return bool(words & meant) and words <= meant | besides


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())

"""Nouns with what belongs to them: articles, owners, attributes and names."""

from __future__ import annotations

import re

from baton_local.demo_model.language.topics import attribute_topic

NAME = r"(?:[A-ZÄÖÜÉ][\w'-]*(?: (?:van|von|de|da|di|la|le|el)(?= [A-Z]))?(?: [A-ZÄÖÜÉ][\w'-]*){0,3})"
"""A possible name: words in capitals."""
COUNTS = "one|two|three|four|five|six|some"
_LAST = re.compile(rf"^(?P<np>.+?),? (?P<name>{NAME}),?$")
_NO_NOUN = frozenset("with of in at on for from to by about and or favourite favorite".split())  # noqa: SIM905
_BEHIND = re.compile(r",| (?:in|at|of|from|with|who|which|that|and|called|named|for|on|to)\b")


def thing_and_attribute(np: str) -> tuple[str, str, tuple[str, ...]]:
    """Return of "dog Rex", "dog's name" or "favourite colour" the thing, its attribute, and the thing's name."""
    if possessive := re.match(r"(?P<owner>.+?)(?:'s|s') (?P<attribute>.+)$", np):
        thing, _, names = thing_and_attribute(possessive["owner"])
        return thing, possessive["attribute"].casefold(), names
    names = ()
    if (named := _LAST.match(np)) and named["np"].split(" ")[-1] not in _NO_NOUN:
        np, names = named["np"], (named["name"],)
    lowered = np.casefold()
    if attribute_topic(lowered) is not None or lowered.startswith(("favourite ", "favorite ")):
        return "", lowered, names
    return lowered, "", names


def head(np: str) -> str:
    """Return the noun of "a small dog": without its article, and what follows a preposition."""
    bare = re.sub(rf"^(?:(?:not|a|an|the|my|our|{COUNTS}|\d+) )+", "", np.casefold())
    return _BEHIND.split(bare, maxsplit=1)[0].strip()

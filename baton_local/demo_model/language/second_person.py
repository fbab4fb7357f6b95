"""Statements of users about themselves, in the words that are said to them."""

from __future__ import annotations

import re

from baton_local.demo_model.language.sentences import without_contractions

_CHANGES = [
    (re.compile(pattern), reply)
    for pattern, reply in (
        (r"\b[Aa]m I\b", "are you"),
        (r"\b[Ww]as I\b", "were you"),
        (r"(?<=\b(?:do|am) )I$|(?<=\b(?:did|can|was) )I$|(?<=\b(?:have|will) )I$", "you"),
        (r"\b[Ii] am\b", "you are"),
        (r"\b[Ii] was\b", "you were"),
        # At the end it may be the number of a queen.
        (r"\bI\b(?!$)|\bi\b(?!$)|(?<=and )[Ii]$", "you"),
        (r"\b[Ww]e\b", "you"),
        (r"\b[Mm]yself\b", "yourself"),
        (r"\b[Oo]urselves\b", "yourselves"),
        (r"\b[Mm]ine\b|\bours\b", "yours"),
        (r"\b(?:[Mm]y|[Oo]ur)\b", "your"),
        (r"\b(?:[Mm]e|us)\b", "you"),
        (r"\b(you(?: \w+ly| also| now| still)?) am\b", r"\1 are"),
        (r"^am\b|(?<=and )am\b", "are"),
    )
]


def second_person(text: str) -> str:
    """Return "My name is Ada" as "Your name is Ada"."""
    text = without_contractions(text)
    for pattern, reply in _CHANGES:
        text = pattern.sub(reply, text)
    return text[:1].upper() + text[1:]


def of_thing(text: str, thing: str) -> str:
    """Return "His name is Rex" as "Your dog's name is Rex" if the pronoun stands for a dog."""
    reply = second_person(text)
    if possessive := re.match(r"(?:his|her|its|their) ", reply, re.IGNORECASE):
        return f"Your {thing}'s {reply[possessive.end() :]}"
    return re.sub(r"^(?:he|she|it|they)\b", f"Your {thing}", reply, count=1, flags=re.IGNORECASE)

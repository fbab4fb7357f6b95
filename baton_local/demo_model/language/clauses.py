"""A sentence cut into its clauses: "My name is Ada and I live in Vienna" into two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from baton_local.demo_model.language.sentences import sentences, statement_in
from baton_local.demo_model.language.vocabulary import NOUNS_LIKE_VERBS, VERBS

_ADVERBS = (
    r"(?:(?:also|now|currently|really|usually|always|just|actually|still|often|never|only|mostly|mainly|sometimes|"
    r"recently|both) )*"
)
_FORMS = "|".join(sorted((re.escape(form) for form in VERBS), key=len, reverse=True))
_OWNERS = r"(?:my|our|his|her|its|their|the)"
_GAP = (
    r",\s*(?:(?:and|but|so|while|whereas|plus|yet)\s+)?|\s+(?:and|but|while|whereas|plus|&)\s+|\s+[-\u2013\u2014]\s+|"
    r":\s+"
)
_CLAUSE = (
    rf"{_ADVERBS}(?:i|we|he|she|they|it)(?:'\w+|\s+{_ADVERBS}\w+)\b",
    rf"{_OWNERS}\s+(?:(?!and\b|or\b|but\b)[\w'-]+\s+){{1,5}}?(?:{_FORMS})\b",
    rf"{_OWNERS}\s+[\w-]+'s\s+\S",
    r"(?:you (?:can|may) )?call me\b",
)
_PREDICATE = rf"{_ADVERBS}(?:{_FORMS}|(?:do|does|can|is|am|have|has)n't|cannot|can't)\b(?=\s+\S)"
_COMPLEMENT = (
    r"(?:from|based in|born in|born on|allergic to|married to|married|retired|called|named|originally from)\b|"
    r"(?:a|an) [a-z]|\d{1,3}(?: years?(?: old)?)?(?=\s*(?:,|$| and\b))"
)
_SPLIT = re.compile(
    rf"(?P<gap>{_GAP})(?={'|'.join(_CLAUSE)}|(?P<predicate>{_PREDICATE})|(?P<complement>{_COMPLEMENT}))",
    re.IGNORECASE,
)
_FINITE = re.compile(rf"\b(?:{_FORMS})\b|'(?:m|s|re|ve|d|ll)\b|n't\b", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"^(?P<subject>{_ADVERBS}(?:i|we|he|she|they|it)|{_OWNERS} (?:(?!and\b|or\b)[\w'-]+ ){{0,4}}?[\w'-]+?|"
    rf"[A-ZÄÖÜ][\w-]+)(?P<verb>'m|'s|'re|'ve| {_ADVERBS}(?:{_FORMS}))\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"(?:\w+ )*?(?:i|we)\b", re.IGNORECASE)
_PAST = frozenset("was had can will would did lived moved worked grew came".split())  # noqa: SIM905
_BE = {"'m": "am", "'s": "is", "'re": "are"} | {form: form for form in ("am", "is", "are", "was", "were")}


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence with its own subject and verb."""

    text: str
    is_whole: bool
    """True if it is in the message as it is; else its subject was taken from the clause before it."""


def clauses(text: str) -> Iterator[Clause]:
    """Yield the clauses of a text, without greetings and other openings. Questions are left out."""
    for sentence in sentences(text):
        subject = be = ""
        for part, kind in _parts(statement_in(sentence)):
            if kind == "predicate" and subject:
                yield Clause(f"{subject} {part}", is_whole=False)
            elif kind == "complement" and subject and be:
                yield Clause(f"{subject} {be} {part}", is_whole=False)
            elif part:
                yield Clause(part, is_whole=True)
                match = _SUBJECT.match(part)
                subject = match["subject"].strip() if match else ""
                be = _be_of(match["verb"]) if match else ""


def _parts(sentence: str) -> list[tuple[str, str]]:
    """Return the parts of a sentence, each with how it begins: as a clause, a "predicate" or a "complement"."""
    parts: list[tuple[str, str]] = []
    start, kind, clause = 0, "clause", ""
    for match in _SPLIT.finditer(sentence):
        before = sentence[start : match.start()]
        if kind == "clause":
            if _FINITE.search(before) is None:
                continue  # "my wife and I live": the words before have no verb
            clause = before
        if match["predicate"]:
            begins, may_begin = "predicate", _may_be_predicate(match, clause, sentence)
        elif match["complement"]:
            begins, may_begin = "complement", _may_be_complement(match, clause)
        else:
            begins, may_begin = "clause", True
        if may_begin:
            parts.append((before, kind))
            start, kind = match.end(), begins
    parts.append((sentence[start:], kind))
    return parts


def _may_be_complement(match: re.Match[str], clause: str) -> bool:
    """Return whether "from Vienna" or "a nurse" continues with the clause's "I am"."""
    subject = _SUBJECT.match(clause)
    is_role = match["complement"].casefold().startswith(("a ", "an "))
    is_be = subject is not None and bool(_be_of(subject["verb"]))
    return is_be and (not is_role or _FIRST_PERSON.match(clause) is not None)


def _may_be_predicate(match: re.Match[str], clause: str, sentence: str) -> bool:
    """Return whether a verb continues with the clause's subject: "works" with "my sister", "work" with "I"."""
    if not re.search(r"and|but|&", match["gap"]):
        return False
    form = match["predicate"].split(" ")[-1].casefold()
    after = sentence[match.start("predicate") + len(match["predicate"]) :].split()
    is_noun = form.removesuffix("s") in NOUNS_LIKE_VERBS and (not after or after[0].casefold() in ("and", "or", ","))
    if form.endswith("ing") or is_noun:
        return False
    is_first = _FIRST_PERSON.match(clause) is not None
    is_third = not is_first and (_SUBJECT.match(clause) is not None or bool(re.search(r"\b(?:he|she|it)\b", clause)))
    return is_third == (form.endswith("s") or form == "had") or form in _PAST


def _be_of(verb: str) -> str:
    return _BE.get(verb.split(" ")[-1].casefold(), "")

"""The topics of statements and questions about a person or a thing: its name, age, home, work and likings."""

from __future__ import annotations

import re
from enum import StrEnum

from baton_local.demo_model.language.vocabulary import COLOURS, MOODS, NATIONALITIES, NUMBERS, lemma, words


class Topic(StrEnum):
    """Statements about somebody or something."""

    NAME = "name"
    HOME = "home"
    ORIGIN = "origin"
    PLACE = "place"
    """The present place of somebody, which may be their home."""
    AGE = "age"
    BIRTH = "birth"
    JOB = "job"
    EMPLOYER = "employer"
    LIKE = "like"
    DISLIKE = "dislike"
    HAVE = "have"
    COLOUR = "colour"


LISTS = frozenset({Topic.LIKE, Topic.DISLIKE, Topic.HAVE})
"""Topics with any number of valid statements; for the others the last statement counts."""

_ATTRIBUTES: dict[Topic, tuple[str, ...]] = {
    Topic.NAME: ("name", "full name", "real name", "first name", "given name"),
    Topic.AGE: ("age",),
    Topic.BIRTH: (
        "birthday",
        "birth date",
        "birthdate",
        "date of birth",
        "year of birth",
        "place of birth",
        "birthplace",
    ),
    Topic.HOME: (
        "home",
        "city",
        "town",
        "village",
        "country",
        "address",
        "residence",
        "place of residence",
        "home address",
    ),
    Topic.ORIGIN: ("hometown", "home town", "home city", "home country", "nationality", "origin"),
    Topic.JOB: (
        "job",
        "profession",
        "occupation",
        "work",
        "role",
        "position",
        "career",
        "trade",
        "job title",
        "day job",
    ),
    Topic.EMPLOYER: ("employer", "company", "firm", "workplace"),
    Topic.LIKE: ("hobby", "hobbies", "interest", "interests", "pastime", "pastimes", "passion"),
    Topic.COLOUR: ("colour", "color"),
}
_LIKES = frozenset("like love adore enjoy prefer".split())  # noqa: SIM905
_MOVES = frozenset("live reside dwell settle stay move relocate".split())  # noqa: SIM905
_NO_JOB = frozenset(
    """
    vegetarian vegan fan person man woman boy girl human mother father mum dad parent grandmother grandfather twin
    friend lover member morning night bit lot big huge great morning-person leo virgo libra scorpio aries taurus
    gemini cancer sagittarius capricorn aquarius pisces christian catholic muslim jew buddhist hindu only native
    citizen
    """.split()  # noqa: SIM905
)
_NAME_FORM = re.compile(r"^[A-ZÄÖÜÉ][\w'-]*(?: [A-ZÄÖÜÉ][\w'-]*){0,3}$")
_NUMBERS = "|".join(sorted(NUMBERS - {"no"}))
_AGE_FORM = re.compile(
    r"^(?:(?:about|almost|nearly|over|only|now|just|already) )*"
    rf"(?:\d{{1,3}}|(?:{_NUMBERS})(?:-\w+| (?:one|two|three|four|five|six|seven|eight|nine))?)"
    r"(?:$|[ -](?:years?|months?|weeks?)\b|,| now\b| today\b)",
    re.IGNORECASE,
)
_TRADES = re.compile(r"[\w-]*(?:er|or|ist|ian|nurse|chef|cook|judge|pilot|clerk)\b")


def attribute_topic(attribute: str) -> Topic | None:
    """Return the topic of an attribute such as "job" or "home town"; None if it has none of these."""
    return next((topic for topic, names in _ATTRIBUTES.items() if attribute in names), None)


def topics_of(subject: str, attribute: str, verb: str, rest: str) -> tuple[Topic, ...]:
    """Return what a statement is about, the nearest first."""
    if attribute:
        topic = attribute_topic(attribute)
        return (topic,) if topic is not None else ()
    found: list[Topic] = []
    if (
        verb in ("call", "name")
        or (verb == "be" and re.match(r"(?:also )?(?:called|named)\b", rest))
        or (verb == "go" and rest.startswith("by "))
    ):
        return (Topic.NAME,)
    if verb in _MOVES and re.search(r"\b(?:in|to|at|near|on|with|abroad|outside|by)\b", rest):
        found.append(Topic.HOME)
    if verb == "come" and rest.startswith("from"):
        found.append(Topic.ORIGIN)
    if verb == "grow" and rest.startswith("up"):
        found.append(Topic.ORIGIN)
    if verb == "work":
        found += _of_work(rest)
    if verb in _LIKES or (
        verb == "be"
        and re.match(
            r"(?:really |very |also )*(?:into|fond of|keen on|crazy about|a (?:big |huge |great )?fan of)\b", rest
        )
    ):
        found.append(Topic.DISLIKE if re.match(r"not\b", rest) else Topic.LIKE)
    if verb in ("hate", "dislike") or (verb == "stand" and rest.startswith("not")):
        found.append(Topic.DISLIKE)
    if verb in ("have", "own", "keep", "adopt"):
        found.append(Topic.HAVE)
    if verb == "turn" and _AGE_FORM.match(rest):
        found.append(Topic.AGE)
    if verb == "be":
        found += _of_being(subject, rest)
    return tuple(found)


def _of_work(rest: str) -> list[Topic]:
    if re.match(r"(?:\w+ )?as\b", rest):
        return [Topic.JOB, *([Topic.EMPLOYER] if re.search(r"\b(?:at|for|in|with)\b", rest) else [])]
    if re.match(r"(?:\w+ )?(?:at|for|in|with|from|on)\b", rest):
        return [Topic.EMPLOYER, Topic.JOB]
    return [Topic.JOB]


def _of_being(subject: str, rest: str) -> list[Topic]:
    found = []
    first = words(rest)[:1]
    if _AGE_FORM.match(rest) or re.search(
        r"\b(?:\d+|[a-z]+)[ -]years?[ -]old\b|\bin (?:my|his|her|their) \w+ties\b", rest
    ):
        found.append(Topic.AGE)
    if re.match(r"(?:originally )?from\b", rest) or (re.search(r"\bfrom [A-ZÄÖÜ]", rest) and not found):
        found.append(Topic.ORIGIN)
    if re.match(r"(?:based|living|located|at home|settled) (?:in|at|near)\b", rest):
        found.append(Topic.HOME)
    elif re.search(r"\b(?:in|at) [A-ZÄÖÜ]", rest):
        found.append(Topic.PLACE)
    if re.match(r"born\b", rest):
        found.append(Topic.BIRTH)
    if set(words(rest)) & COLOURS:
        found.append(Topic.COLOUR)
    named = rest.split(",")[0].split(" from ")[0].strip()
    is_adjective = bool(first) and (first[0] in NATIONALITIES or first[0] in MOODS or lemma(first[0]) is not None)
    if _NAME_FORM.match(named) and not is_adjective:
        found.append(Topic.NAME)
    if _is_job(subject, rest):
        found.append(Topic.JOB)
    return found


def _is_job(subject: str, rest: str) -> bool:
    """Return whether somebody who is "a nurse" is so by profession; of things only names of trades say so."""
    if re.match(r"(?:retired|unemployed|self-employed|employed|freelanc\w+)\b", rest):
        return True
    role = re.match(r"(?:a|an|the) (?P<role>.+)", rest)
    named = words(role["role"]) if role else []
    if subject:
        return bool(named) and _TRADES.match(named[0]) is not None
    return bool(named) and not _NO_JOB & set(named[:3])

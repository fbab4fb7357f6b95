"""The statements of a user's message about themselves and their things, each on its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from baton_local.demo_model.language.clauses import clauses
from baton_local.demo_model.language.naming import implied_names
from baton_local.demo_model.language.nouns import head
from baton_local.demo_model.language.reading import Reading, read
from baton_local.demo_model.language.second_person import of_thing, second_person
from baton_local.demo_model.language.topics import Topic, topics_of
from baton_local.demo_model.language.vocabulary import words

MAX_READ = 4_000
"""Characters of a message that are read."""
_NEGATIVE = re.compile(r"\b(?:not|never|no longer|no more)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:used to|lived|was|were|worked|formerly|previously|had)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a user."""

    text: str
    """The clause in the user's words, with its subject."""
    reply: str
    """The words for the user: the same in the second person, without a full stop."""
    reading: Reading
    is_alone: bool = True
    """True if it can be understood without the one before it."""
    is_implied: bool = False
    """True if another statement says it besides: "I have a dog called Rex" says what the dog is called."""

    @property
    def subject(self) -> str:
        """The subject, in lower case: "dog" of "my dog"; empty if it is the user."""
        return self.reading.subject

    @property
    def attribute(self) -> str:
        """The property of the subject, as in "my dog's name"; else empty."""
        return self.reading.attribute

    @property
    def verb(self) -> str:
        """The first form of its verb."""
        return self.reading.verb

    @property
    def rest(self) -> str:
        """The words after the verb."""
        return self.reading.rest

    @property
    def names(self) -> tuple[str, ...]:
        """The subject's name, as far as the statement gives it."""
        return self.reading.names

    @property
    def is_own(self) -> bool:
        """True if it is about the user or something that belongs to them."""
        return self.reading.is_own

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The questions that it answers, as far as they are known, the nearest first."""
        return topics_of(self.subject, self.attribute, self.verb, self.rest)

    @property
    def continued(self) -> str:
        """The words for the user, in the middle of a sentence."""
        is_name = not self.is_own and bool(self.names)
        return self.reply if is_name else self.reply[:1].lower() + self.reply[1:]

    @property
    def is_negative(self) -> bool:
        """True if it says that something is not so."""
        return _NEGATIVE.search(self.reply) is not None

    @property
    def is_past(self) -> bool:
        """True if it describes the past."""
        return _PAST.search(self.text) is not None

    @property
    def words(self) -> list[str]:
        """All of its words, and those for its subject."""
        return words(f"{self.text} {self.subject} {self.attribute} {' '.join(self.names)}")


def statements(text: str) -> tuple[Statement, ...]:
    """Return the statements of a message in their order; questions and requests are none."""
    return _statements(text, "")[0]


def conversation(texts: Iterable[str]) -> list[Statement]:
    """Return the statements of messages, the oldest first. "He" may stand for the subject of an earlier one."""
    found: list[Statement] = []
    thing = ""
    for text in texts:
        stated, thing = _statements(text, thing)
        found += stated
    return found


@lru_cache(maxsize=2_048)
def _statements(text: str, thing: str) -> tuple[tuple[Statement, ...], str]:
    """Return the statements of a message, and the thing that "it" and "her" stand for after them."""
    found: list[Statement] = []
    for clause in clauses(text[:MAX_READ]):
        reading = read(clause.text, thing)
        if reading is None:
            continue
        reply = of_thing(reading.text, thing) if reading.is_pronoun else second_person(reading.text)
        is_alone = clause.is_whole and not reading.is_pronoun
        statement = Statement(clause.text, reading.reply or reply, reading, is_alone=is_alone)
        implied = [
            replace(statement, reply=name.reply, reading=replace(reading, **name.fields), is_implied=True)
            for name in implied_names(reading)
        ]
        found += [statement, *implied]
        mentioned = [each.subject for each in (statement, *implied) if each.subject]
        if mentioned or reading.verb == "have":
            thing = mentioned[-1] if mentioned else head(reading.rest)
    return tuple(found), thing

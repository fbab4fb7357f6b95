"""The names that statements give: of the user, and of people and things that they have or live with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from baton_local.demo_model.language.nouns import COUNTS, NAME, head
from baton_local.demo_model.language.reading import Reading
from baton_local.demo_model.language.topics import Topic, topics_of

_OWNED = re.compile(
    rf"(?:^|,? and |, |with |but )(?:only )?(?:(?:a|an|{COUNTS}|\d+|my|our|the) )?(?P<np>[\w-]+(?: [\w-]+){{0,3}}?)"
    r"(?:,? (?:(?:who|which|that) (?:is|are) )?(?:called|named|by the name of)|"
    r",? (?:whose|his|her|its|their) names? (?:is|are)|,)"
    rf" (?P<name>{NAME}(?:(?:,| and|, and) {NAME})*)",
)
"""A possession with its name: "a dog called Rex", "two cats, Tom and Kit"."""
_OWN = re.compile(rf"\b(?:my|our) (?P<np>[a-z][\w-]*(?: [a-z][\w-]*)?),? (?P<name>{NAME})")
_HAVING = frozenset("have own keep adopt get live".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class ImpliedName:
    """A name that a statement gives besides what it says."""

    subject: str
    """The names of a thing; empty for the user."""
    name: str

    @property
    def reply(self) -> str:
        """The words for the user."""
        if not self.subject:
            return f"Your name is {self.name}"
        return f"Your {self.subject} {'are' if ' and ' in self.name else 'is'} called {self.name}"

    @property
    def fields(self) -> dict[str, Any]:
        """The result of reading the name alone."""
        return {
            "subject": self.subject,
            "attribute": "name",
            "verb": "be",
            "rest": self.name,
            "names": (self.name,),
            "is_own": True,
        }


def implied_names(reading: Reading) -> list[ImpliedName]:
    """Return the names that a statement gives, each thing's once."""
    return list({each.subject: each for each in reversed(list(_names(reading)))}.values())


def _names(reading: Reading) -> Iterator[ImpliedName]:
    if reading.subject:
        if reading.names and reading.is_own and reading.attribute != "name":
            yield ImpliedName(reading.subject, reading.names[0])
        return
    if reading.attribute:
        return
    if reading.verb == "be" and Topic.NAME in topics_of("", "", "be", reading.rest):
        yield ImpliedName("", re.split(r",| from\b", reading.rest, maxsplit=1)[0].strip())
    owned = list(_OWNED.finditer(reading.rest)) if reading.verb in _HAVING else []
    for match in (*owned, *_OWN.finditer(reading.rest)):
        if subject := head(match["np"]):
            yield ImpliedName(subject, match["name"])

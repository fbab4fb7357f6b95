"""What the user has told about themselves, taken from their messages by a few patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_END = r"(?=[.!?;\n]|,| and (?:i|my)\b| but\b| please\b|$)"
_NAME = re.compile(
    rf"\b(?:my name(?:'s| is)|i(?:'m| am) called|(?:please )?call me)\s+([^\s.!?,;][^.!?,;\n]{{0,60}}?){_END}", re.I
)
_I_AM = re.compile(r"\b(?:I'm|I am)\s+([A-Z][\w'-]*(?:\s+[A-Z][\w'-]*){0,2})(?=[.!?,;\n]|\s+and\b|\s+from\b|$)")
_MINE = re.compile(rf"\bmy\s+((?:[\w'-]+\s+){{0,3}}[\w'-]+?)\s+(is|are)\s+([^.!?,;\n]{{1,120}}?){_END}", re.I)
_DOES = re.compile(rf"\bI\s+(live|work|study|come)\s+((?:in|at|as|for|from|near)\s+[^.!?,;\n]{{1,80}}?){_END}", re.I)
_FROM = re.compile(rf"\bI(?:'m| am)\s+(?:[A-Z][\w'-]*\s+)?(from\s+[^.!?,;\n]{{1,80}}?){_END}")
_AGE = re.compile(r"\bI(?:'m| am)\s+(\d{1,3})(?:\s+years\s+old\b|(?=[.!,]|$))", re.I)
_LIKES = re.compile(rf"\bI\s+(?:really\s+)?(like|love|enjoy|prefer|hate)\s+([^.!?,;\n]{{1,80}}?){_END}", re.I)
_REMEMBER = re.compile(
    r"\b(?:remember|note|keep in mind)(?:\s+that\b|\s*:|\s+this\s*:|(?=\s+to\b))\s*([^\n]{1,300})", re.I
)

_NOT_NAMES = {"german", "french", "english", "american", "british", "spanish", "italian", "ok", "okay", "here", "i"}


@dataclass(slots=True)
class Facts:
    """What is known of the user; what was said later replaces what was said before."""

    name: str | None = None
    mine: dict[str, str] = field(default_factory=dict)
    """``my <key> is <value>``, keys in lower case."""
    plural: set[str] = field(default_factory=set)
    """The keys of ``mine`` that are several things: ``my <key> are <value>``."""
    does: dict[str, str] = field(default_factory=dict)
    """``I live/work/study ...`` and ``I am from ...``, by verb, as it follows "you"."""
    likes: list[str] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """Everything known, addressed to the user."""
        known = [f"Your name is {self.name}."] if self.name else []
        known += [self.about(key) for key in self.mine]
        known += [f"You {verb} {what}." for verb, what in self.does.items()]
        known += [f"You {like}." for like in self.likes]
        known += [f"You asked me to remember: {note}." for note in self.remembered]
        return known

    def about(self, key: str) -> str:
        """One thing of the user's, addressed to the user. Raises ``KeyError`` when it is not known."""
        return f"Your {key} {'are' if key in self.plural else 'is'} {self.mine[key]}."


def facts_of(texts: Iterable[str]) -> Facts:
    """The facts in the user's ``texts``, oldest first; questions tell none."""
    facts = Facts()
    for text in texts:
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
            if not sentence.rstrip().endswith("?"):
                _learn(facts, sentence.strip())
    return facts


def _learn(facts: Facts, sentence: str) -> None:
    if note := _REMEMBER.search(sentence):
        facts.remembered.append(note[1].strip().rstrip("."))
        sentence = note[1]
    if (name := _NAME.search(sentence)) or ((name := _I_AM.search(sentence)) and name[1].lower() not in _NOT_NAMES):
        facts.name = name[1].strip()
    for mine in _MINE.finditer(sentence):
        key = key_of(mine[1])
        if key != "name":
            facts.mine[key] = mine[3].strip()
            (facts.plural.add if mine[2].lower() == "are" else facts.plural.discard)(key)
    if age := _AGE.search(sentence):
        facts.mine["age"] = age[1]
    if origin := _FROM.search(sentence):
        facts.does["are"] = origin[1].strip()
    for does in _DOES.finditer(sentence):
        facts.does[does[1].lower()] = does[2].strip()
    for like in _LIKES.finditer(sentence):
        if (said := f"{like[1].lower()} {like[2].strip()}") not in facts.likes:
            facts.likes.append(said)


def key_of(words: str) -> str:
    """One spelling for one thing: ``Favorite Colour`` and ``favourite color`` are the same."""
    return words.strip().lower().replace("favorite", "favourite").replace("color", "colour")

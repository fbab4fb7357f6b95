"""A call as people read it: a sentence, and its arguments with labels and values in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

INDENT = "  "
"""The indentation of one level of depth."""


@dataclass(frozen=True, slots=True)
class CardField:
    """One argument of a call, or a part of one."""

    name: str
    """The path to the value: names of fields, and numbers of items from 1, with dots between."""
    label: str
    text: str = ""
    """The value in words, as plain text of one or more lines; empty for a heading of the fields within."""
    depth: int = 0
    """The number of objects and lists around it."""
    in_text: bool = False
    """Whether the card's question shows the whole value."""

    @property
    def size(self) -> int:
        """The number of characters of name, label and text."""
        return len(self.name) + len(self.label) + len(self.text)

    def to_response(self) -> dict[str, object]:
        """Return the field as clients see it."""
        own = {"name": self.name, "label": self.label, "text": self.text}
        return {**own, "depth": self.depth, "inText": self.in_text}


@dataclass(frozen=True, slots=True)
class CallCard:
    """A call that waits for a person, in words."""

    label: str
    """The name of the tool for people."""
    text: str
    """The question."""
    fields: tuple[CardField, ...] = ()
    """All arguments, in the order of the tool's schema."""

    @property
    def size(self) -> int:
        """The number of characters of the fields."""
        return sum(field.size for field in self.fields)


def list_lines(fields: Iterable[CardField]) -> Iterator[str]:
    """Yield the lines of fields as plain text. Further lines of a text are indented, so that they are not fields."""
    for field in fields:
        indent = INDENT * field.depth
        first, *others = field.text.split("\n")
        yield f"{indent}{field.label}: {first}".rstrip()
        yield from (f"{indent}{INDENT}{line}" for line in others)


def write_plain(text: str, fields: Iterable[CardField]) -> str:
    """Return, as plain text, a question and the arguments that it does not show, for channels without cards."""
    return "\n".join((text, *list_lines(field for field in fields if not field.in_text)))

"""Interrupts as plain text, for terminals, messengers and other channels that show text only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

INDENT = "  "
WAITS = "The agent waits for an answer."


@dataclass(frozen=True, slots=True)
class CardField:
    """One argument of a call, or a part of one, in words."""

    name: str
    """The path to the value, with dots."""
    label: str
    text: str
    """The value in words; empty for a heading of the fields within."""
    depth: int = 0
    """The number of objects and lists around it."""
    in_text: bool = False
    """Whether the question shows the whole value."""


def read_fields(interrupt: Mapping[str, Any]) -> tuple[CardField, ...]:
    """Return the fields of an interrupt as the server has sent them; empty if it sends none."""
    metadata = interrupt.get("metadata")
    fields = metadata.get("fields") if isinstance(metadata, Mapping) else None
    return tuple(
        CardField(
            str(field.get("name") or ""),
            str(field.get("label") or ""),
            str(field.get("text") or ""),
            depth if isinstance(depth := field.get("depth"), int) else 0,
            field.get("inText") is True,
        )
        for field in fields or ()
        if isinstance(field, Mapping)
    )


def list_lines(interrupt: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the arguments that the question does not show.

    Further lines of a text are indented, so that they do not look like fields.
    """
    for field in read_fields(interrupt):
        if field.in_text:
            continue
        indent = INDENT * field.depth
        first, *others = field.text.split("\n")
        yield f"{indent}{field.label}: {first}".rstrip()
        yield from (f"{indent}{INDENT}{line}" for line in others)


def write_text(interrupt: Mapping[str, Any]) -> str:
    """Return the question of an interrupt and the arguments that it does not show."""
    return "\n".join((str(interrupt.get("message") or WAITS), *list_lines(interrupt)))

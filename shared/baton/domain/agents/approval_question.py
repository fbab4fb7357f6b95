"""Sentences that ask a person to approve a call, with placeholders for its arguments.

``Book {days} days[ of {kind}] from {day}?`` A placeholder is the name of an argument, or a path to a value in one:
``{customer.name}``. Text in square brackets is left out if a placeholder in it has no value. Nothing else
is special: Python's attribute access and format specifications have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.text import PLACEHOLDER, is_plain_line

MAX_QUESTION = 300
"""Characters of a question, before its placeholders are filled."""
MAX_LABEL = 60
"""Characters of the label of a tool."""
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")


def _check_line(text: str) -> str:
    if not is_plain_line(text):
        raise ValueError("must be one line without control characters")
    return text


def _check_question(text: str) -> str:
    for name in find_placeholders(text):
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"has {{{name}}}: a placeholder is the name of an argument, such as {{day}}")
    for optional in _OPTIONAL.findall(text):
        if PLACEHOLDER.search(optional) is None:
            raise ValueError(f"has [{optional}]: square brackets are for text that belongs to a placeholder in them")
    if stray := re.search(r"[{}\[\]]", PLACEHOLDER.sub("", _OPTIONAL.sub(r"\1", text))):
        raise ValueError(f"has a {stray[0]!r} that belongs to no placeholder and no optional text")
    return text


Question = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_QUESTION, strip_whitespace=True),
    AfterValidator(_check_line),
    AfterValidator(_check_question),
]
Label = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_LABEL, strip_whitespace=True), AfterValidator(_check_line)
]


def find_placeholders(question: str) -> Iterator[str]:
    """Yield the names in the placeholders of a question."""
    return (match[1] for match in PLACEHOLDER.finditer(question))


def find_question_problem(question: str, schema: ArgumentSchema) -> str | None:
    """Return what is wrong with a question for arguments of ``schema``, with a suggestion; None if it is valid."""
    for name in find_placeholders(question):
        if problem := schema.find_problem(name):
            return f"asks has {{{name}}}, {problem}"
    return None


def fill_question(question: str, value_of: Callable[[str], str | None]) -> str | None:
    """Return the question with its placeholders filled; None if a placeholder outside square brackets has no value.

    ``value_of`` returns the text for a placeholder, or None if there is none.
    """
    pieces = []
    for index, phrase in enumerate(_OPTIONAL.split(question)):
        is_optional = index % 2 == 1  # ``split`` returns the texts in brackets at odd positions
        parts = enumerate(PLACEHOLDER.split(phrase))
        texts = [value_of(part) if position % 2 == 1 else part for position, part in parts]
        if all(text is not None for text in texts):
            pieces += [text for text in texts if text is not None]
        elif not is_optional:
            return None
    return "".join(pieces)

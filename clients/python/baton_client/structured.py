"""Structured answers as instances of the caller's own types."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from baton_client.errors import AnswerMismatchError, NoStructuredAnswerError

T = TypeVar("T")


def parse_answer(kind: type[T], result: Any, *, outcome: str | None = None) -> T:
    """Return the value of a structured answer as a pydantic model, dataclass or typed dictionary.

    ``outcome`` is the outcome of the run, if it is known. Raises ``NoStructuredAnswerError`` and
    ``AnswerMismatchError``.
    """
    if result is None:
        if outcome in {None, "success"}:
            raise NoStructuredAnswerError("The answer is text. Give the agent an answer_schema, or read the text.")
        raise NoStructuredAnswerError(f"There is no answer: the outcome of the run is {outcome!r}.")
    try:
        # As JSON, so that strict models take texts for times and other things that JSON does not have.
        return TypeAdapter(kind).validate_json(json.dumps(result))
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        location = ".".join(map(str, first["loc"]))
        name = getattr(kind, "__name__", str(kind))
        reason = f"{location}: {first['msg']}" if location else first["msg"]
        raise AnswerMismatchError(f"The answer does not fit {name}: {reason}") from problem

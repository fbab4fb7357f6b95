"""JSON Schemas from outside: checks of the schemas that agents' files and clients declare, and problems of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from pydantic import AfterValidator

from baton.domain.patterns import compile_cached
from baton.domain.schemas.schema_form import Schema, check_declared, has_format, walk_subschemas
from baton.domain.schemas.schema_validator import (
    FormatCheck,
    UncheckableValue,
    find_target,
    find_validation_errors,
    select_meant_errors,
    sort_by_relevance,
)

MAX_PROBLEMS = 5
"""Problems of one value that are returned."""
MAX_MESSAGE = 200
"""Characters of the message of a problem."""
PROBLEM_STEPS = 30_000
"""The most steps of a check by a workflow's schema. A move makes several checks, which block the event loop."""
_PARTIAL = ("type", "properties", "additionalProperties")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_REFUSED = ("$ref", "$dynamicRef", "patternProperties")


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why a value does not fit its schema."""

    message: str
    """The reason, for the sender of the value."""
    missing: tuple[str, ...] = ()
    """The missing fields, as paths (``owner.name``)."""


def check_object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Check the schema of an object and return it. Raises ``ValueError`` with the reason.

    References and ``patternProperties`` are refused, and so are patterns that re2 does not accept.
    """
    check_declared(schema)
    if schema.get("type") != "object":
        raise ValueError("must be a JSON Schema of type object")
    for part in walk_subschemas(schema):
        for keyword in _REFUSED:
            if keyword in part:
                raise ValueError(f"must not use {keyword}")
        if "pattern" in part:
            compile_cached(part["pattern"])
    return schema


def check_client_schema(schema: object) -> dict[str, Any]:
    """Check the schema of a client's tool and return it; without one, the tool takes no arguments.

    Its ``$schema`` decides the draft. References may only point into the schema itself. Patterns are not compiled:
    those that re2 refuses are ignored later. Raises ``ValueError`` with the reason.
    """
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise ValueError("must be a JSON Schema of type object")
    schema = {"type": "object"} | schema
    if schema["type"] != "object":
        raise ValueError("must be a JSON Schema of type object")
    check_declared(schema)
    for part in walk_subschemas(schema):
        for keyword in _REFERENCES:
            if keyword in part:
                try:
                    find_target(schema, part[keyword])
                except UncheckableValue:
                    raise ValueError(f"{keyword} {part[keyword][:60]!r} refers to nothing within the schema") from None
    return schema


ObjectSchema = Annotated[dict[str, Any], AfterValidator(check_object_schema)]


def find_problems(schema: Schema, value: Any) -> Sequence[Problem]:
    """Return the first few reasons why ``value`` does not fit, or cannot be checked; empty if it fits."""
    try:
        errors = find_validation_errors(schema, value, formats=has_format, steps=PROBLEM_STEPS)
    except UncheckableValue as error:
        return [Problem(str(error))]
    errors.sort(key=lambda error: list(map(str, error.absolute_path)))
    return [_make_problem(error) for error in islice(select_meant_errors(errors), MAX_PROBLEMS)]


def find_argument_problem(schema: Schema, value: Any, *, formats: FormatCheck | None = None) -> str | None:
    """Return where and why ``value`` does not fit the schema of a tool, as the end of a sentence.

    None if the value fits or cannot be checked.
    """
    try:
        errors = sort_by_relevance(find_validation_errors(schema, value, formats=formats))
    except UncheckableValue:
        return None  # the tool must check the arguments
    error = next(select_meant_errors(reversed(errors)), None)
    if error is None:
        return None
    where = "/".join(str(part) for part in error.absolute_path)
    return f"{f' at {where}' if where else ''}: {_write_message(error)}"


def make_partial(schema: Schema) -> Schema:
    """Return the schema of an incomplete object: present fields must fit, and any at its top level may be missing."""
    return {keyword: value for keyword, value in schema.items() if keyword in _PARTIAL}


def _write_message(error: Any) -> str:
    """Return the error's message, or the types of the alternatives if the value has none of them."""
    kinds = dict.fromkeys(str(cause.validator_value) for cause in error.context or () if cause.validator == "type")
    return f"it must be of type {' or '.join(kinds)}" if kinds else str(error.message)


def _make_problem(error: Any) -> Problem:
    path = ".".join(str(part) for part in error.absolute_path)
    message = _write_message(error)
    if len(message) > MAX_MESSAGE:  # the beginning quotes the value, and the end names the problem
        message = f"{message[: MAX_MESSAGE // 2]}...{message[-MAX_MESSAGE // 2 :]}"
    missing: tuple[str, ...] = ()
    if error.validator == "required":
        # Only the text of the error names the missing field, so all missing fields are found in the value.
        names = [name for name in error.validator_value if name not in error.instance]
        missing = tuple(f"{path}.{name}" if path else name for name in names)
    return Problem(f"{path}: {message}" if path else message, missing)

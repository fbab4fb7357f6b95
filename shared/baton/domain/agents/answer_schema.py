"""The JSON Schema of an agent's answers: which schemas an agent may declare, and what is wrong with an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from pydantic import AfterValidator, WithJsonSchema

from baton.domain.patterns import compile_cached
from baton.domain.schemas.schema_form import Schema, check_declared, walk_subschemas
from baton.domain.schemas.schema_validator import (
    UncheckableValue,
    find_validation_errors,
    select_meant_errors,
    sort_by_relevance,
)
from baton.domain.schemas.type_check import TypeCheck

MAX_SCHEMA_BYTES = 16 * 1024
"""Bytes of a schema as compact JSON. It is sent with every request to the model."""
MAX_SCHEMA_DEPTH = 32
"""The deepest nesting of objects and lists in a schema."""
MAX_VIOLATIONS = 5
"""Violations of an answer that are reported."""
DRAFT = "https://json-schema.org/draft/2020-12/schema"
_MAX_QUOTED = 100
"""Characters of a keyword's value that is quoted. A longer one is left out."""
_MAX_DESCRIBED = 100
"""The most errors of an answer that become sentences. Several may become the same sentence."""
_REFUSED_KEYWORDS = (
    *("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"),
    *("patternProperties", "unevaluatedProperties", "unevaluatedItems"),
)
_DEFINITION = re.compile(r"#/\$defs/([^/]+)")


def check_answer_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as plain JSON values. Raises ``ValueError`` with the reason if an agent cannot declare it.

    An answer can be checked against a valid schema without a request and within a bounded number of steps.
    """
    try:
        compact = json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ValueError("must hold JSON values only") from None
    size = len(compact.encode("utf-8", "replace"))
    if size > MAX_SCHEMA_BYTES:
        raise ValueError(f"has {size} bytes as JSON, and at most {MAX_SCHEMA_BYTES} are possible")
    plain: dict[str, Any] = json.loads(compact)
    if _measure_depth(plain) > MAX_SCHEMA_DEPTH:
        raise ValueError(f"is nested more than {MAX_SCHEMA_DEPTH} levels deep")
    if plain.get("$schema", DRAFT) != DRAFT:
        raise ValueError(f"must be of the draft 2020-12: leave $schema out, or set it to {DRAFT}")
    if plain.get("type") != "object":
        raise ValueError("must be a JSON Schema of type object")
    check_declared(plain)
    for part in walk_subschemas(plain):
        _check_part(part, plain.get("$defs", {}))
    try:
        find_validation_errors(plain, {})
    except UncheckableValue:
        raise ValueError("its references lead in a circle or multiply too much") from None
    return plain


AnswerSchema = Annotated[
    dict[str, Any],
    AfterValidator(check_answer_schema),
    WithJsonSchema({"type": "object", "properties": {"type": {"const": "object"}}, "required": ["type"]}),
]


@dataclass(frozen=True, slots=True)
class AnswerType:
    """The type of one answer that is JSON."""

    schema: dict[str, Any]
    check: TypeCheck | None
    """Checks the answer by its Python type, besides the schema."""


@dataclass(frozen=True, slots=True)
class AnswerProblems:
    """The problems of an answer, at most ``MAX_VIOLATIONS``."""

    sentences: Sequence[str] = ()
    """The problems for the model and the user. Problems found by the Python type may quote the answer."""
    logged: Sequence[str] = ()
    """The same problems for logs, without a word of the answer."""

    @classmethod
    def without_details(cls, problem: str) -> AnswerProblems:
        """Return a problem whose sentence quotes nothing of the answer, so that it can be logged as it is."""
        return cls((problem,), (problem,))


def find_answer_problems(schema: Schema, check: TypeCheck | None, answer: Any) -> AnswerProblems:
    """Return the problems of an answer: those of the schema or, if it fits the schema, those of its Python type."""
    if sentences := find_violations(schema, answer):
        return AnswerProblems(sentences, sentences)
    mismatches = check(answer)[:MAX_VIOLATIONS] if check is not None else ()
    return AnswerProblems([str(problem) for problem in mismatches], [problem.kind for problem in mismatches])


def find_violations(schema: Schema, answer: Any) -> Sequence[str]:
    """Return at most ``MAX_VIOLATIONS`` sentences about parts of an answer that break its schema; empty if it fits.

    The sentences never quote the answer: names that the schema does not have are written as ``*``.
    """
    try:
        errors = sort_by_relevance(find_validation_errors(schema, answer))
    except UncheckableValue:
        return ["it takes too many steps to check"]
    names = {name for part in walk_subschemas(schema) for name in part.get("properties", {})}
    specific = islice(select_meant_errors(reversed(errors)), _MAX_DESCRIBED)
    return list(dict.fromkeys(_describe(error, names) for error in specific))[:MAX_VIOLATIONS]


def _check_part(part: Schema, definitions: Schema) -> None:
    for keyword in _REFUSED_KEYWORDS:
        if keyword in part:
            raise ValueError(f"must not use {keyword}")
    reference = part.get("$ref")
    if reference is not None and reference != "#":
        definition = _DEFINITION.fullmatch(reference)
        if definition is None or definition[1] not in definitions:
            raise ValueError(f"$ref {reference[:60]!r} must be '#' or '#/$defs/<name>' of the schema itself")
    if "pattern" in part:
        compile_cached(part["pattern"])


def _measure_depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [part for part in level if isinstance(part, dict | list)]:
        depth += 1
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
    return depth


def _describe(error: Any, names: set[str]) -> str:
    path = "/".join(_name_step(step, names) for step in error.absolute_path)
    return f"{f'`{path}`' if path else 'it'} {_describe_reason(error)}"


def _name_step(step: Any, names: set[str]) -> str:
    return str(step) if isinstance(step, int) or step in names else "*"


def _describe_reason(error: Any) -> str:
    """Return what is wrong with a value, as the predicate of a sentence about it."""
    keyword, expected = error.validator, error.validator_value
    if error.context and all(cause.validator == "type" for cause in error.context):
        expected = [kind for cause in error.context for kind in _as_list(cause.validator_value)]
        return f"must be of type {_join_alternatives(expected)}"
    match keyword:
        case "type":
            return f"must be of type {_join_alternatives(_as_list(expected))}"
        case "required":
            return f"lacks {', '.join(f'`{name}`' for name in expected if name not in error.instance)}"
        case "additionalProperties" if expected is False:
            return "has a property that the schema does not name"
        case "anyOf" | "oneOf":
            return "must fit one of its alternatives"
        case None:
            return "is not allowed"
    quoted = json.dumps(expected, ensure_ascii=False)
    return f"does not fit {keyword}{f' {quoted}' if len(quoted) <= _MAX_QUOTED else ''}"


def _as_list(types: str | Sequence[str]) -> Sequence[str]:
    return [types] if isinstance(types, str) else types


def _join_alternatives(words: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(words))

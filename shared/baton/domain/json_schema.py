"""Validate collected data and tool arguments with the JSON Schemas of agents' files and of tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import AfterValidator

from baton.domain.patterns import compiled
from baton.domain.text_formats import has_format
from baton.domain.usual_schemas import is_usual

Schema = Mapping[str, Any]

MAX_PROBLEMS = 5
MAX_MESSAGE = 200
MAX_STEPS = 100_000
"""Keywords that are applied to check one value against an external schema. References can multiply them endlessly."""
_ONE = (
    "items",
    "additionalProperties",
    "not",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "$defs", "dependentSchemas")
_PARTIAL = ("type", "properties", "additionalProperties")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_steps: ContextVar[Iterator[int]] = ContextVar("steps")


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason why a value does not fit its schema."""

    message: str
    """The reason, for the sender of the value."""
    missing: tuple[str, ...] = ()
    """The missing fields, as paths (``owner.name``)."""


def check_object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Check the schema of an object and return it. Raises ``ValueError`` with the reason."""
    if not is_usual(schema):
        # Imported only for agents with such a schema, so that functions without one start faster.
        from jsonschema import SchemaError

        try:
            _validator().check_schema(schema)
        except SchemaError as error:
            raise ValueError(f"is no JSON Schema: {error.message}") from None
    if schema.get("type") != "object":
        raise ValueError("must be a JSON Schema of type object")
    for part in subschemas(schema):
        for keyword in ("$ref", "$dynamicRef", "patternProperties"):
            if keyword in part:
                raise ValueError(f"must not use {keyword}")
        if "pattern" in part:
            compiled(part["pattern"])
    return schema


def check_client_schema(schema: object) -> dict[str, Any]:
    """Check the schema of a client's tool and return it; without one, the tool takes no arguments.

    Its own ``$schema`` says which draft counts. References may only point into the schema itself. The caller has
    bounded its size. Raises ``ValueError`` with the reason.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise ValueError("must be a JSON Schema of type object")
    schema = {"type": "object"} | schema
    if schema["type"] != "object" or not isinstance(schema.get("$schema", ""), str):
        raise ValueError("must be a JSON Schema of type object")
    for part in _objects(schema):
        for keyword in _REFERENCES:
            target = part.get(keyword)
            if isinstance(target, str) and not _is_inside(target, schema):
                raise ValueError(f"{keyword} {target[:60]!r} refers to nothing within the schema")
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except (SchemaError, RecursionError) as error:
        raise ValueError(f"is no JSON Schema: {getattr(error, 'message', 'it is nested too deep')}") from None
    return schema


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the object and every object within it."""
    level = [value]
    while level:
        yield from (each for each in level if isinstance(each, dict))
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]


def _is_inside(reference: str, schema: Any) -> bool:
    """Return whether a reference is a JSON Pointer to an object within the schema."""
    if reference == "#":
        return True
    if not reference.startswith("#/"):
        return False
    place = schema
    for step in reference[2:].split("/"):
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        elif isinstance(place, dict) and name in place:
            place = place[name]
        else:
            return False
    return isinstance(place, dict | bool)


ObjectSchema = Annotated[dict[str, Any], AfterValidator(check_object_schema)]


def problems(schema: Schema, value: Any) -> list[Problem]:
    """Return the first few reasons why ``value`` does not fit; empty if it fits."""
    errors = sorted(_validator()(schema).iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    return [_problem(error) for error in errors[:MAX_PROBLEMS]]


class UncheckableValue(Exception):
    """The schema is invalid, or takes more than ``MAX_STEPS`` to check the value."""


def foreign_schema_problem(schema: Schema, value: Any) -> str | None:
    """Return where and why ``value`` does not fit an external schema; None if it fits or cannot be checked."""
    try:
        errors = foreign_schema_errors(schema, value)
    except UncheckableValue:
        return None  # the tool must check the arguments
    if not errors:
        return None
    where = "/".join(str(part) for part in errors[-1].absolute_path)
    return f"{f' at {where}' if where else ''}: {errors[-1].message}"


def foreign_schema_errors(schema: Schema, value: Any) -> list[Any]:
    """Return jsonschema's errors of ``value``, the most relevant one last; empty if it fits an external schema.

    References are not fetched. Patterns that need Python's regular expressions are not checked, because a tool's schema
    and a model's text could keep them busy forever. So could references that multiply: after ``MAX_STEPS`` it raises
    ``UncheckableValue``, as for an invalid schema.
    """
    # Imported with the first call: it takes a tenth of a second, and most turns have no calls.
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.exceptions import relevance
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    draft = schema.get("$schema")
    known = {"$schema": draft} if isinstance(draft, str) else {}
    validator = _foreign_validator(validator_for(known, default=Draft202012Validator))
    _steps.set(iter(range(MAX_STEPS)))
    try:
        return sorted(validator(schema, registry=Registry()).iter_errors(value), key=relevance)
    except (SchemaError, Unresolvable, RecursionError, _TooManySteps):
        raise UncheckableValue from None


def partial(schema: Schema) -> Schema:
    """Return the schema of an incomplete object: present fields must fit, and any may be missing."""
    return {keyword: value for keyword, value in schema.items() if keyword in _PARTIAL}


def _problem(error: Any) -> Problem:
    path = ".".join(str(part) for part in error.absolute_path)
    message = error.message
    if len(message) > MAX_MESSAGE:  # It quotes the value, and says what is wrong at the end.
        message = f"{message[: MAX_MESSAGE // 2]}...{message[-MAX_MESSAGE // 2 :]}"
    missing: tuple[str, ...] = ()
    if error.validator == "required":
        # One error a missing field, and only its text names the field; the value shows it as well.
        names = [name for name in error.validator_value if name not in error.instance]
        missing = tuple(f"{path}.{name}" if path else name for name in names)
    return Problem(f"{path}: {message}" if path else message, missing)


def subschemas(schema: Any) -> Iterator[Schema]:
    """Yield the schema and every schema within it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword in _ONE:
        yield from subschemas(schema.get(keyword))
    for keyword in _SEVERAL:
        for part in schema.get(keyword, ()):
            yield from subschemas(part)
    for keyword in _NAMED:
        for part in schema.get(keyword, {}).values():
            yield from subschemas(part)


@lru_cache(maxsize=1)
def _validator() -> Any:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        # Python's regular expressions can take exponential time, and a model writes the text they are matched with.
        if isinstance(instance, str) and compiled(wanted).search(_encodable(instance)) is None:
            yield ValidationError(f"{instance!r} does not match {wanted!r}")

    def format_(validator: Any, name: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if not has_format(instance, name):
            yield ValidationError(f"{instance!r} is not a {name}")

    multiple = Draft202012Validator.VALIDATORS["multipleOf"]

    def multiple_of(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        try:
            yield from multiple(validator, wanted, instance, schema)
        except (ArithmeticError, ValueError):  # infinity, no number, or an integer that is no float
            yield ValidationError(f"{instance!r} is not a multiple of {wanted!r}")

    return extend(Draft202012Validator, {"pattern": pattern, "format": format_, "multipleOf": multiple_of})


class _TooManySteps(Exception):
    """A value cannot be checked within ``MAX_STEPS``."""


def _count_steps(check: Callable[..., Any]) -> Callable[..., Any]:
    """Return the check of a keyword, counting how often it is applied."""

    def applied(*arguments: Any) -> Any:
        if next(_steps.get(), None) is None:
            raise _TooManySteps
        return check(*arguments)

    return applied


@lru_cache(maxsize=8)
def _foreign_validator(draft: Any) -> Any:
    """Return a validator for schemas of ``draft`` with unchecked patterns."""
    from jsonschema.validators import extend

    bounded, additional = _validator().VALIDATORS, draft.VALIDATORS["additionalProperties"]

    def pattern(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        with suppress(ValueError):  # re2 does not know it
            yield from bounded["pattern"](validator, wanted, instance, schema)

    def pattern_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, dict):
            return
        for expression, inner in wanted.items():
            with suppress(ValueError):
                names = [name for name in instance if compiled(expression).search(_encodable(name)) is not None]
                for name in names:
                    yield from validator.descend(instance[name], inner, path=name, schema_path=expression)

    def additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if "patternProperties" not in schema:
            yield from additional(validator, wanted, instance, schema)

    def unchecked(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        yield from ()

    changed = {
        "pattern": pattern,
        "multipleOf": bounded["multipleOf"],
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "unevaluatedProperties": unchecked,
    }
    return extend(draft, {name: _count_steps(check) for name, check in {**draft.VALIDATORS, **changed}.items()})


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()

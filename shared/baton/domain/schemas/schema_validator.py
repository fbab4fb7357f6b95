"""A validator of JSON Schemas from outside. It counts its steps, so that no schema or value can keep it busy.

It is the validator of ``jsonschema``. Checks whose time can exceed the size of schema and value are replaced: re2
matches patterns; ``uniqueItems``, ``enum`` and ``const`` compare texts that are equal for equal values; references are
JSON Pointers that are looked up in the schema itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from typing import Any
from urllib.parse import unquote

from baton.concurrency.tasks import LARGE, check_cancelled
from baton.domain.json_values import count_values, write_canonical_text
from baton.domain.patterns import compile_cached
from baton.domain.schemas.schema_form import Schema, SchemaProblem, walk_subschemas

MAX_STEPS = 200_000
"""Steps of the check of one value. Each takes one to three microseconds."""
MAX_LEVELS = 180
"""Checks within checks. Each takes four stack frames, and jsonschema's maps panic at Python's recursion limit."""
MAX_ERRORS = 1_000
"""Errors of one value that are collected."""
_MEMBERS = 32
"""Members of an object or list that are looked up in the time of a step."""
_CHARACTERS = 200
"""Characters that are copied or compared in the time of a step."""
_PATTERN_WORK = 1_500
"""Instructions of a pattern times characters of a text, in the time of a step."""
_COMPARED = 50
"""Members that are compared in the time of a step."""
_QUOTED = 200
"""Characters of a value that an error quotes."""

_VALUE_SIZE = 20
"""The cost of checking a value by one subschema, in the characters by which ``off_loop`` measures work."""

Check = Callable[[Any, Any, Any, Any], Iterator[Any]]
FormatCheck = Callable[[object, str], bool]
"""Returns whether a value has the format of this name."""


class UncheckableValue(Exception):
    """The schema is invalid or has a reference that cannot be followed, or the value is not JSON or takes too long."""


class _Work:
    """The state of one check: its remaining steps, and caches of facts about the schema and the value."""

    def __init__(self, root: Schema, steps: int) -> None:
        self._root = root
        self._steps = self._left = steps
        self._level = 0
        self._sizes: dict[int, tuple[Any, int]] = {}
        """Values and their sizes, by the ``id`` of the value. The value is kept so that its ``id`` is not reused."""
        self._options: dict[int, frozenset[str]] = {}
        """The texts of each ``enum``, by the ``id`` of its list. The schema keeps the list."""
        self._targets: dict[str, Any] = {}
        self._is_plain: bool | None = None

    def take(self, steps: int = 1) -> None:
        """Count steps. Raises ``UncheckableValue`` after too many, and as ``check_cancelled`` does."""
        self._left -= steps
        if self._left < 0:
            raise UncheckableValue(f"it takes more than {self._steps:,} steps to check")
        check_cancelled()

    @contextmanager
    def one_level_deeper(self) -> Iterator[None]:
        """Count a level of nesting for the checks in the block. Raises ``UncheckableValue`` beyond ``MAX_LEVELS``."""
        self._level += 1
        try:
            if self._level > MAX_LEVELS:
                raise UncheckableValue("its checks are nested too deep")
            yield
        finally:
            self._level -= 1

    def measure(self, value: Any) -> int:
        """Return the approximate number of characters of a value as text."""
        if isinstance(value, str):
            return len(value) + 2
        if not isinstance(value, dict | list):
            return 8 + value.bit_length() // 3 if isinstance(value, int) else 8
        cached = self._sizes.get(id(value))
        if cached is None:
            inner = sum(map(self.measure, value.values() if isinstance(value, dict) else value))
            # YAML has names that are not text, such as ``on``.
            cached = value, inner + 2 + (sum(len(str(name)) for name in value) if isinstance(value, dict) else 0)
            self._sizes[id(value)] = cached
        return cached[1]

    def write_canonical(self, value: Any) -> str:
        """Return a text that is equal for equal values. Raises ``UncheckableValue`` for a value that JSON lacks."""
        self.take(1 + self.measure(value) // _CHARACTERS)
        try:
            return write_canonical_text(value)
        except TypeError:
            raise UncheckableValue("it has a value that JSON does not have, such as a date") from None

    def list_options(self, values: list[Any]) -> frozenset[str]:
        """Return the texts of an ``enum``."""
        cached = self._options.get(id(values))
        if cached is None:
            cached = self._options[id(values)] = frozenset(map(self.write_canonical, values))
        return cached

    def matches(self, pattern: str, text: str) -> bool:
        """Return whether a pattern matches a part of a text. Raises ``ValueError`` if re2 does not accept it."""
        program = compile_cached(pattern)
        self.take(len(text) * program.programsize // _PATTERN_WORK)
        return program.search(text.encode("utf-8", "replace").decode()) is not None

    def is_plain(self) -> bool:
        """Return whether the schema has no references and no ``patternProperties``."""
        if self._is_plain is None:
            self.take(self.measure(self._root) // _CHARACTERS)
            self._is_plain = not any(_LINKING.intersection(part) for part in walk_subschemas(self._root))
        return self._is_plain

    def find_target(self, reference: str) -> Any:
        """Return the part of the schema to which a reference points. Raises ``UncheckableValue``."""
        if not self._targets:
            self.take(self.measure(self._root) // _CHARACTERS)
            if any(
                isinstance(part.get(name), str)
                for part in islice(walk_subschemas(self._root), 1, None)
                for name in _IDS
            ):
                raise UncheckableValue("references are relative to ids within it")
            self._targets["#"] = self._root
        if reference not in self._targets:
            self.take(reference.count("/"))
            self._targets[reference] = find_target(self._root, reference)
        return self._targets[reference]


_work: ContextVar[_Work] = ContextVar("work")
_IDS = ("$id", "id")
_MULTIPLYING = frozenset({"$dynamicRef", "$recursiveRef", "$ref", "pattern", "patternProperties"})
"""Keywords whose cost does not follow from the numbers of subschemas and values."""
_LINKING = frozenset({"$dynamicRef", "$recursiveRef", "$ref", "patternProperties"})


def find_target(schema: Schema, reference: str) -> Any:
    """Return the target of a ``$ref`` within ``schema``: ``#``, or ``#/`` and a JSON Pointer.

    Raises ``UncheckableValue`` for other forms and for a missing target.
    """
    part: Any = schema
    if reference != "#" and not reference.startswith("#/"):
        raise UncheckableValue("it has a reference that is not `#` or `#/...`")
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(part, list) and name.isdecimal() and len(name) < 8 and int(name) < len(part):
            part = part[int(name)]
        elif isinstance(part, dict) and name in part:
            part = part[name]
        else:
            raise UncheckableValue("it refers to nothing within it")
    if not isinstance(part, dict | bool):
        raise UncheckableValue("it refers to no schema")
    return part


def estimate_check_size(schema: Schema, text: str) -> int:
    """Return the cost of checking a JSON text, by which ``off_loop`` decides whether to check it in a thread."""
    parts = list(walk_subschemas(schema))
    if any(_MULTIPLYING.intersection(part) for part in parts):
        return LARGE
    return len(text) + _VALUE_SIZE * (1 + count_values(text)) * len(parts)


def find_validation_errors(
    schema: Schema, value: Any, *, formats: FormatCheck | None = None, steps: int = MAX_STEPS
) -> list[Any]:
    """Return the first ``MAX_ERRORS`` errors of ``value``, as jsonschema's ``ValidationError``.

    The caller must have checked the form of the schema. ``formats`` checks the formats of texts; None: nothing does.
    References are not fetched. Patterns that re2 does not accept are ignored, and so are the ``unevaluated`` keywords
    of schemas with references or ``patternProperties``. Raises ``UncheckableValue``.
    """
    # Imported by the first check, because the import takes a tenth of a second and most turns make no tool calls.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import UnknownType
    from jsonschema.validators import validator_for

    draft = schema.get("$schema")
    head = {"$schema": draft} if isinstance(draft, str) else {}
    validator = _make_validator(validator_for(head, default=Draft202012Validator), formats)
    token = _work.set(_Work(schema, steps))
    try:
        return list(islice(validator(schema, _resolver=_Resolver()).iter_errors(value), MAX_ERRORS))
    except (RecursionError, SchemaProblem, UnknownType) as error:
        raise UncheckableValue("it is nested too deep, or no JSON Schema") from error
    finally:
        _work.reset(token)


def sort_by_relevance(errors: list[Any]) -> list[Any]:
    """Return errors with the most relevant one last."""
    from jsonschema.exceptions import relevance

    return sorted(errors, key=relevance)


def select_meant_errors(errors: Iterable[Any]) -> Iterator[Any]:
    """Yield the errors. Where no alternative fits, yield the errors of the alternatives that have the value's type."""
    for error in errors:
        depth, causes = len(error.absolute_path), error.context or ()
        meant_causes = [cause for cause in causes if cause.validator != "type" or len(cause.absolute_path) > depth]
        if meant_causes:
            yield from select_meant_errors(meant_causes)
        else:
            yield error


class _Resolver:
    """A replacement for jsonschema's resolver, which would search the whole schema for each reference."""

    def in_subresource(self, _subresource: Any) -> _Resolver:
        return self


@lru_cache(maxsize=16)
def _make_validator(draft: Any, formats: FormatCheck | None) -> Any:
    """Return the class of validators for schemas of a draft."""
    from jsonschema.validators import create

    def list_applicable(schema: Schema) -> Any:
        _work.get().take(1 + len(schema) // _MEMBERS)
        return draft._APPLICABLE_VALIDATORS(schema)

    def evolve(self: Any, **changes: Any) -> Any:
        # jsonschema's own ``evolve`` would use the class for a nested "$schema", which does not count steps.
        return type(self)(changes.get("schema", self.schema), _resolver=changes.get("_resolver", self._resolver))

    own: dict[str, Check] = {name: check for name, check in _CHECKS.items() if name in draft.VALIDATORS}
    for name, check in draft.VALIDATORS.items():
        if name == "multipleOf" or name.startswith("unevaluated"):
            own[name] = partial(_check_multiple_of if name == "multipleOf" else _check_unevaluated, check)
    own["format"] = partial(_check_format, formats) if formats is not None else _skip_check
    validator = create(
        draft.META_SCHEMA,
        {name: partial(_apply_counted, check) for name, check in {**draft.VALIDATORS, **own}.items()},
        type_checker=draft.TYPE_CHECKER,
        id_of=draft.ID_OF,
        applicable_validators=list_applicable,
    )
    validator.evolve = evolve
    return validator


def _apply_counted(check: Check, validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Apply a check, and count its steps and those of its errors.

    Errors of jsonschema's own checks cost more, because they quote the value and perhaps the schema.
    """
    work, is_own = _work.get(), check in _OWN
    work.take(1 if is_own or not isinstance(rule, dict | list) else 1 + len(rule) // _MEMBERS)
    with work.one_level_deeper():
        for error in check(validator, rule, instance, schema):
            # Errors of nested schemas have a validator already, and were counted there.
            is_new = not is_own and not isinstance(error.validator, str)
            work.take(1 + ((work.measure(instance) + work.measure(rule)) // _CHARACTERS if is_new else 0))
            yield error


def _make_error(instance: Any, flaw: str) -> Any:
    from jsonschema import ValidationError

    size = _work.get().measure(instance)
    return ValidationError(f"{instance!r} {flaw}" if size <= _QUOTED else f"a value of {size:,} characters {flaw}")


def _check_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    with suppress(ValueError):  # re2 does not accept the pattern
        if isinstance(instance, str) and not _work.get().matches(pattern, instance):
            yield _make_error(instance, f"does not match {pattern!r}")


def _check_pattern_properties(validator: Any, rule: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    work = _work.get()
    for expression, inner in rule.items():
        work.take(1 + len(instance))
        with suppress(ValueError):
            compile_cached(expression)
            for name in [name for name in instance if work.matches(expression, name)]:
                yield from validator.descend(instance[name], inner, path=name, schema_path=expression)


def _check_additional_properties(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    # With patterns that re2 may not accept, it is not known which names are additional.
    if not isinstance(instance, dict) or "patternProperties" in schema:
        return
    _work.get().take(len(instance) // _MEMBERS)
    extra = [name for name in instance if name not in schema.get("properties", ())]
    if rule is not False:
        for name in extra:
            yield from validator.descend(instance[name], rule, path=name)
    elif extra:
        names = ", ".join(map(repr, sorted(extra)[:10]))
        verb = "was" if len(extra) == 1 else "were"
        yield ValidationError(f"Additional properties are not allowed ({names} {verb} unexpected)")


def _check_unique_items(_validator: Any, rule: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if rule and isinstance(instance, list) and len(set(map(_work.get().write_canonical, instance))) < len(instance):
        yield _make_error(instance, "has non-unique elements")


def _check_enum(_validator: Any, allowed: list[Any], instance: Any, _schema: Any) -> Iterator[Any]:
    work = _work.get()
    if work.write_canonical(instance) not in work.list_options(allowed):
        options = repr(allowed) if work.measure(allowed) <= _QUOTED else f"{len(allowed):,} values"
        yield _make_error(instance, f"is not one of {options}")


def _check_const(_validator: Any, constant: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    work = _work.get()
    if work.write_canonical(instance) != work.write_canonical(constant):
        expected = repr(constant) if work.measure(constant) <= _QUOTED else "another value"
        yield ValidationError(f"{expected} was expected")


def _check_format(formats: FormatCheck, _validator: Any, name: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if not formats(instance, name):
        yield _make_error(instance, f"is not a {name}")


def _check_multiple_of(check: Check, validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    try:
        yield from check(validator, rule, instance, schema)
    except (ArithmeticError, ValueError):  # infinity, NaN, or an integer too large for a float
        yield _make_error(instance, f"is not a multiple of {rule!r}")


def _check_unevaluated(check: Check, validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
    # jsonschema's check is quadratic in the members, and matches names by ``re``.
    work = _work.get()
    if isinstance(instance, dict | list) and work.is_plain():
        work.take(len(instance) ** 2 * sum(1 for _ in walk_subschemas(schema)) // _COMPARED)
        yield from check(validator, rule, instance, schema)


def _check_reference(validator: Any, reference: str, instance: Any, _schema: Any) -> Iterator[Any]:
    yield from validator.descend(instance, _work.get().find_target(reference))


def _skip_check(_validator: Any, _rule: Any, _instance: Any, _schema: Any) -> Iterator[Any]:
    yield from ()


_CHECKS: Mapping[str, Check] = {
    "$dynamicRef": _check_reference,
    "$recursiveRef": _check_reference,
    "$ref": _check_reference,
    "additionalProperties": _check_additional_properties,
    "const": _check_const,
    "enum": _check_enum,
    "pattern": _check_pattern,
    "patternProperties": _check_pattern_properties,
    "uniqueItems": _check_unique_items,
}
_OWN = frozenset((*_CHECKS.values(), _skip_check))

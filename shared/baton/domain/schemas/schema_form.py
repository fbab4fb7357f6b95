"""The form of JSON Schemas: the kinds of values that keywords take, and limits; and the formats of texts.

The checks are a lenient selection of those of the metaschemas (drafts 4 to 2020-12): the drafts before 2020-12 share
one set. They take a time that is linear in the schema's size. ``jsonschema`` takes some milliseconds for each
subschema, and compiles patterns with ``re``.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def _check_date(text: str) -> None:
    if _DATE.fullmatch(text) is None:
        raise ValueError  # ISO 8601 also has weeks and dates without hyphens, which RFC 3339 lacks
    date.fromisoformat(text)


def _check_time(text: str) -> None:
    if time.fromisoformat(text).tzinfo is None or ":" not in text:
        raise ValueError


def _check_date_time(text: str) -> None:
    _check_date(text[:10])
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError


def _check_uuid(text: str) -> None:
    if str(uuid.UUID(text)) != text.lower():
        raise ValueError


def _make_pattern_check(pattern: re.Pattern[str]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if pattern.fullmatch(text) is None:
            raise ValueError

    return check


FORMAT_CHECKS: Mapping[str, Callable[[str], None]] = {
    "date": _check_date,
    "date-time": _check_date_time,
    "email": _make_pattern_check(_EMAIL),
    "time": _check_time,
    "uri": _make_pattern_check(_URI),
    "uuid": _check_uuid,
}
"""Checks by format. Each raises ``ValueError`` for a text without the format. Times need an offset, as in RFC 3339."""


_WITH_OFFSET: Mapping[str, Callable[[str], object]] = {"date-time": datetime.fromisoformat, "time": time.fromisoformat}


def has_local_format(text: object, name: str) -> bool:
    """Return whether a text has a format, as ``has_format`` does, but accept every form of ISO 8601 for times.

    An offset is not needed, and neither is the time of day in ``date-time``.
    """
    return has_format(text, name, needs_offset=False)


def has_format(text: object, name: str, *, needs_offset: bool = True) -> bool:
    """Return whether a text has a format. Other values, and formats that are not checked, always do."""
    check = FORMAT_CHECKS.get(name)
    if check is None or not isinstance(text, str):
        return True
    try:
        if name in _WITH_OFFSET and not needs_offset:
            _WITH_OFFSET[name](text)
        else:
            check(text)
    except ValueError:
        return False
    return True


MAX_DEPTH = 100
"""Schemas within schemas."""
MAX_SUBSCHEMAS = 1_000
"""Subschemas of a schema that an agent's definition or a client declares."""
MAX_PATTERN = 1_000
"""Characters of a pattern in such a schema."""

Schema = Mapping[str, Any]
_Place = tuple[Any, str | int] | None
"""A location in a schema: the location of the enclosing part, and the last step; None for the schema itself."""

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_OLD = ("draft-04/", "draft-06/", "draft-07/", "2019-09/")
"""Parts of the addresses of the drafts before 2020-12, which share ``_OLD_FORMS``."""
_UNSUPPORTED = ("draft-00/", "draft-01/", "draft-02/", "draft-03/")
"""Parts of the addresses of drafts that are refused."""


class SchemaProblem(ValueError):
    """A schema that cannot be used. The text names the location and the reason."""

    def __init__(self, reason: str, place: _Place = None) -> None:
        steps: list[str] = []
        while place is not None:
            place, step = place
            steps.append(str(step)[:100])
        where = f" at {'/'.join(reversed(steps))}" if steps else ""
        super().__init__(f"is no JSON Schema{where[:300]}: {reason}")


def check_form(schema: object) -> None:
    """Check the form of a schema from outside, of any size but at most ``MAX_DEPTH`` deep. Raises ``SchemaProblem``."""
    for _ in _walk(schema):
        pass


def check_declared(schema: object) -> None:
    """Check the form, the values and the limits of a schema. Raises ``SchemaProblem`` with the reason."""
    for number, (part, position) in enumerate(_walk(schema), 1):
        if number > MAX_SUBSCHEMAS:
            raise SchemaProblem(f"it has more than {MAX_SUBSCHEMAS:,} subschemas")
        for pattern in (part.get("pattern", ""), *part.get("patternProperties", ())):
            if len(pattern) > MAX_PATTERN:
                raise SchemaProblem(f"a pattern has at most {MAX_PATTERN:,} characters", position)
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # YAML has dates, and other values that models cannot be sent
        raise SchemaProblem(
            "it must hold JSON values only: no binary data or infinite numbers, and dates in quotes"
        ) from None


def walk_subschemas(schema: object) -> Iterator[Schema]:
    """Yield the schema and those within it, except true and false. Raises ``SchemaProblem`` for an invalid keyword."""
    for part, _ in _walk(schema):
        yield part


def _walk(root: object) -> Iterator[tuple[Schema, _Place]]:
    """Yield the schema and those within it, except true and false, with their locations.

    The keywords of a schema are checked before it is yielded. Raises ``SchemaProblem``.
    """
    draft = root.get("$schema") if isinstance(root, dict) else None
    if isinstance(draft, str) and any(name in draft for name in _UNSUPPORTED):
        raise SchemaProblem("drafts before 4 are not supported", (None, "$schema"))
    is_old = isinstance(draft, str) and any(name in draft for name in _OLD)
    waiting: list[tuple[object, _Place, int]] = [(root, None, 1)]
    while waiting:
        part, position, depth = waiting.pop()
        if isinstance(part, bool):
            continue
        if not isinstance(part, dict):
            raise SchemaProblem("a schema must be an object, true or false", position)
        if depth > MAX_DEPTH:
            raise SchemaProblem(f"it is nested more than {MAX_DEPTH} schemas deep")
        for keyword, value in part.items():
            form, expected = (_OLD_FORMS if is_old else {}).get(keyword) or _FORMS.get(keyword, _ANYTHING)
            if not form(value):
                raise SchemaProblem(f"{_quote(value)} is not {expected}", (position, keyword))
            waiting += ((inner, step, depth + 1) for inner, step in _find_inner(keyword, value, (position, keyword)))
        yield part, position


def _find_inner(keyword: str, value: Any, position: _Place) -> Iterator[tuple[object, _Place]]:
    """Yield the schemas in a keyword's value, with their locations."""
    if keyword in _WITH_ONE and not isinstance(value, list):
        yield value, position
    elif keyword in _WITH_SEVERAL or keyword in _WITH_ONE:
        yield from ((inner, (position, number)) for number, inner in enumerate(value))
    elif keyword in _WITH_NAMED:
        subschemas = (
            (name, inner) for name, inner in value.items() if keyword != "dependencies" or not isinstance(inner, list)
        )
        yield from ((inner, (position, name)) for name, inner in subschemas)


def _quote(value: object) -> str:
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'}{'' if value else ' without content'}"
    return repr(value[:40] if isinstance(value, str) else value)[:60]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_size(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len({*value}) == len(value)


def _are_types(value: object) -> bool:
    if isinstance(value, str):
        return value in _TYPES
    return _are_names(value) and bool(value) and _TYPES.issuperset(value)  # type: ignore[arg-type]


def _are_dependencies(value: object) -> bool:
    return isinstance(value, dict) and all(_are_names(names) for names in value.values() if isinstance(names, list))


def _are_required(value: object) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


_Form = tuple[Callable[[Any], bool], str]
_ANYTHING: _Form = (lambda _: True, "")
_SCHEMA: _Form = (lambda value: isinstance(value, dict | bool), "a schema")
_NAMED: _Form = (_is_object, "an object")
_SIZE: _Form = (_is_size, "a whole number from 0 up")
_NUMBER: _Form = (_is_number, "a number")
_TEXT: _Form = (lambda value: isinstance(value, str), "a string")
_FLAG: _Form = (lambda value: isinstance(value, bool), "true or false")
_SCHEMAS: _Form = (lambda value: isinstance(value, list) and bool(value), "a list of schemas")
_LIST: _Form = (lambda value: isinstance(value, list), "a list")

# fmt: off
_WITH_ONE = frozenset({
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
})
"""Keywords whose value is a schema. In older drafts, ``items`` may be a list of schemas."""
_WITH_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""
_WITH_NAMED = frozenset({
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
})
_FORMS: Mapping[str, _Form] = {
    **dict.fromkeys(_WITH_ONE, _SCHEMA),
    **dict.fromkeys(_WITH_SEVERAL, _SCHEMAS),
    **dict.fromkeys(_WITH_NAMED, _NAMED),
    **dict.fromkeys((
        "$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveRef", "$ref", "$schema",
        "contentEncoding", "contentMediaType", "description", "format", "pattern", "title",
    ), _TEXT),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly"), _FLAG),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _NUMBER),
    **dict.fromkeys((
        "maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength",
        "minProperties",
    ), _SIZE),
    **dict.fromkeys(("enum", "examples"), _LIST),
    "dependencies": (_are_dependencies, "an object of schemas and lists of different strings"),
    "dependentRequired": (_are_required, "an object of lists of different strings"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "required": (_are_names, "a list of different strings"),
    "type": (_are_types, "a type of JSON, or a list of different ones"),
}
_OLD_FORMS: Mapping[str, _Form] = {
    "exclusiveMaximum": (lambda value: isinstance(value, int | float), "a number, true or false"),
    "exclusiveMinimum": (lambda value: isinstance(value, int | float), "a number, true or false"),
    "items": (lambda value: isinstance(value, dict | bool | list), "a schema or a list of schemas"),
}
# fmt: on

"""Validate requests against the types of the openai package.

pydantic drops unknown keys of a ``TypedDict`` and looks into an ``Iterable`` only when it is read. So the keys are
compared with the annotations here, and iterables are read to their end.
"""

from __future__ import annotations

import collections.abc
import fnmatch
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NotRequired, Required, get_origin

from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

CHAT: Any = CompletionCreateParamsStreaming
RESPONSES: Any = ResponseCreateParamsStreaming


@cache
def _adapter(request: Any) -> TypeAdapter[Any]:
    return TypeAdapter(request)


def wrong_type(request: Any, body: object) -> tuple[str, str] | None:
    """Return the path and the reason of the first value of ``body`` that is not of the type ``request``."""
    try:
        _exhaust(_adapter(request).validate_python(body, strict=True))
    except ValidationError as error:
        # The error of an iterable's item knows no path above it. A union has errors for each of its members: those
        # whose own words do not fit, such as another role, say nothing.
        others = {error["loc"][:2] for error in error.errors() if error["type"] == "literal_error"}
        details = [error for error in error.errors() if error["loc"][:2] not in others] or error.errors()
        return ".".join(str(step) for step in details[0]["loc"]), details[0]["msg"]
    return None


def _exhaust(value: Any) -> None:
    if isinstance(value, Mapping):
        value = value.values()
    elif isinstance(value, str | bytes) or not isinstance(value, collections.abc.Iterable):
        return
    for item in value:
        _exhaust(item)


def unknown_keys(request: Any, body: object, also_known: tuple[str, ...] = ()) -> list[str]:
    """Return the paths of keys that ``request`` does not declare, such as ``messages[].name`` with indexes.

    ``also_known`` are patterns of paths, written without indexes; what is below them is known too.
    """

    def is_known(path: str) -> bool:
        plain = "".join(part for index, part in enumerate(path.replace("]", "[").split("[")) if index % 2 == 0)
        return any(fnmatch.fnmatchcase(plain, f"{pattern}{end}") for pattern in also_known for end in ("", ".*"))

    return [path for path in _unknown(body, request, "") if not is_known(path)]


def _unknown(value: Any, annotation: Any, path: str) -> Iterator[str]:
    origin, arguments = get_origin(annotation), typing.get_args(annotation)
    if origin in (Required, NotRequired, typing.Annotated):
        yield from _unknown(value, arguments[0], path)
    elif origin in (typing.Union, types.UnionType):
        results = [list(_unknown(value, member, path)) for member in arguments if _may_be(value, member)]
        yield from min(results, key=len, default=[])
    elif isinstance(value, dict) and is_typeddict(annotation):
        hints = _hints(annotation)
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            if key in hints:
                yield from _unknown(item, hints[key], inner)
            else:
                yield inner
    elif isinstance(value, dict) and len(arguments) == 2:
        for key, item in value.items():
            yield from _unknown(item, arguments[1], f"{path}.{key}")
    elif isinstance(value, list) and len(arguments) == 1:
        for index, item in enumerate(value):
            yield from _unknown(item, arguments[0], f"{path}[{index}]")


@cache
def _hints(annotation: Any) -> dict[str, Any]:
    return typing.get_type_hints(annotation, include_extras=True)


def _may_be(value: Any, annotation: Any) -> bool:
    """Return whether ``value`` can be of a type, by words that distinguish a union's members, such as ``role``."""
    origin, arguments = get_origin(annotation), typing.get_args(annotation)
    if origin in (Required, NotRequired, typing.Annotated):
        return _may_be(value, arguments[0])
    if origin in (typing.Union, types.UnionType):
        return any(_may_be(value, member) for member in arguments)
    if origin is typing.Literal:
        return value in arguments
    if is_typeddict(annotation):
        return isinstance(value, dict) and all(
            _may_be(value[key], hint) for key, hint in _hints(annotation).items() if key in value and _is_word(hint)
        )
    if isinstance(value, list):
        return origin is not None and issubclass(origin, collections.abc.Iterable) and not issubclass(origin, Mapping)
    if isinstance(value, dict):
        return annotation in (dict, object, Any) or (isinstance(origin, type) and issubclass(origin, Mapping))
    return annotation in (object, Any) or (isinstance(annotation, type) and isinstance(value, annotation))


def _is_word(annotation: Any) -> bool:
    while get_origin(annotation) in (Required, NotRequired, typing.Annotated):
        annotation = typing.get_args(annotation)[0]
    return get_origin(annotation) is typing.Literal

"""Signatures and docstrings of tools, from which the schemas and texts for models are made."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, create_model
from pydantic.errors import PydanticSchemaGenerationError

from baton.authoring.errors import CannotLoad
from baton.authoring.functions import read_hints
from baton.authoring.json_schemas import PlainJsonSchema
from baton.domain.agents.guardrail import Refuse
from baton.ports.agents.tools import ToolResult

_UNCHECKED_TYPES = (Any, object, None, type(None), ToolResult)
"""Return types that are unknown or need no conversion."""


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """The arguments that a model gives to a tool."""

    arguments: type[BaseModel]
    """The model that validates and converts the arguments."""
    schema: Mapping[str, Any]
    """The JSON Schema of the arguments."""


def read_signature(function: Callable[..., Any], filled: Collection[str]) -> FunctionSignature:
    """Return the arguments of a function without the parameters that Baton fills, which ``filled`` has by name.

    Raises ``CannotLoad`` for a parameter without a type or that cannot be given by name, and for a type of a parameter
    or of the result that JSON cannot hold.
    """
    name = function.__qualname__
    hints = read_hints(function)
    _check_return(function, hints)
    descriptions = read_docstring(function).parameters
    fields = {}
    for parameter_name, parameter in inspect.signature(function).parameters.items():
        if parameter_name in filled:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or parameter_name.startswith(
            "_"
        ):
            raise CannotLoad(f"{name}: the parameter {parameter_name} cannot be given by name.")
        if parameter_name not in hints:
            raise CannotLoad(f"{name}: the parameter {parameter_name} has no type.")
        _check_type(function, f"the parameter {parameter_name} has the type", hints[parameter_name])
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter_name] = (_add_description(hints[parameter_name], descriptions.get(parameter_name)), default)
    arguments = _make_arguments_model(fields)
    return FunctionSignature(arguments, _make_arguments_schema(name, arguments))


def _add_description(hint: Any, text: str | None) -> Any:
    """Return the type with a description, unless it has one already."""
    if text is None:
        return hint
    if get_origin(hint) is Annotated:
        return Annotated[(get_args(hint)[0], Field(description=text), *hint.__metadata__)]
    return Annotated[hint, Field(description=text)]


def _make_arguments_model(fields: Mapping[str, Any]) -> type[BaseModel]:
    # Aliases allow parameters with names that pydantic reserves, such as those beginning with "model_".
    renamed: dict[str, Any] = {f"p{index}_{name}": value for index, (name, value) in enumerate(fields.items())}
    config = ConfigDict(
        extra="forbid", protected_namespaces=(), alias_generator=lambda field: re.sub(r"^p\d+_", "", field)
    )
    return create_model("arguments", __config__=config, **renamed)


def _make_arguments_schema(name: str, model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the JSON Schema of the arguments of the function ``name``. Raises ``CannotLoad``."""
    try:
        schema = model.model_json_schema(by_alias=True, schema_generator=PlainJsonSchema)
    except PydanticUserError as problem:
        raise CannotLoad(
            f"{name}: a parameter has a type that JSON Schema cannot describe: {problem.message}"
        ) from problem
    schema.pop("title", None)
    return {"properties": {}, **schema}


def _check_type(function: Callable[..., Any], what: str, hint: Any, remedy: str = "") -> None:
    """Raise ``CannotLoad`` for a type that JSON cannot hold. ``what`` and ``remedy`` are parts of the message."""
    try:
        TypeAdapter(hint)
    except PydanticSchemaGenerationError as problem:
        kind_name = hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)
        raise CannotLoad(f"{function.__qualname__}: {what} {kind_name}, which JSON cannot hold.{remedy}") from problem
    except PydanticUserError as problem:
        raise CannotLoad(f"{function.__qualname__}: {what} {hint}: {problem.message}") from problem


def find_result_type(hints: Mapping[str, Any]) -> Any:
    """Return the type of a function's result in its annotations, without its awaitables.

    Return None for an unknown type, and for one that needs no conversion.
    """
    hint = hints.get("return")
    while get_origin(hint) in (Awaitable, Coroutine):
        hint = get_args(hint)[-1]
    return None if hint in _UNCHECKED_TYPES else hint


def _check_return(function: Callable[..., Any], hints: Mapping[str, Any]) -> None:
    """Raise ``CannotLoad`` for a function whose results cannot be sent to a model."""
    if inspect.isasyncgenfunction(function):
        raise CannotLoad(
            f"{function.__qualname__}: it yields, but a tool returns one answer. "
            "`await context.progress(...)` shows steps in between."
        )
    hint = find_result_type(hints)
    if hint is None:
        return
    if get_origin(hint) is AsyncIterator:
        raise CannotLoad(f"{function.__qualname__}: it returns an iterator, but a tool returns one answer.")
    remedy = " Return text, numbers, lists, dictionaries, a dataclass or a pydantic model."
    _check_type(function, "it returns", hint, remedy)


def read_result_schema(function: Callable[..., Any]) -> Mapping[str, Any] | None:
    """Return the JSON Schema of a tool function's result; None if its annotation does not determine it."""
    hint = find_result_type(read_hints(function))
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    # A text may be JSON of any form, so it determines no schema.
    result_types = [kind for kind in kinds if kind not in (*_UNCHECKED_TYPES, str, Refuse)]
    if len(result_types) != 1:
        return None
    try:
        return TypeAdapter(result_types[0]).json_schema(mode="serialization")
    except PydanticUserError:
        return None


_SECTIONS = re.compile(r"^\s*(:param|:type|@param|Args:|Arguments:|Parameters:?|Params:)", re.MULTILINE)
"""The beginnings of sections about parameters."""


@dataclass(frozen=True, slots=True)
class Docstring:
    """The parts of a docstring.

    Sections in the styles of Google, Sphinx and NumPy are read by a library. Elsewhere, ``name: text`` at the beginning
    of a line or of a sentence describes a parameter.
    """

    description: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of parameters, by name."""


def read_docstring(function: Callable[..., Any]) -> Docstring:
    """Return the parts of a function's docstring; empty parts if it has none."""
    text = inspect.getdoc(function) or ""
    names = list(inspect.signature(function).parameters)
    if _SECTIONS.search(text):
        return _read_sections(text)
    return _read_plain(text, names)


def _read_sections(text: str) -> Docstring:
    from docstring_parser import parse  # imported here, because only docstrings with sections need it

    docstring = parse(text)
    parts = (docstring.short_description, docstring.long_description)
    texts = {parameter.arg_name: " ".join((parameter.description or "").split()) for parameter in docstring.params}
    return Docstring("\n\n".join(part for part in parts if part), {name: text for name, text in texts.items() if text})


def _read_plain(text: str, names: Collection[str]) -> Docstring:
    if not names:
        return Docstring(text)
    any_name = "|".join(map(re.escape, names))
    marks = list(re.finditer(rf"(?:^[ \t]*|(?<=[.!?;:])\s+)({any_name}):\s+", text, re.MULTILINE))
    if not marks:
        return Docstring(text)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    general, described = [text[: marks[0].start()].strip()], {}
    for mark, end in zip(marks, ends, strict=True):
        about, _, rest = text[mark.end() : end].partition("\n\n")
        described[mark[1]] = " ".join(about.split())
        general.append(rest.strip())
    return Docstring("\n\n".join(part for part in general if part), described)

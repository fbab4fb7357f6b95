"""Functions that ship with the deployment as tools."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import PydanticSerializationError, to_json

from baton.adapters.tool_source import SourceTool
from baton.domain.tool import PythonTool
from baton.ports.tools import CallContext, ToolFailed, ToolResult

MAX_KNOWN = 2_000
"""Definitions whose functions are kept. Others are imported again."""

CONTEXT = "context"
"""The parameter that gets the ``CallContext``; the model does not see it."""


class CannotLoad(Exception):
    """The function cannot be used as a tool; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    definition: PythonTool
    """Kept alive, so that no other object can get the same ``id()``."""
    function: Callable[..., Any]
    takes_context: bool
    arguments: type[BaseModel] | None
    """Validates and converts the arguments; None to pass them unchanged."""
    schema: Mapping[str, Any]


class PythonTools:
    """Tools that ``python`` definitions declare. Each is imported when it is first offered.

    A definition keeps its function, also when its module is imported again for later definitions.
    """

    def __init__(self, packages: Callable[[], Sequence[str]]) -> None:
        """``packages`` returns those that tools may come from. It is asked whenever one is imported."""
        self._packages = packages
        self._loaded: LRUCache[int, _Loaded] = LRUCache(MAX_KNOWN)

    def origin(self, definition: PythonTool) -> str:
        return "python"

    def endpoint(self, definition: PythonTool) -> str | None:
        return None

    def must_ask(self, definition: PythonTool) -> bool:
        return False

    def may_recover(self, definition: PythonTool) -> bool:
        return False

    async def tools(self, definition: PythonTool) -> Sequence[SourceTool]:
        loaded = await self._load(definition)
        return [SourceTool(definition.name, definition.description, loaded.schema, definition.requires_approval)]

    async def call(
        self, definition: PythonTool, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        loaded = await self._load(definition)
        given = _convert(loaded, arguments) | ({CONTEXT: context} if loaded.takes_context else {})
        if inspect.iscoroutinefunction(loaded.function):
            answer = await loaded.function(**given)
        else:
            # A thread cannot be stopped, so a function that may take long should be a coroutine.
            answer = await asyncio.to_thread(loaded.function, **given)
            if inspect.isawaitable(answer):
                answer = await answer
        return _result(answer)

    async def _load(self, definition: PythonTool) -> _Loaded:
        loaded = self._loaded.get(id(definition))
        if loaded is None:
            # In a thread, because an import may block.
            loaded = self._loaded[id(definition)] = await asyncio.to_thread(self._import, definition)
        return loaded

    def _import(self, definition: PythonTool) -> _Loaded:
        module_name, _, attribute = definition.entry_point.partition(":")
        packages = self._packages()
        if not any(module_name == package or module_name.startswith(f"{package}.") for package in packages):
            named = ", ".join(packages) or "none"
            raise CannotLoad(f"{module_name} is in none of the packages that BATON_TOOL_PACKAGES names ({named}).")
        function = getattr(importlib.import_module(module_name), attribute, None)
        if not callable(function):
            raise CannotLoad(f"{module_name} has no function {attribute}.")
        takes_context = CONTEXT in inspect.signature(function).parameters
        if definition.parameters is not None:
            return _Loaded(definition, function, takes_context, None, definition.parameters)
        arguments = _model_of(function)
        return _Loaded(definition, function, takes_context, arguments, _schema_of(arguments))


def _model_of(function: Callable[..., Any]) -> type[BaseModel]:
    """Return a model with one field for each of the function's parameters, ``context`` aside."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == CONTEXT:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) or name.startswith("_"):
            raise CannotLoad(f"{function.__qualname__}: the parameter {name} cannot be given by name.")
        if name not in hints:
            raise CannotLoad(f"{function.__qualname__}: the parameter {name} has no type.")
        fields[name] = (hints[name], ... if parameter.default is parameter.empty else parameter.default)
    # "model_" and other names of pydantic's own are fine as parameters, hence the aliases.
    renamed = {f"p{index}_{name}": value for index, (name, value) in enumerate(fields.items())}
    config = ConfigDict(
        extra="forbid", protected_namespaces=(), alias_generator=lambda field: re.sub(r"^p\d+_", "", field)
    )
    return create_model("arguments", __config__=config, **renamed)


def _schema_of(model: type[BaseModel]) -> Mapping[str, Any]:
    schema = model.model_json_schema(by_alias=True)
    schema.pop("title", None)
    return {"properties": {}, **schema}


def _convert(loaded: _Loaded, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if loaded.arguments is None:
        return {name: value for name, value in arguments.items() if name != CONTEXT}
    try:
        model = loaded.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}" for problem in error.errors()[:10]
        )
        raise ToolFailed(f"The arguments do not fit: {problems}.", is_refused=True) from None
    return {
        str(field.alias): getattr(model, name)
        for name, field in loaded.arguments.model_fields.items()
        if name in model.model_fields_set
    }


def _result(answer: Any) -> ToolResult:
    if isinstance(answer, ToolResult):
        return answer
    if isinstance(answer, str):
        return ToolResult(answer)
    try:
        return ToolResult(to_json(answer).decode())
    except PydanticSerializationError as error:
        raise ToolFailed("The tool gave an answer that cannot be shown.") from error

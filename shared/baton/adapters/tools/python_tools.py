"""Functions that ship with the deployment as tools."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from baton.adapters.tools.tool_source import SourceTool, ToolSource
from baton.authoring.errors import CannotLoad
from baton.authoring.functions import Filled, Functions, is_of
from baton.authoring.signatures import read_docstring, read_signature
from baton.authoring.tools import Tool
from baton.domain.agents.guardrail import Refuse
from baton.domain.agents.tool import PythonTool
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

MAX_KNOWN = 2_000
"""Definitions whose functions are kept. Others are imported again."""
REFUSED = "The tool refuses this, without a reason."


@dataclass(frozen=True, slots=True)
class _Loaded:
    definition: PythonTool
    """Kept alive, so that no other object can get the same ``id()``."""
    function: Callable[..., Any]
    description: str
    """Its purpose, for the model."""
    requires_approval: bool
    """Whether the definition or the function's own decorator asks for it."""
    declared: PythonTool
    """The definition of the function's own decorator, or ``definition``."""
    filled: Filled
    """The parameters that the model does not see."""
    arguments: type[BaseModel] | None
    """The model that validates and converts the arguments; None to pass them unchanged."""
    schema: Mapping[str, Any]


class PythonTools(ToolSource[PythonTool]):
    """Tools that ``python`` definitions declare. Each is imported when it is first offered.

    A definition keeps its function, even when its module is imported again for later definitions.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._loaded: LRUCache[int, _Loaded] = LRUCache(MAX_KNOWN)

    async def tools(self, definition: PythonTool) -> Sequence[SourceTool]:
        loaded = await self._load(definition)
        tool = SourceTool(
            definition.name,
            loaded.description,
            loaded.schema,
            loaded.requires_approval,
            definition.label or loaded.declared.label,
            definition.asks or loaded.declared.asks,
        )
        if tool.question_problem is not None:
            raise CannotLoad(f"{loaded.function.__qualname__}: {tool.question_problem}.")
        return [tool]

    async def call(
        self, definition: PythonTool, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        loaded = await self._load(definition)
        values = _convert(loaded, arguments)
        result = await self._functions.call(loaded.function, context, values, loaded.filled)
        if isinstance(result, Refuse):
            raise ToolFailed(result.sentence or REFUSED, is_refused=True, state=result.state)
        if isinstance(result, ToolResult):
            return result
        if isinstance(result, str):
            return ToolResult(result)
        try:
            return ToolResult(to_json(result).decode())
        except PydanticSerializationError as error:
            raise ToolFailed(f"The tool's result cannot be written as JSON: {type(result).__name__}.") from error

    async def _load(self, definition: PythonTool) -> _Loaded:
        loaded = self._loaded.get(id(definition))
        if loaded is None:
            # In a thread, because an import may block.
            loaded = self._loaded[id(definition)] = await asyncio.to_thread(self._import, definition)
        return loaded

    def _import(self, definition: PythonTool) -> _Loaded:
        candidate = definition.function or self._find(definition.entry_point)
        function, declared = (
            (candidate.function, candidate.definition) if isinstance(candidate, Tool) else (candidate, definition)
        )
        if missing := set(declared.required_permissions) - set(definition.required_permissions):
            raise CannotLoad(f"{function.__qualname__} requires {', '.join(sorted(missing))}: name it here too.")
        needs_approval = definition.requires_approval or declared.requires_approval
        filled = self._functions.find_filled(function)
        description = definition.description or read_docstring(function).description
        if not description:
            raise CannotLoad(f"{function.__qualname__}: give it a docstring, or the tool a description.")
        arguments: type[BaseModel] | None
        schema: Mapping[str, Any]
        if definition.parameters is not None:
            arguments, schema = None, definition.parameters
        else:
            signature = read_signature(function, filled.names)
            arguments, schema = signature.arguments, signature.schema
        return _Loaded(definition, function, description, needs_approval, declared, filled, arguments, schema)

    def _find(self, entry_point: str) -> Callable[..., Any]:
        module_name, _, attribute = entry_point.partition(":")
        packages = self._functions.packages()
        if not is_of(module_name, packages):
            named = ", ".join(packages) or "none"
            raise CannotLoad(f"{module_name} is in none of the packages that BATON_TOOL_PACKAGES names ({named}).")
        function = getattr(importlib.import_module(module_name), attribute, None)
        if not callable(function):
            raise CannotLoad(f"{module_name} has no function {attribute}.")
        return function  # type: ignore[no-any-return]


def _convert(loaded: _Loaded, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if loaded.arguments is None:
        return {name: value for name, value in arguments.items() if name not in loaded.filled.names}
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

"""Functions that ship with the deployment as tools."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cachetools import LRUCache
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from baton.adapters.tools.tool_source import SourceTool, ToolSource
from baton.authoring.errors import CannotLoad
from baton.authoring.functions import Filled, Functions, is_of
from baton.authoring.signatures import read_docstring, read_signature
from baton.authoring.tools import Tool
from baton.authoring.type_checks import find_problems, list_problems
from baton.domain.agents.guardrail import Refuse
from baton.domain.agents.tool import PythonTool
from baton.domain.json_values import write_canonical_text
from baton.domain.schedules.background_task import MAX_INPUT_BYTES
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.text import count_bytes
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

MAX_LOADED = 2_000
"""The number of definitions whose functions are cached. Others are imported again."""
REFUSED_WITHOUT_REASON = "The tool refuses this, without a reason."


@dataclass(frozen=True, slots=True)
class _LoadedFunction:
    definition: PythonTool
    """Kept alive, so that no other object can get the same ``id()``."""
    function: Callable[..., Any]
    description: str
    """The tool's purpose, for the model."""
    requires_approval: bool
    """Whether the definition or the function's own decorator requires approval."""
    declared: PythonTool
    """The definition of the function's own decorator, or ``definition``."""
    filled: Filled
    """The parameters that the model does not see."""
    arguments: type[BaseModel] | None
    """The model that validates and converts the arguments; None to pass them unchanged."""
    schema: Mapping[str, Any]


class PythonTools(ToolSource[PythonTool]):
    """Tools that ``python`` definitions declare. Each is imported when it is first offered.

    A definition keeps its function even if its module is imported again for later definitions.
    """

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._loaded: LRUCache[int, _LoadedFunction] = LRUCache(MAX_LOADED)

    async def list_tools(self, definition: PythonTool) -> Sequence[SourceTool]:
        loaded = await self._load(definition)
        tool = SourceTool(
            definition.name,
            loaded.description,
            loaded.schema,
            loaded.requires_approval,
            definition.label or loaded.declared.label,
            definition.asks or loaded.declared.asks,
            partial(find_problems, loaded.arguments.model_validate) if loaded.arguments is not None else None,
            definition.background or loaded.declared.background,
        )
        problem = tool.question_problem or ArgumentSchema(loaded.schema).find_label_problem()
        if problem is not None:
            raise CannotLoad(f"{loaded.function.__qualname__}: {problem}.")
        return [tool]

    async def call(
        self, definition: PythonTool, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        loaded = await self._load(definition)
        values = _convert_arguments(loaded, arguments)
        if (definition.background or loaded.declared.background) and context.may_answer_later:
            return _put_off(arguments)
        result = await self._functions.call(loaded.function, context, values, loaded.filled)
        if isinstance(result, Refuse):
            raise ToolFailed(result.sentence or REFUSED_WITHOUT_REASON, is_refused=True, state=result.state)
        if isinstance(result, ToolResult):
            return result
        if isinstance(result, str):
            return ToolResult(result)
        try:
            return ToolResult(to_json(result).decode())
        except PydanticSerializationError as error:
            raise ToolFailed(f"The tool's result cannot be written as JSON: {type(result).__name__}.") from error

    async def read_task(
        self, definition: PythonTool, location: str, context: CallContext, *, deletes: bool
    ) -> ToolResult:
        """Carry out a call that was put off."""
        return await self.call(definition, definition.name, json.loads(location), context)

    async def _load(self, definition: PythonTool) -> _LoadedFunction:
        """Return the definition's function, imported at its first use. Raises as ``_import`` does."""
        loaded = self._loaded.get(id(definition))
        if loaded is None:
            # In a thread, because an import may block.
            loaded = self._loaded[id(definition)] = await asyncio.to_thread(self._import, definition)
        return loaded

    def _import(self, definition: PythonTool) -> _LoadedFunction:
        """Import the function and read its signature. Raises ``CannotLoad`` and errors of the module's own code."""
        candidate = definition.function or self._find_function(definition.entry_point)
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
        return _LoadedFunction(definition, function, description, needs_approval, declared, filled, arguments, schema)

    def _find_function(self, entry_point: str) -> Callable[..., Any]:
        """Import ``module:function``. Raises ``CannotLoad``, even for a module outside the allowed packages."""
        module_name, _, attribute = entry_point.partition(":")
        packages = self._functions.packages()
        if not is_of(module_name, packages):
            package_names = ", ".join(packages) or "none"
            raise CannotLoad(
                f"{module_name} is in none of the packages that BATON_TOOL_PACKAGES names ({package_names})."
            )
        function = getattr(importlib.import_module(module_name), attribute, None)
        if not callable(function):
            raise CannotLoad(f"{module_name} has no function {attribute}.")
        return function  # type: ignore[no-any-return]


def _put_off(arguments: Mapping[str, Any]) -> ToolResult:
    """Return the pending result of a call that a worker carries out later. Its location has the arguments."""
    location = write_canonical_text(dict(arguments))
    if count_bytes(location) > MAX_INPUT_BYTES:
        message = f"The arguments have more than {MAX_INPUT_BYTES // 1024} KB, which is too long for the background."
        raise ToolFailed(message, is_refused=True)
    return ToolResult("", is_pending=True, location=location, is_put_off=True)


def _convert_arguments(loaded: _LoadedFunction, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the function's arguments from JSON values. Raises ``ToolFailed`` if they do not fit their types."""
    if loaded.arguments is None:
        return {name: value for name, value in arguments.items() if name not in loaded.filled.names}
    try:
        model = loaded.arguments.model_validate(dict(arguments))
    except ValidationError as error:  # the caller has not checked the arguments
        problems = "; ".join(map(str, list_problems(error)))
        raise ToolFailed(f"The arguments do not fit: {problems}.", is_refused=True) from None
    return {
        str(field.alias): getattr(model, name)
        for name, field in loaded.arguments.model_fields.items()
        if name in model.model_fields_set
    }

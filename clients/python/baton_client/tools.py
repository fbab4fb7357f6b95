"""Functions of this program that an agent may call ("client tools"), and decisions on calls that wait for a person."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_json

from baton_client.errors import ConfigurationError
from baton_client.run_result import Interrupt

Approve = Callable[[Interrupt], bool | str | Awaitable[bool | str]]
"""A function that decides on a call: ``True`` agrees, ``False`` refuses, and a text refuses with a reason."""

MAX_RESULT_BYTES = 32 * 1024
"""The largest size of a result's JSON; the server refuses more."""


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A function that the agent may call while this program follows the run."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of type object."""
    function: Callable[..., Any]
    arguments: type[BaseModel]
    """The model that checks and converts the arguments."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def to_wire(self) -> dict[str, Any]:
        """Return the tool as the server takes it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def parse_arguments(self, arguments: str) -> dict[str, Any]:
        """Return the function's arguments. Raises ``ValueError``, whose message explains the problem to the model."""
        try:
            model = self.arguments.model_validate_json(arguments or "{}")
        except ValidationError as problem:
            wrong = (
                f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in problem.errors(include_url=False)
            )
            raise ValueError("; ".join(wrong)) from problem
        return {name: getattr(model, name) for name in type(model).model_fields}


@overload
def client_tool(function: Callable[..., Any]) -> ClientTool: ...
@overload
def client_tool(
    *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[..., Any]], ClientTool]: ...


def client_tool(
    function: Callable[..., Any] | None = None, *, name: str | None = None, description: str | None = None
) -> ClientTool | Callable[[Callable[..., Any]], ClientTool]:
    """Make a function a tool: its name, docstring and annotated parameters are what the model sees.

    Raises ``ConfigurationError`` if there is no description, or parameters cannot be given by name.
    """
    if function is None:
        return lambda decorated: _make_tool(decorated, name, description)
    return _make_tool(function, name, description)


def _make_tool(function: Callable[..., Any], name: str | None, description: str | None) -> ClientTool:
    tool_name = name or function.__name__
    purpose = description or inspect.getdoc(function)
    if not purpose:
        raise ConfigurationError(f"Give {tool_name} a docstring: the model learns from it what the tool does.")
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ConfigurationError(f"{tool_name}: a tool's parameters have names; *args and **kwargs have none.")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, Any), default)
    arguments = create_model(tool_name, __config__=ConfigDict(extra="forbid"), **fields)
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    return ClientTool(tool_name, purpose, {"properties": {}, **schema}, function, arguments)


def as_payload(result: Any) -> Any:
    """Return a tool's result as JSON values. Raises ``ValueError`` if it cannot be JSON, or is too large."""
    encoded = to_json(result)
    if len(encoded) > MAX_RESULT_BYTES:
        raise ValueError(f"The result has {len(encoded):,} bytes; at most {MAX_RESULT_BYTES:,} are taken.")
    return json.loads(encoded)

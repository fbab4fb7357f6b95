"""``@tool``: functions that agents may call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from baton.authoring.errors import WrongArgument
from baton.authoring.signatures import read_docstring
from baton.domain.agents.tool import PythonTool

P = ParamSpec("P")
R = TypeVar("R")

Approval = Literal["never", "always"]


class Tool(Generic[P, R]):
    """A function as a tool of agents. A call of the tool calls the function."""

    def __init__(self, function: Callable[P, R], definition: PythonTool) -> None:
        update_wrapper(self, function)
        self.function = function
        self.definition = definition

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.definition.name}>"


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = "never",
    asks: str | None = None,
    label: str | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
    parameters: Mapping[str, Any] | None = None,
    background: bool | Mapping[str, Any] = False,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = "never",
    asks: str | None = None,
    label: str | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
    parameters: Mapping[str, Any] | None = None,
    background: bool | Mapping[str, Any] = False,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Make a function a tool: the model sees its name, its docstring and its annotated parameters.

    A parameter that is named ``context`` or annotated as ``CallContext`` gets the user and the turn. A parameter with
    the type of a ``resource`` gets its object. The model sees neither.

    Args:
        name: Its name for models. Default: the function's.
        description: Its purpose. Default: the docstring without the texts about parameters.
        approval: ``always`` if a person must agree to each call.
        asks: The question for that person, with placeholders for arguments: ``Book {days} days[ of {kind}]?`` Text in
            square brackets is left out if its argument is. Default: the agent's sentence ``approval_needed``.
        label: Its name for people: ``Bike booking``. Default: its name for models.
        required_permissions: The permissions a user needs. Without all of them, the tool does not exist for the user.
        timeout_seconds: The time limit of one call.
        parameters: JSON Schema of the arguments, which are then passed without conversion. Default: a schema of the
            annotations, whose types also convert the arguments.
        background: Whether a worker carries the calls out while the user continues the conversation: ``True``, or
            ``{"expires_hours": 24}``.

    Raises:
        WrongArgument: The approval is unknown, ``asks`` is given without an approval, or there is no description.
        pydantic.ValidationError: Another argument is wrong. The import of the agents names file and line of each.
    """

    def make(decorated: Callable[P, R]) -> Tool[P, R]:
        if approval not in ("never", "always"):
            raise WrongArgument(f"approval is {approval!r}; it is 'never' or 'always'")
        if asks is not None and approval == "never":
            raise WrongArgument("asks is the question of an approval: add approval='always'")
        tool_name = name or decorated.__name__
        fields: dict[str, Any] = {
            "type": "python",
            "name": tool_name,
            "description": description or read_docstring(decorated).description,
            "entry_point": _format_entry_point(decorated, tool_name),
            "parameters": parameters,
            "requires_approval": approval == "always",
            "asks": asks,
            "label": label,
            "required_permissions": tuple(required_permissions),
            "timeout_seconds": timeout_seconds,
            "background": background,
        }
        if not fields["description"]:
            raise WrongArgument(f"give {tool_name} a docstring: the model learns from it what the tool does")
        definition = PythonTool.model_validate({key: value for key, value in fields.items() if value is not None})
        return Tool(decorated, definition.of(decorated))

    return make if function is None else make(function)


def _format_entry_point(function: Callable[..., Any], name: str) -> str:
    """Return the name of the function with its module, for people who read definitions. It is not used for imports."""
    path = f"{function.__module__}:{function.__name__}"
    is_plain = re.fullmatch(r"[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)*:[a-zA-Z_]\w*", path) is not None
    return path if is_plain else "agents:" + re.sub(r"\W", "_", f"_{name}")

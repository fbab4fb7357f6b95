"""Annotations of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from baton.authoring.errors import CannotLoad
from baton.ports.tools import TurnContext

CONTEXT = "context"
"""The parameter that gets the context even if it has no annotation; the model does not see it."""


def is_context(name: str, hint: Any) -> bool:
    """Return whether a parameter gets the context of the turn or the call."""
    return name == CONTEXT or (isinstance(hint, type) and issubclass(hint, TurnContext))


def read_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function. Raises ``CannotLoad`` if one names what is not there."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError) as problem:
        raise CannotLoad(f"{function.__qualname__}: its annotations cannot be read: {problem}.") from problem

"""The declaration of the call that completes a workflow."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PrivateAttr, StringConstraints, model_validator

from baton.domain.definition import Definition

Source = Annotated[str, StringConstraints(pattern=r"^([A-Za-z][A-Za-z0-9_]{0,63}\.)?[A-Za-z0-9_-]{1,64}$")]
"""A field that one state collects, ``state.field``, or a state for all of its data."""


class Completion(Definition):
    """The tool that Baton calls when a workflow reaches its end. The file may give its name only.

    The workflow is completed once the call has succeeded. If the tool refuses, the model gets the reason.
    """

    tool: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """One of the agent's tools. Its model cannot call it."""
    arguments: dict[str, Source] = Field(default_factory=dict)
    """The sources of arguments whose names are neither a field nor a state."""
    back_to: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")
    """The state to return to if the tool refuses. Default: the workflow stays in the state before its end."""
    _function: Any = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, value: Any) -> Any:
        return {"tool": value} if isinstance(value, str) else value

    @property
    def function(self) -> Any:
        """The definition of the tool if it is a function of a workflow in Python; None otherwise."""
        return self._function

    def of(self, function: Any) -> Completion:
        """Note the tool's definition, for a tool that is a Python function, and return the completion."""
        self._function = function
        return self

"""A data set: one case a line, in JSON."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BeforeValidator, Field, model_validator

from baton_testing.actions import Action, Part
from baton_testing.conversation_test import ToolStub, User
from baton_testing.evals.checks import AnyCheck, Equals, JsonEquals, Similarity

MAX_TURNS = 50


def _as_turns(value: Any) -> Any:
    return (value,) if isinstance(value, str | dict) else value


def _as_turn(value: Any) -> Any:
    return {"say": value} if isinstance(value, str) else value


_Turn = Annotated[Action, BeforeValidator(_as_turn, json_schema_input_type=str | Action)]
_Turns = Annotated[tuple[_Turn, ...], Field(min_length=1, max_length=MAX_TURNS)]


class EvalCase(Part):
    """One case: a conversation, and the checks of its last answer and of its tool calls."""

    name: str = Field(min_length=1, max_length=200)
    """Unique in a run. Cases of two runs are paired by their names."""
    input: Annotated[_Turns, BeforeValidator(_as_turns, json_schema_input_type=str | Action | _Turns)]
    """One message, or a list of actions: messages, decisions, actions of people at desks, and time that passes."""
    agent: str | None = None
    """The main agent; absent: the default."""
    user: User = User()
    """The user who talks. With ``--url`` it is the user of the token."""
    begins_at: AwareDatetime | None = None
    """The time at which the conversation begins, such as one at which a desk is open. Absent: now, or with a scripted
    model that of conversation tests."""
    expected: Any = None
    """The expected answer, a text or a JSON value, for the checks that compare with it."""
    reference: str | None = None
    """An answer to compare with by eye, such as the one that was given when the case was collected. No check reads it,
    but a judge is shown it."""
    checks: tuple[AnyCheck, ...] = Field(default=(), max_length=50)
    """Without checks a case passes if no error ends its runs."""
    tools: dict[str, ToolStub] = Field(default_factory=dict)
    """Stubs of tools, by their names."""
    reach: tuple[str, ...] = ()
    """Tools and servers outside that are really called. Python functions are, unless they are stubbed."""
    tags: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(default=(), max_length=20)
    """Words by which cases are chosen."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Anything else; it is shown in results."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.input[0].say is None and not self.input[0].desk:
            raise ValueError("input: the first turn is a message, or asks for a desk")
        names = [check.name for check in self.checks if check.name is not None]
        if len(names) != len(set(names)):
            raise ValueError("checks: two have the same name")
        for check in self.checks:
            if isinstance(check, Equals | Similarity):
                text = check.text if isinstance(check, Equals) else check.to
                if text is None and not isinstance(self.expected, str):
                    raise ValueError(f"checks: {check.type} needs a text, its own or that of expected")
            fields = {*self.model_fields_set, *check.model_fields_set}
            if isinstance(check, JsonEquals) and not fields & {"value", "expected"}:
                raise ValueError("checks: json_equals needs a value, its own or that of expected")
        compares = any(check.type in {"equals", "similarity", "json_equals", "judge"} for check in self.checks)
        if self.expected is not None and not compares:
            raise ValueError('expected: no check compares with it. Add {"type": "similarity"} to checks, for example')
        return self

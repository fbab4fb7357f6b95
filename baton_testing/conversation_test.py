"""A file of conversation tests: messages, the model's answers, and expectations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BeforeValidator, Field, field_validator, model_validator

from baton.domain.tenants.identity import PermissionName
from baton.domain.times import is_time_zone
from baton_testing.actions import Action, Part
from baton_testing.matching import matches_partly
from baton_testing.models.answering import MODEL_ERRORS


class ModelKind(StrEnum):
    """The kind of model that answers in a test."""

    SCRIPTED = "scripted"
    """The answers in the test, or a script of the demo model."""
    RECORDED = "recorded"
    """The answers in the cassette next to the file."""
    REAL = "real"
    """The model at the endpoint that the environment names."""


def _to_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) or value is None else (value,)


_Word = Annotated[str, Field(min_length=1)]
Words = Annotated[tuple[_Word, ...], BeforeValidator(_to_list, json_schema_input_type=_Word | tuple[_Word, ...])]
"""One text, or a list of texts."""


class Expectation(Part):
    """An expectation of a step, or of the whole conversation. Every field that is given is checked."""

    tool: str | None = None
    """A tool that must have been called."""
    arguments: dict[str, Any] | None = None
    """Arguments that the call must have; it may have others too."""
    by: str | None = None
    """The agent that must have called it."""
    times: int | None = Field(default=None, ge=0)
    """The exact number of its calls."""
    no_tool: Words = ()
    """Tools that must not have been called."""
    consulted: Words = ()
    """Agents that must have been asked by another one."""
    not_consulted: Words = ()
    """Agents that must not have been asked."""
    handoff: str | None = None
    """The agent that the conversation must have been handed over to."""
    no_handoff: bool = False
    """True if the conversation must not have been handed over."""
    returned: bool = False
    """True if a handoff must have ended."""
    workflow: str | None = None
    """The state that the workflow must have entered, or be in at the end."""
    approval: str | None = None
    """The tool for which a person must have been asked."""
    asks: Words = ()
    """Words that the question for that person, or its list of arguments, must have."""
    answered_by: str | None = None
    """The agent that must have spoken last, and no person after it."""
    says: Words = ()
    """Words that agents, or people of a desk, must have said; upper and lower case are the same."""
    says_not: Words = ()
    """Words that agents, and people of a desk, must not have said; upper and lower case are the same."""
    matches: str | None = None
    """A regular expression that must match somewhere in what agents, or people of a desk, have said."""
    result: dict[str, Any] | None = None
    """Fields that the last structured answer must have; it may have others too."""
    error: str | None = None
    """The code of the error that the run must end with. Without this field, every error is a failure."""
    closed: bool | None = None
    """True if the conversation must have been closed, false if it must not."""
    desk: Literal["waiting", "active"] | None = None
    """The status that the conversation must have at a desk; null: it must be at none."""
    delivered: bool | None = None
    """True if a message must have gone to the people of a desk, false if none may have."""
    begun_by: Literal["schedule", "event", "task"] | None = None
    """The cause of a run that must have begun by itself; null: none may have."""
    spoken_by: str | None = None
    """The name of the person who must have written to the user."""
    steered: bool | None = None
    """True if a message must have entered the run, false if none may have."""
    interrupted: bool | None = None
    """True if the run must have been stopped, false if it may not."""
    withdrawn: bool | None = None
    """True if a message must have been withdrawn before it had a turn, false if none may have."""
    max_tokens: int | None = Field(default=None, ge=1)
    """The most tokens that all model calls may use together."""
    max_milliseconds: float | None = Field(default=None, gt=0)
    """The most time that Baton itself may compute, without models and tools."""

    @field_validator("matches")
    @classmethod
    def _is_an_expression(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as problem:
            raise ValueError(f"is no regular expression: {problem}") from None
        return pattern

    @model_validator(mode="after")
    def _expects_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("expects nothing: name a tool, words or another field")
        if self.tool is None and self.model_fields_set & {"arguments", "by", "times"}:
            raise ValueError("arguments, by and times are about a tool: name it")
        return self


Expectations = Annotated[
    tuple[Expectation, ...], BeforeValidator(_to_list, json_schema_input_type=Expectation | tuple[Expectation, ...])
]
"""One expectation, or a list."""


def _as_answer(value: Any) -> Any:
    if isinstance(value, Mapping) and len(value) == 1 and not value.keys() & ScriptedAnswer.model_fields.keys():
        (tool, arguments) = next(iter(value.items()))
        if isinstance(arguments, Mapping):
            raise ValueError(f"write the call of a tool as `call: {{{tool}: {{ARGUMENT: VALUE}}}}`")
    return {"say": value} if isinstance(value, str) else value


class ScriptedAnswer(Part):
    """One answer of the scripted model. A text alone is its ``say``."""

    agent: str | None = None
    """The agent that gets it; absent: the next one that asks."""
    task: str | None = None
    """The task for which Baton itself asks the model, such as ``handoff_summary``; absent: an agent's answer."""
    say: str = ""
    call: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Tools that are called at once, with their arguments."""
    fail: str | None = None
    """The code of the error that the model fails with, such as ``model_timeout``."""
    input_tokens: int = Field(default=10, ge=0)
    output_tokens: int = Field(default=2, ge=0)

    @model_validator(mode="after")
    def _answers_something(self) -> Self:
        if not (self.say or self.call or self.fail):
            raise ValueError("answers nothing: give it say, call or fail")
        if self.fail is not None and self.fail not in MODEL_ERRORS:
            raise ValueError(f"no model fails with {self.fail!r}. Available: {', '.join(sorted(MODEL_ERRORS))}")
        return self


Answers = tuple[
    Annotated[ScriptedAnswer, BeforeValidator(_as_answer, json_schema_input_type=str | ScriptedAnswer)], ...
]


class Outcome(Part):
    """The end of a call of a stub: one of ``returns``, ``fails`` and ``refuses``."""

    returns: Any = None
    """The answer: text, or any other JSON value."""
    fails: str | None = None
    """The error that the model gets."""
    refuses: str | None = None
    """The reason for which the tool refuses, as a function does with ``Refuse``."""
    state: str | None = None
    """With ``refuses``, of a tool that completes a workflow: the state that the workflow goes back to."""

    @model_validator(mode="after")
    def _ends_in_one_way(self) -> Self:
        if len(self.model_fields_set & {"returns", "fails", "refuses"}) > 1:
            raise ValueError("a call ends with one of returns, fails and refuses")
        if self.state is not None and self.refuses is None:
            raise ValueError("state goes with refuses")
        return self


class Case(Outcome):
    """The answer of a stub to calls with certain arguments."""

    when: dict[str, Any] = Field(default_factory=dict)
    """Arguments that the call must have; absent: any call."""


class ToolStub(Outcome):
    """A tool that the test answers, so that nothing is reached. Calls that fit no case get the stub's own outcome."""

    cases: tuple[Case, ...] = ()
    """Answers by arguments; the first that fits counts."""
    server: str | None = None
    """The MCP server that has the tool, by its name in the agent's file; absent: the file declares the tool itself."""
    description: str = "A tool."
    """For tools of a server."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of its arguments, for tools of a server."""
    requires_approval: bool | None = None
    """True if a person must agree; absent: as the agent's file says."""

    def answer_to(self, arguments: dict[str, Any]) -> Case | None:
        """Return the first case that fits a call, otherwise the stub's own outcome; None if it has only cases.

        A stub without cases and outcome answers every call with null.
        """
        if (fitting := next((case for case in self.cases if matches_partly(arguments, case.when)), None)) is not None:
            return fitting
        otherwise = self.model_dump(include=set(Outcome.model_fields), exclude_unset=True)
        return Case.model_validate(otherwise) if otherwise or not self.cases else None


class Step(Action):
    """One action of a test, the answers of the model, and the expectations."""

    answers: Answers = ()
    """The answers of the scripted model, in order."""
    expect: Expectations = ()


class User(Part):
    """The user who talks."""

    id: str = "ada"
    tenant: str = "acme"
    permissions: tuple[PermissionName, ...] = ()
    time_zone: str | None = None
    """The user's time zone, which decides what today is. Absent: it is not known, and the days are those of UTC."""

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        if name is not None and not is_time_zone(name):
            raise ValueError("is no time zone of IANA's, such as Europe/Vienna")
        return name


class ConversationTest(Part):
    """One conversation. Either its steps are given, or a model plays the user: ``persona``, ``goal`` and ``judge``."""

    name: str = Field(min_length=1, max_length=200)
    agent: str | None = None
    """The main agent; absent: the project's default."""
    user: User | None = None
    """The user who talks; absent: the file's."""
    tools: dict[str, ToolStub] = Field(default_factory=dict)
    """Stubs besides the file's, or instead of those of the same name."""
    steps: tuple[Step, ...] = ()
    persona: str | None = None
    """A description of the user, for the model that plays it."""
    goal: str | None = None
    """The aim of the user."""
    judge: str | None = None
    """The rule by which the conversation counts as passed, for the model that decides."""
    answers: Answers = ()
    """With a persona: the answers of the scripted model, in order."""
    max_turns: int = Field(default=8, ge=1, le=50)
    """The most messages of the persona."""
    runs: int = Field(default=1, ge=1, le=100)
    """The number of times that the conversation is held."""
    passes: int | None = Field(default=None, ge=1)
    """The number of runs that must pass; absent: all."""
    expect: Expectations = ()
    """Expectations of the conversation as a whole."""

    @model_validator(mode="after")
    def _has_a_user(self) -> Self:
        fields = {"persona": self.persona, "goal": self.goal, "judge": self.judge}
        if self.steps and any(fields.values()):
            raise ValueError("has steps, or a persona with goal and judge, not both")
        if not self.steps and not all(fields.values()):
            missing = ", ".join(name for name, value in fields.items() if not value)
            raise ValueError(f"needs steps, or a persona with goal and judge (missing: {missing})")
        if self.steps and self.answers:
            raise ValueError("move answers to the step that needs them; a conversation has answers only with a persona")
        if self.passes is not None and self.passes > self.runs:
            raise ValueError("passes cannot be more than runs")
        return self

    @property
    def is_played(self) -> bool:
        """Whether a model plays the user."""
        return self.persona is not None


class ConversationFile(Part):
    """A file of conversation tests."""

    model: ModelKind | None = None
    """The kind of model; absent: recorded if there is a cassette, and neither answers nor a script; else scripted."""
    script: str | None = None
    """A script of the demo model that answers where a test gives no answers; by its path from this file."""
    user: User = User()
    begins_at: AwareDatetime = datetime(2030, 1, 7, 9, tzinfo=UTC)
    """The time at which the conversations begin. Time passes only where a step waits."""
    tools: dict[str, ToolStub] = Field(default_factory=dict)
    reach: tuple[str, ...] = ()
    """Tools and servers outside, by their names in agents' files, that are really called. Python functions are, unless
    they are stubbed."""
    conversations: tuple[ConversationTest, ...] = Field(min_length=1)

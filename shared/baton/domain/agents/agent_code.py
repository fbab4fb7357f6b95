"""The functions that an agent has when it is written in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from baton.domain.agents.guardrail import OnFailure
from baton.domain.schemas.type_check import TypeCheck

MAX_HOOKS = 8
"""Functions of one agent at one point."""


class HookPoint(StrEnum):
    """The place in an agent's work where a function is called."""

    INPUT_GUARDRAIL = "input_guardrail"
    OUTPUT_GUARDRAIL = "output_guardrail"
    BEFORE_MODEL = "before_model"
    AFTER_MODEL = "after_model"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    ON_HANDOFF = "on_handoff"


HOOK_ARGUMENTS: dict[HookPoint, tuple[str, ...]] = {
    HookPoint.INPUT_GUARDRAIL: ("text", "origin"),
    HookPoint.OUTPUT_GUARDRAIL: ("text", "before", "is_last"),
    HookPoint.BEFORE_MODEL: ("messages",),
    HookPoint.AFTER_MODEL: ("text", "calls"),
    HookPoint.BEFORE_TOOL: ("name", "arguments"),
    HookPoint.AFTER_TOOL: ("name", "arguments", "result"),
    HookPoint.ON_HANDOFF: ("agent", "reason", "summary"),
}
"""The parameters that a hook may have at each point, besides the context and resources."""

RUN_ARGUMENTS = ("message",)
"""The parameters that ``run`` may have, besides the context and resources."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that is called at a point of the agent's work."""

    point: HookPoint
    function: Callable[..., Any]
    on_failure: OnFailure
    timeout_seconds: float

    @property
    def name(self) -> str:
        """The function's name, for records and metadata."""
        return getattr(self.function, "__name__", "hook")


@dataclass(slots=True)
class AgentCode:
    """The functions of one agent. They are set while its module is imported, and never afterwards."""

    prompt: Callable[..., Any] | None = None
    """Computes a part of the prompt for each turn: takes a ``TurnContext`` and returns text."""
    hooks: list[Hook] = field(default_factory=list)
    """The hooks, in the order in which they are called."""
    run: Callable[..., Any] | None = None
    """Answers in place of the model: a coroutine that takes a ``RunContext`` and the message."""
    answer_check: TypeCheck | None = None
    """Checks its JSON answers by their Python type, besides the schema."""

    @property
    def functions(self) -> list[tuple[Callable[..., Any], tuple[str, ...]]]:
        """All functions, each with the arguments that it may have besides the context and resources."""
        own: list[tuple[Callable[..., Any], tuple[str, ...]]] = []
        if self.prompt is not None:
            own.append((self.prompt, ()))
        if self.run is not None:
            own.append((self.run, RUN_ARGUMENTS))
        return [*own, *((hook.function, HOOK_ARGUMENTS[hook.point]) for hook in self.hooks)]

    @property
    def names(self) -> list[str]:
        """The functions' names for people: ``run``, ``prompt``, and hooks such as ``before_tool check_amount``."""
        own = [name for name, function in (("run", self.run), ("prompt", self.prompt)) if function is not None]
        return [*own, *(f"{hook.point.value} {hook.name}" for hook in self.hooks)]

    def of_model(self, answer_check: TypeCheck | None) -> AgentCode:
        """Return a copy with only the prompt, the hooks around the model's requests, and ``answer_check``."""
        around = (HookPoint.BEFORE_MODEL, HookPoint.AFTER_MODEL)
        hooks = [hook for hook in self.hooks if hook.point in around]
        return AgentCode(self.prompt, hooks, answer_check=answer_check)

    def at(self, point: HookPoint) -> list[Hook]:
        """Return the hooks of a point."""
        return [hook for hook in self.hooks if hook.point is point]

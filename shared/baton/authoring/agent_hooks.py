"""Decorators of an agent's hooks and guardrails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

from baton.authoring.errors import WrongArgument
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_code import MAX_HOOKS, Hook, HookPoint
from baton.domain.agents.guardrail import OnFailure

F = TypeVar("F", bound=Callable[..., Any])

Failure = OnFailure | Literal["closed", "open"]
MAX_SECONDS = 60.0


class HookDecorator:
    """A decorator for a point of an agent's work: ``@agent.point`` or ``@agent.point(on_failure="open")``."""

    def __init__(self, agent: AgentDefinition, point: HookPoint) -> None:
        self._agent = agent
        self._point = point

    @overload
    def __call__(self, function: F, /) -> F: ...
    @overload
    def __call__(self, /, *, on_failure: Failure = "closed", timeout_seconds: float = 10) -> Callable[[F], F]: ...

    def __call__(self, function: Any = None, /, *, on_failure: Failure = "closed", timeout_seconds: float = 10) -> Any:
        """Add the function to the agent. It may be a coroutine, and may take a ``TurnContext`` and resources.

        All decorators of hooks and guardrails take these arguments.

        Args:
            function: The function.
            on_failure: ``closed`` if its failure counts as a refusal, ``open`` if the turn goes on then.
            timeout_seconds: The time limit of one call, at most 60.

        Raises:
            WrongArgument: An argument is wrong, the point has 8 functions already, or the agent is a remote one.
        """
        if self._agent.remote is not None:
            raise WrongArgument("hooks and guardrails are for agents of this deployment, and not for remote ones")
        if on_failure not in tuple(OnFailure):
            raise WrongArgument(f"on_failure is {on_failure!r}; it is 'closed' or 'open'")
        if not 0 < timeout_seconds <= MAX_SECONDS:
            raise WrongArgument(f"timeout_seconds is {timeout_seconds}; at most {MAX_SECONDS:g} are possible")

        def add(hook: F) -> F:
            if len(self._agent.code.at(self._point)) >= MAX_HOOKS:
                raise WrongArgument(f"an agent has at most {MAX_HOOKS} functions for {self._point.value}")
            self._agent.code.hooks.append(Hook(self._point, hook, OnFailure(on_failure), timeout_seconds))
            return hook

        return add if function is None else add(function)


class HookDecorators:
    """The points of an agent's work to which functions can be added."""

    definition: AgentDefinition

    @property
    def input_guardrail(self) -> HookDecorator:
        """Judge the user's ``text``, and other texts of callers before they reach a prompt.

        ``origin`` is ``question`` for the user's text, which is judged during the first request to the model. Others
        are ``file``, ``page``, ``handoff``, ``history`` and ``memory``; of these, refused ones are left out.

        Nothing is shown and no tool is called before all have allowed it. ``Replace(text)`` is what the model gets, and
        what is stored. ``Refuse(sentence)`` ends the turn with the sentence.
        """
        return HookDecorator(self.definition, HookPoint.INPUT_GUARDRAIL)

    @property
    def output_guardrail(self) -> HookDecorator:
        """Judge the answer before it is shown, in windows of some sentences.

        ``text`` is the window, ``before`` the text that was allowed before it, and ``is_last`` is true for the last
        one. ``Replace(text)`` is shown instead. ``Refuse(sentence)`` takes the answer back and shows the sentence.
        """
        return HookDecorator(self.definition, HookPoint.OUTPUT_GUARDRAIL)

    @property
    def before_model(self) -> HookDecorator:
        """Inspect each request to the model before it is sent: ``messages``, a list of ``{role, text}``.

        A text that it returns is added as an instruction to this request. ``Refuse(sentence)`` ends the turn, and
        ``HandOver(agent)`` hands the conversation over, without a request.
        """
        return HookDecorator(self.definition, HookPoint.BEFORE_MODEL)

    @property
    def after_model(self) -> HookDecorator:
        """Inspect each answer of the model: ``text`` and ``calls``, a list of ``{name, arguments}``.

        An answer that its user stops, that is too long or whose model fails has no calls.

        ``Refuse(sentence)`` takes the answer back, makes none of the calls and ends the turn. ``HandOver(agent)`` does
        so too, and hands the conversation over.
        """
        return HookDecorator(self.definition, HookPoint.AFTER_MODEL)

    @property
    def before_tool(self) -> HookDecorator:
        """Inspect each call of a tool or another agent before it is made: ``name`` and ``arguments``.

        Nobody is shown the arguments before. ``Replace(arguments)`` makes the call with others, which are also those
        that a person approves. ``Refuse(sentence)`` makes none, and the model gets the sentence.
        """
        return HookDecorator(self.definition, HookPoint.BEFORE_TOOL)

    @property
    def after_tool(self) -> HookDecorator:
        """Inspect the result of each call of a tool or another agent: ``name``, ``arguments`` and ``result``, a text.

        ``Replace(text)`` is what the model gets and what is stored. With ``Refuse(sentence)``, the model gets that.
        """
        return HookDecorator(self.definition, HookPoint.AFTER_TOOL)

    @property
    def on_handoff(self) -> HookDecorator:
        """Inspect each handoff before it is made: the id of the ``agent``, ``reason`` and ``summary``.

        With ``Refuse(sentence)`` the conversation stays where it is.
        """
        return HookDecorator(self.definition, HookPoint.ON_HANDOFF)

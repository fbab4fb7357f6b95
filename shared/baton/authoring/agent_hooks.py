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
"""The maximum time limit of a call of a hook, in seconds."""


def check_answers_here(agent: AgentDefinition, what: str) -> None:
    """Raise ``WrongArgument`` if the agent has neither a model nor code here, so that nothing would call a function.

    ``what`` begins the message, such as ``run is``.
    """
    if agent.remote is not None:
        raise WrongArgument(f"{what} for agents of this deployment, and not for remote ones")
    if agent.desk is not None:
        raise WrongArgument(f"{what} for agents with a model or code, and not for desks")


class HookDecorator:
    """A decorator that adds functions to a point of an agent's work.

    It is used as ``@agent.point`` or ``@agent.point(on_failure="open")``.
    """

    def __init__(self, agent: AgentDefinition, point: HookPoint) -> None:
        self._agent = agent
        self._point = point

    @overload
    def __call__(self, function: F, /) -> F: ...
    @overload
    def __call__(self, /, *, on_failure: Failure = "closed", timeout_seconds: float = 10) -> Callable[[F], F]: ...

    def __call__(self, function: Any = None, /, *, on_failure: Failure = "closed", timeout_seconds: float = 10) -> Any:
        """Add the function to the agent. All decorators of hooks and guardrails take these arguments.

        Args:
            function: The function. It may be a coroutine, and may take a ``TurnContext`` and resources.
            on_failure: ``closed`` if its failure counts as a refusal, ``open`` if the turn continues after a failure.
            timeout_seconds: The time limit of one call, at most 60.

        Raises:
            WrongArgument: An argument is wrong, the point has 8 functions already, or the agent is remote or a desk.
        """
        check_answers_here(self._agent, "hooks and guardrails are")
        if on_failure not in tuple(OnFailure):
            raise WrongArgument(f"on_failure is {on_failure!r}; it is 'closed' or 'open'")
        if not 0 < timeout_seconds <= MAX_SECONDS:
            raise WrongArgument(f"timeout_seconds is {timeout_seconds}; it is more than 0 and at most {MAX_SECONDS:g}")

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
        """Judge the user's ``text``, and other texts from outside before they are added to a prompt.

        ``origin`` is ``question`` for the user's text, which is judged during the first request to the model. Other
        origins are ``file``, ``page``, ``handoff``, ``history`` and ``memory``. Refused texts of these are left out of
        the prompt.

        Nothing is shown and no tool is called before all input guardrails have allowed the user's text. The model gets
        the text of ``Replace(text)``, which is also stored. ``Refuse(sentence)`` ends the turn with the sentence.
        """
        return HookDecorator(self.definition, HookPoint.INPUT_GUARDRAIL)

    @property
    def output_guardrail(self) -> HookDecorator:
        """Judge the answer before it is shown, in windows of some sentences.

        ``text`` is the window, ``before`` is the text that was allowed before the window, and ``is_last`` is true for
        the last window. ``Replace(text)`` is shown instead of the window. ``Refuse(sentence)`` removes the answer and
        shows the sentence.
        """
        return HookDecorator(self.definition, HookPoint.OUTPUT_GUARDRAIL)

    @property
    def before_model(self) -> HookDecorator:
        """Inspect each request to the model before it is sent: ``messages``, a list of ``{role, text}``.

        If the function returns a text, it is added as an instruction to this request. ``Refuse(sentence)`` ends the
        turn, and ``HandOver(agent)`` hands the conversation over. In both cases the request is not sent.
        """
        return HookDecorator(self.definition, HookPoint.BEFORE_MODEL)

    @property
    def after_model(self) -> HookDecorator:
        """Inspect each answer of the model: ``text`` and ``calls``, a list of ``{name, arguments}``.

        There are no calls if the user has stopped the answer, if it is too long, or if the model has failed.

        ``Refuse(sentence)`` removes the answer, makes none of the calls and ends the turn. ``HandOver(agent)`` does the
        same and hands the conversation over.
        """
        return HookDecorator(self.definition, HookPoint.AFTER_MODEL)

    @property
    def before_tool(self) -> HookDecorator:
        """Inspect each call of a tool or another agent before it is made: ``name`` and ``arguments``.

        The arguments are shown to nobody before. ``Replace(arguments)`` replaces the arguments, also for the person who
        approves the call. With ``Refuse(sentence)``, the call is not made, and the model gets the sentence.
        """
        return HookDecorator(self.definition, HookPoint.BEFORE_TOOL)

    @property
    def after_tool(self) -> HookDecorator:
        """Inspect the result of each call of a tool or another agent: ``name``, ``arguments`` and ``result``, a text.

        With ``Replace(text)``, the model gets the text, which is also stored. With ``Refuse(sentence)``, the model gets
        the sentence.
        """
        return HookDecorator(self.definition, HookPoint.AFTER_TOOL)

    @property
    def on_handoff(self) -> HookDecorator:
        """Inspect each handoff before it is made: the id of the ``agent``, ``reason`` and ``summary``.

        With ``Refuse(sentence)``, the conversation stays with its present agent.
        """
        return HookDecorator(self.definition, HookPoint.ON_HANDOFF)

"""``RunContext``: the steps of an agent's ``run``, which are recorded so that none is repeated after a crash."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from random import Random
from typing import Any, Protocol, TypeVar, overload
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from baton.authoring.agent import Agent, get_id
from baton.authoring.errors import WrongArgument
from baton.authoring.functions import read_hints
from baton.authoring.json_schemas import make_object_schema
from baton.authoring.signatures import find_result_type
from baton.authoring.tools import Tool
from baton.authoring.type_checks import make_type_check
from baton.domain.agents.answer_schema import AnswerType, check_answer_schema
from baton.domain.agents.tool import HttpTool, OpenApiTool, PythonTool
from baton.ports.agents.tools import ToolFailed, TurnContext

R = TypeVar("R")
T = TypeVar("T")

Convert = Callable[[str], Any]


class Steps(Protocol):
    """The steps of a coroutine. Each method numbers its step when it is called, and carries it out when awaited."""

    def ask(self, agent_id: str, message: str) -> Awaitable[str]:
        """Consult an agent. Raises ``ToolFailed``."""

    def begin_task(self, agent_id: str, message: str) -> Awaitable[str]:
        """Begin the work of an agent in the background. Return the task's id. Raises ``ToolFailed``."""

    def call(self, name: str, arguments: Mapping[str, Any], convert: Convert) -> Awaitable[Any]:
        """Call a tool, and return its result after ``convert``. Raises ``ToolFailed``."""

    def model(self, instruction: str, kind: AnswerType | None, convert: Convert, *, history: bool) -> Awaitable[Any]:
        """Ask the agent's model once, for a text or for JSON of ``kind``, and return its answer after ``convert``."""

    def answer(self, instruction: str | None) -> Awaitable[None]:
        """Let the agent's model write to the user."""

    def say(self, text: str) -> Awaitable[None]:
        """Show a text to the user."""

    def incoming(self) -> Awaitable[list[str]]:
        """Take messages that the user has sent during the run into the run, and return their texts."""

    def hand_over(self, agent_id: str, reason: str, summary: str) -> Awaitable[None]:
        """Hand the conversation over to a specialist. Raises ``ToolFailed``."""

    def return_to_main(self, summary: str, outcome: str) -> Awaitable[None]:
        """Hand the conversation back. Raises ``ToolFailed``."""

    def branch_out(self, branches: tuple[Awaitable[Any], ...]) -> Awaitable[list[Any]]:
        """Wait for branches that work at the same time, and return their results in order."""

    def now(self) -> datetime:
        """Return the time of the branch's last step."""

    @property
    def random(self) -> Random:
        """The branch's generator of random numbers."""

    def uuid(self) -> UUID:
        """Return a new id."""


@dataclass(frozen=True, slots=True)
class RunContext(TurnContext):
    """The user, the conversation and the turn of an agent's ``run``, and the steps that it may take.

    Each step has a number and is recorded with its result. A worker that takes over the turn starts ``run`` again. The
    recorded steps then return their recorded results and are not repeated. ``run`` must therefore take the same steps
    again: code that depends on time, chance or other systems belongs in a step. Of the attributes of a ``TurnContext``,
    ``state`` is a copy here, which only calls of tools change.
    """

    steps: Steps = field(kw_only=True, repr=False, compare=False)
    """The steps of the coroutine."""

    def ask(self, agent: Agent | str, message: str) -> Awaitable[str]:
        """Ask another agent, one of ``sub_agents``, and return its answer. That agent gets only the message.

        The question is a sub-task, with separate messages, time limit and tokens.

        Args:
            agent: The agent, or its id.
            message: The whole question.

        Raises:
            ToolFailed: The agent could not answer, or this agent may not ask it for this user.
        """
        return self.steps.ask(get_id(agent), message)

    def begin(self, agent: Agent | str, message: str) -> Awaitable[str]:
        """Begin the work of one of ``background_agents`` in the background, and return the task's id at once.

        The result begins a separate turn in the conversation: ``run`` is called with the result as ``message``, and
        ``begun_by`` names the task.

        Args:
            agent: The agent, or its id.
            message: The whole question.

        Raises:
            ToolFailed: The task cannot begin: the agent is not one of ``background_agents`` for this user, too many
                tasks are open, or this agent works in a fork or is consulted, so that nobody waits for the result.
        """
        return self.steps.begin_task(get_id(agent), message)

    @overload
    def call(self, tool: Tool[..., Coroutine[Any, Any, R]], /, **arguments: Any) -> Awaitable[R]: ...
    @overload
    def call(self, tool: Tool[..., R], /, **arguments: Any) -> Awaitable[R]: ...
    @overload
    def call(self, tool: HttpTool | OpenApiTool | PythonTool | str, /, **arguments: Any) -> Awaitable[str]: ...

    def call(self, tool: Any, /, **arguments: Any) -> Awaitable[Any]:
        """Call one of the agent's ``tools``, with the rules for a model's calls: permissions, approval, hooks, limits.

        A tool that needs an approval ends the run with the question. When a person has answered, ``run`` begins again
        and continues after this step.

        Args:
            tool: The function with ``@tool``, the definition of another tool, or a tool's name.
            arguments: The arguments that a model would give.

        Returns:
            The function's result with the type of its annotation; a text for other tools and without an annotation.

        Raises:
            ToolFailed: The call failed. ``is_refused`` is true if a person, a hook or a rule has refused the call.
        """
        name = _find_name(tool)
        return self.steps.call(name, arguments, partial(_read_result, name, tool))

    @overload
    def model(self, instruction: str, *, history: bool = True) -> Awaitable[str]: ...
    @overload
    def model(self, instruction: str, *, output_type: type[T], history: bool = True) -> Awaitable[T]: ...

    def model(self, instruction: str, *, output_type: Any = None, history: bool = True) -> Awaitable[Any]:
        """Ask the agent's model once, without tools. The user does not see the answer.

        Args:
            instruction: The task. It follows the agent's prompt, the conversation and the user's message.
            output_type: The type of the answer: a pydantic model, a dataclass or a ``TypedDict``. Default: text.
            history: False if the model should get only the instruction, as the user's message.

        Returns:
            The answer as text, or as ``output_type``.

        Raises:
            WrongArgument: The type's JSON is not an object, or an agent could not declare its schema.
        """
        if output_type is None:
            return self.steps.model(instruction, None, str, history=history)
        try:
            kind = AnswerType(check_answer_schema(make_object_schema(output_type)), make_type_check(output_type))
        except ValueError as problem:
            raise WrongArgument(f"output_type: {problem}") from problem
        return self.steps.model(instruction, kind, TypeAdapter(output_type).validate_json, history=history)

    def answer(self, instruction: str | None = None) -> Awaitable[None]:
        """Let the agent's model answer the user, without tools. The text is shown while the model writes it.

        Args:
            instruction: The content of the answer, such as facts that were found. Default: only the user's message.
        """
        return self.steps.answer(instruction)

    def say(self, text: str) -> Awaitable[None]:
        """Show the user a text, as a separate message. Guardrails judge it before.

        Args:
            text: The text.
        """
        return self.steps.say(text)

    def incoming(self) -> Awaitable[list[str]]:
        """Take the messages that the user has sent during the run to steer the agent, in their order.

        They become part of this turn and are shown at this place. Later calls of ``model`` and ``answer`` include them.
        Messages that are not taken are answered in the next turn.

        Returns:
            The texts that guardrails allow; an empty list if there are none.
        """
        return self.steps.incoming()

    def hand_over(self, agent: Agent | str, *, reason: str, summary: str) -> Awaitable[None]:
        """Hand the conversation over to one of ``handoffs``. ``run`` ends here.

        A specialist answers in this turn; the people of a desk answer later.

        Args:
            agent: The agent, or its id.
            reason: The reason, for records.
            summary: What the other agent must know.

        Raises:
            ToolFailed: The conversation cannot be handed over now.
        """
        return self.steps.hand_over(get_id(agent), reason, summary)

    def return_to_main(self, summary: str, *, outcome: str = "completed") -> Awaitable[None]:
        """Hand the conversation back to the main agent, as a specialist. ``run`` ends here.

        Args:
            summary: What was done and decided, for the main agent.
            outcome: The outcome in a word or two.

        Raises:
            ToolFailed: The agent is not a specialist now, or may not return.
        """
        return self.steps.return_to_main(summary, outcome)

    def gather(self, *branches: Awaitable[T]) -> Awaitable[list[T]]:
        """Wait for steps or coroutines with steps that work at the same time, and return their results in order.

        If branches fail, the first failure is raised after all branches have ended. Use ``asyncio.gather`` only for
        steps: a coroutine with several steps needs this method, which numbers its steps.

        Args:
            branches: At most 100 steps or coroutines.
        """
        return self.steps.branch_out(branches)

    def now(self) -> datetime:
        """Return the time at which the last step ended, in UTC. It is the same when ``run`` begins again."""
        return self.steps.now()

    @property
    def random(self) -> Random:
        """Random numbers that are the same when ``run`` begins again. Do not use them for secrets."""
        return self.steps.random

    def uuid(self) -> UUID:
        """Return a new id that is the same when ``run`` begins again."""
        return self.steps.uuid()


def _find_name(tool: Any) -> str:
    """Return the name of a tool, which may be given as its name, its function or its definition."""
    if isinstance(tool, str):
        return tool
    if isinstance(tool, Tool):
        return tool.definition.name
    if isinstance(tool, HttpTool | PythonTool):
        return tool.name
    if isinstance(tool, OpenApiTool):
        return tool.name or tool.operation_id
    if inspect.isfunction(tool):
        return tool.__name__
    raise WrongArgument(f"{tool!r} is no tool: give the function with @tool, or the tool's name")


def _read_result(name: str, tool: Any, text: str) -> Any:
    """Return the result ``text`` with the type of the tool's annotation, or as text. Raises ``ToolFailed``."""
    hint = find_result_type(read_hints(tool.function)) if isinstance(tool, Tool) else None
    if hint is None or hint is str:
        return text
    try:
        return TypeAdapter(hint).validate_json(text)
    except ValidationError as problem:
        kind = getattr(hint, "__name__", None) or str(hint)
        raise ToolFailed(f"{name} has answered, but not with {kind}.") from problem

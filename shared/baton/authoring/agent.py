"""``Agent``: an agent that is written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from baton.authoring.agent_hooks import HookDecorators
from baton.authoring.call_site import CallSite
from baton.authoring.errors import UnusableDefinition, WrongArgument
from baton.authoring.json_schemas import object_schema
from baton.authoring.tools import Tool, tool
from baton.domain.agents.agent_checks import Problem, check_agent, validation_problems
from baton.domain.agents.agent_settings import (
    LearningSettings,
    MemorySettings,
    ModelChoice,
    RemoteAgent,
    Timeouts,
    ToolLimits,
)
from baton.domain.agents.guardrail import Guardrail as GuardrailDefinition
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.handoffs.workflow_definition import WorkflowDefinition

F = TypeVar("F", bound=Callable[..., Any])

NAMES = {"system_prompt": "prompt", "answer_schema": "output_type"}
"""The names of arguments that differ from the fields that they set, by field."""

Values = Mapping[str, Any]
"""The fields of a part, as a file in YAML would have them."""


class Agent(HookDecorators):
    """An agent. It has the fields of a file in YAML, and is checked by the same rules when it is made.

    An agent of a project is a variable of a module in ``agents/``. Others may name it by its id.

    Args:
        id: Small letters, digits, ``-`` and ``_``. It names the agent in addresses, in tools and in stored data.
        prompt: The system prompt: the same for all users and turns. ``Agent.prompt`` adds what depends on them.
        name: The name that users see. Default: made from the id.
        description: Its abilities, for users and for the models of agents that ask it or hand over to it. Default: its
            name.
        main: Whether a conversation may begin with it.
        tools: Functions with ``@tool``, other functions, HTTP operations and servers of MCP.
        libraries: The project's libraries of documents that it finds besides its own, by their folders' names.
        sub_agents: Agents that it may ask, or their ids.
        handoffs: Agents that it may hand the conversation over to: ``Handoff(...)``, agents or ids.
        workflow: Its guided workflow.
        guardrails: Endpoints that judge what users and the agent say. For functions, use ``@agent.input_guardrail`` and
            ``@agent.output_guardrail``.
        output_type: The type of its answers, if they are JSON and not text: a pydantic model, a dataclass, a
            ``TypedDict``, or a JSON Schema of type object.
        model: Its model, by name or as ``Model(...)``. Default: the deployment's.
        memory: Token budgets of its prompt.
        learning: The completed tasks that become procedures.
        timeouts: Time limits.
        limits: Limits of its use of tools in a turn.
        required_permissions: The permissions a caller needs to talk to it. Without all of them, it is not listed.
        triggers: Phrases and patterns of messages that another agent hands over to this one.
        triggers_in_session: Phrases and patterns of messages that ask it for another task while it is active.
        exit_words: Messages that return the user to the main agent; by locale.
        sentences: The fixed sentences that Baton says for it, by locale and name.
        default_locale: The locale of its sentences for users without one.
        avatar_url: The address of its picture.
        mcp: Whether it is a tool at ``/mcp``, for assistants of others.
        ends_conversations: Whether it may close the conversation.
        client_tools: Whether its model may call tools that the user's application offers.
        client_context: Whether its prompt holds the context that the user's application sends.
        remote: The endpoint of a remote agent, which has its own model and prompt.

    Raises:
        UnusableDefinition: A field is wrong. Its message has a line for each problem, with file and line.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  the field's name
        prompt: str = "",
        *,
        name: str | None = None,
        description: str | None = None,
        main: bool = False,
        tools: Sequence[
            Tool[..., Any] | Callable[..., Any] | HttpTool | McpServer | OpenApiTool | PythonTool | Values
        ] = (),
        libraries: Sequence[str] = (),
        sub_agents: Sequence[Agent | str] = (),
        handoffs: Sequence[HandoffDefinition | Agent | str | Values] = (),
        workflow: WorkflowDefinition | Values | None = None,
        guardrails: Sequence[GuardrailDefinition | Values] = (),
        output_type: Any = None,
        model: ModelChoice | str | Values | None = None,
        memory: MemorySettings | Values | None = None,
        learning: LearningSettings | Values | None = None,
        timeouts: Timeouts | Values | None = None,
        limits: ToolLimits | Values | None = None,
        required_permissions: Sequence[str] = (),
        triggers: Sequence[str] = (),
        triggers_in_session: Sequence[str] = (),
        exit_words: Mapping[str, Sequence[str]] | None = None,
        sentences: Mapping[str, Mapping[str, str]] | None = None,
        default_locale: str | None = None,
        avatar_url: str | None = None,
        mcp: bool = False,
        ends_conversations: bool = False,
        client_tools: bool = True,
        client_context: bool = True,
        remote: RemoteAgent | Values | None = None,
    ) -> None:
        arguments = dict(locals())
        settings = {name: arguments[name] for name, default in _DEFAULTS.items() if arguments[name] is not default}
        self.site = CallSite.of_caller(NAMES, first="id")
        self.is_described = description is not None
        """Whether other agents' models can learn from its description when to turn to it."""
        unfit: list[Problem] = []
        values = {**_described(settings), **_converted(settings, unfit)}
        definition, problems = check_agent(values)
        paths = [problem.place for problem in unfit]
        problems = [problem for problem in problems if not any(problem.place[: len(path)] == path for path in paths)]
        problems = [*unfit, *problems]
        if problems or definition is None:
            raise UnusableDefinition("\n".join(self.site.problem(problem.place, problem.what) for problem in problems))
        self.definition = definition

    @property
    def id(self) -> str:
        """The agent's id."""
        return self.definition.id

    def prompt(self, function: F) -> F:
        """Compute a part of the prompt for each turn, as a decorator of a function.

        The function takes a ``TurnContext`` and returns text, or None for nothing. It may be a coroutine. Its text
        stands behind the history and right before the user's message, never in the system prompt: that stays the
        beginning of every request, so that the provider's prompt cache holds it together with the history.
        """
        self.definition.code.prompt = function
        return function

    def run(self, function: F) -> F:
        """Answer by code, as a decorator of a coroutine, instead of the model and its calls.

        The function takes a ``RunContext`` and the user's ``message``, and may take resources. It returns the answer: a
        text, or None if it has shown everything; with ``output_type``, a value of that type. The agent's prompt, model,
        tools, memory, limits, guardrails and hooks apply to the steps that it takes.

        Raises:
            WrongArgument: The function is not a coroutine, the agent has one already, or is a remote one.
        """
        if self.definition.remote is not None:
            raise WrongArgument("run is for agents of this deployment, and not for remote ones")
        if not inspect.iscoroutinefunction(function):
            raise WrongArgument("run is a coroutine: async def, so that its steps can be awaited")
        if self.definition.code.run is not None:
            raise WrongArgument(f"{self.definition.id} has a function for run already")
        self.definition.code.run = function
        return function

    def __repr__(self) -> str:
        return f"<agent {self.definition.id}>"


_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(Agent.__init__).parameters.items()
    if name != "self"
}


def id_of(agent: Agent | str) -> str:
    """Return an agent's id."""
    return agent.id if isinstance(agent, Agent) else agent


def _described(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts for others, made of the id where they are not given."""
    words = str(arguments.get("id", "")).replace("-", " ").replace("_", " ").strip()
    name = arguments.get("name") or words[:1].upper() + words[1:]
    return {"name": name, "description": arguments.get("description") or name}


def _converted(arguments: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Return the fields as a file in YAML would have them. What cannot be converted is added to ``problems``."""
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        match name:
            case "prompt":
                values["system_prompt"] = value
            case "output_type":
                try:
                    values["answer_schema"] = object_schema(value)
                except ValueError as problem:
                    problems.append(Problem(("answer_schema",), str(problem)))
            case "tools":
                values[name] = [_tool_of(item, index, problems) for index, item in enumerate(_listed(value))]
            case "sub_agents":
                values[name] = [id_of(item) for item in _listed(value)]
            case "handoffs":
                values[name] = [item.id if isinstance(item, Agent) else item for item in _listed(value)]
            case "model":
                values[name] = {"name": value} if isinstance(value, str) else value
            case "name" | "description":
                pass
            case _:
                values[name] = value
    workflow = arguments.get("workflow")
    completion = workflow.on_complete if isinstance(workflow, WorkflowDefinition) else None
    if completion is not None and completion.function is not None:
        tools = values.setdefault("tools", [])
        if all(getattr(item, "name", None) != completion.tool for item in tools):
            tools.append(completion.function)
    return values


def _listed(value: Any) -> Any:
    """Return a sequence unchanged. Any other value becomes its only item, for the check to refuse."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _tool_of(item: Any, index: int, problems: list[Problem]) -> Any:
    if isinstance(item, Tool):
        return item.definition
    if not callable(item):
        if isinstance(item, str):
            problems.append(Problem(("tools", index), f"{item!r} is text: write the function itself, without quotes"))
        return item
    try:
        return tool(item).definition
    except ValidationError as error:
        problems += [
            Problem(("tools", index), validation_problem.what) for validation_problem in validation_problems({}, error)
        ]
    except ValueError as problem:
        problems.append(Problem(("tools", index), str(problem)))
    return item

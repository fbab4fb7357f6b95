"""``Agent``: an agent that is written in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from baton.authoring.agent_hooks import HookDecorators, check_answers_here
from baton.authoring.call_site import CallSite
from baton.authoring.errors import UnusableDefinition, WrongArgument
from baton.authoring.json_schemas import make_object_schema
from baton.authoring.tools import Tool, tool
from baton.authoring.type_checks import make_type_check
from baton.domain.agents.agent import AgentKind
from baton.domain.agents.agent_checks import Problem, check_agent, describe_validation_problems
from baton.domain.agents.agent_settings import (
    BackgroundSettings,
    EventRule,
    LearningSettings,
    MemorySettings,
    ModelChoice,
    RemoteAgent,
    ScheduleRules,
    Timeouts,
    ToolLimits,
)
from baton.domain.agents.guardrail import Guardrail as GuardrailDefinition
from baton.domain.agents.tool import HttpTool, McpServer, OpenApiTool, PythonTool
from baton.domain.desks.desk import ClosedDesk, DeskDefinition
from baton.domain.desks.opening_hours import OpeningHours
from baton.domain.handoffs.handoff import ContextMode, HandoffDefinition
from baton.domain.handoffs.workflow_definition import WorkflowDefinition

F = TypeVar("F", bound=Callable[..., Any])

NAMES = {"system_prompt": "prompt", "answer_schema": "output_type"}
"""The names of arguments by the field that they set, where the two names differ."""

Values = Mapping[str, Any]
"""The fields of a part, as a file in YAML would have them."""


class Agent(HookDecorators):
    """An agent. Its arguments are fields of an agent's YAML file, and the constructor checks them by the same rules.

    ``prompt`` is the field ``system_prompt``, and ``output_type`` the field ``answer_schema``.

    An agent of a project is a variable of a module in ``agents/``. Other agents may refer to it by its id.

    Args:
        id: Small letters, digits, ``-`` and ``_``. It names the agent in addresses, in tools and in stored data.
        prompt: The system prompt: the same for all users and turns. ``Agent.prompt`` adds what depends on them.
        name: The name that users see. Default: made from the id.
        description: Its abilities, for users and for the models of agents that ask it or hand over to it. Default: its
            name.
        main: Whether a conversation may begin with it.
        tools: Functions with ``@tool``, other functions, HTTP operations and servers of MCP.
        libraries: The project's libraries that it searches besides its own documents, by the names of their folders.
        sub_agents: Agents that it may ask, or their ids.
        background_agents: The sub-agents that work in the background, while the user continues the conversation.
        background: The hours that these sub-agents have, and whether results open a closed conversation again:
            ``{"expires_hours": 24, "after_closing": "reopens"}``.
        handoffs: Agents that it may hand the conversation over to: ``Handoff(...)``, agents or ids.
        workflow: Its guided workflow.
        guardrails: Endpoints that judge texts of users and of the agent. For functions, use
            ``@agent.input_guardrail`` and ``@agent.output_guardrail``.
        output_type: The type of its answers, if they are JSON and not text: a pydantic model, a dataclass, a
            ``TypedDict``, or a JSON Schema of type object. Validators of a model check the answers, too.
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
        client_context: Whether its prompt contains the context that the user's application sends.
        schedules: Whether its users may have schedules and reminders, and how many.
        events: The types of events that begin a run of it: ``{"type": "order.shipped", "instructions": "..."}``.
        while_busy: The treatment of messages that are sent while it works: ``queue`` (default), ``steer`` or
            ``interrupt``.
        while_busy_allowed: The treatments that a message may choose. Default: all of them.
        remote: The endpoint of a remote agent, which has its own model and prompt.

    Raises:
        UnusableDefinition: A field is wrong. The message has a line for each problem, with file and line.
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
        background_agents: Sequence[Agent | str] = (),
        background: BackgroundSettings | Values | None = None,
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
        schedules: ScheduleRules | Values | None = None,
        events: Sequence[EventRule | Values] = (),
        while_busy: Literal["queue", "steer", "interrupt"] | None = None,
        while_busy_allowed: Sequence[str] | None = None,
        remote: RemoteAgent | Values | None = None,
    ) -> None:
        arguments = dict(locals())
        settings = {name: arguments[name] for name, default in _DEFAULTS.items() if arguments[name] is not default}
        unfit: list[Problem] = []
        values = {**_make_texts(settings), **_to_fields(settings, unfit)}
        self._define(CallSite.of_caller(NAMES, first="id"), values, unfit, is_described=description is not None)
        self.definition.code.answer_check = make_type_check(output_type)

    def _define(
        self, site: CallSite, values: Mapping[str, Any], unfit: Sequence[Problem] = (), *, is_described: bool
    ) -> None:
        """Check the agent's fields, and set its definition. ``site`` is the call that makes the agent.

        Raises ``UnusableDefinition`` for problems of the fields, and for the problems in ``unfit``.
        """
        self.site = site
        self.is_described = is_described
        """Whether the agent has a description, from which other agents' models learn its abilities."""
        definition, problems = check_agent(values)
        # The rules of a desk are direct arguments of ``Desk``, so problems are named without the field ``desk``.
        problems = [
            replace(problem, place=problem.place[1:]) if problem.place[:1] == ("desk",) else problem
            for problem in problems
        ]
        unfit_paths = [problem.place for problem in unfit]
        others = [
            problem for problem in problems if not any(problem.place[: len(path)] == path for path in unfit_paths)
        ]
        problems = [*unfit, *others]
        if problems or definition is None:
            raise UnusableDefinition("\n".join(self.site.problem(problem.place, problem.what) for problem in problems))
        self.definition = definition

    @property
    def id(self) -> str:
        """The agent's id."""
        return self.definition.id

    def prompt(self, function: F) -> F:
        """Compute a part of the prompt for each turn, as a decorator of a function.

        The function takes a ``TurnContext`` and returns text, or None for no text. It may be a coroutine. The text is
        placed between the history and the user's message, and not in the system prompt. So the beginning of every
        request, with the system prompt and the history, stays the same for the provider's prompt cache.

        Raises:
            WrongArgument: The agent has such a function already, is remote or a desk.
        """
        check_answers_here(self.definition, "prompt is")
        if self.definition.code.prompt is not None:
            raise WrongArgument(f"{self.definition.id} has a function for prompt already")
        self.definition.code.prompt = function
        return function

    def run(self, function: F) -> F:
        """Answer by code instead of by the model and its calls, as a decorator of a coroutine.

        The function takes a ``RunContext`` and the user's ``message``, and may take resources. It returns the answer: a
        text, None if it has already shown the whole answer, or a value of the type ``output_type``. The agent's prompt,
        model, tools, memory, limits, guardrails and hooks apply to the steps of the function.

        Raises:
            WrongArgument: The function is not a coroutine, or the agent has such a function already, is remote or a
                desk.
        """
        check_answers_here(self.definition, "run is")
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


class Desk(Agent):
    """A desk: an agent whose answers people write.

    Another agent hands the conversation over to it, as to a specialist. No model answers until the desk has returned
    the conversation.

    Args:
        id: Small letters, digits, ``-`` and ``_``.
        name: The name that users see. Default: made from the id.
        description: What its people do, for users and for the models of agents that hand over to it. Default: its name.
        permission: The permission that its people need besides ``desk:answer``.
        hours: Its opening hours: ``{"zone": "Europe/Vienna", "week": {"mon-fri": "09:00-17:00"}}``, with other hours of
            single days in ``except``. Default: it is always open.
        wait_minutes: Minutes of opening time after which a conversation that nobody has taken returns.
        silence_minutes: Minutes for which the person may leave the user without an answer before the conversation
            returns; 0: it never returns for that.
        closed: Outside the hours, ``tell`` says when the desk opens and the other agent stays active; ``queue`` lets
            the conversation wait for the opening.
        context: The part of the conversation that its people get, as in ``Handoff``.
        required_permissions: The permissions a user needs to be handed over to it.
        triggers: Phrases and patterns of messages that another agent hands over to it.
        exit_words: Messages that return the user to the main agent; by locale.
        sentences: The fixed sentences that Baton says for it, by locale and name.
        default_locale: The locale of its sentences for users without one.
        avatar_url: The address of its picture.

    Raises:
        UnusableDefinition: A field is wrong. Its message has a line for each problem, with file and line.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  the field's name
        *,
        name: str | None = None,
        description: str | None = None,
        permission: str | None = None,
        hours: OpeningHours | Values | None = None,
        wait_minutes: int = 10,
        silence_minutes: int = 30,
        closed: ClosedDesk | Literal["tell", "queue"] = ClosedDesk.STAY,
        context: ContextMode | Literal["summary", "recent", "full", "forked"] = ContextMode.SUMMARY,
        required_permissions: Sequence[str] = (),
        triggers: Sequence[str] = (),
        exit_words: Mapping[str, Sequence[str]] | None = None,
        sentences: Mapping[str, Mapping[str, str]] | None = None,
        default_locale: str | None = None,
        avatar_url: str | None = None,
    ) -> None:
        arguments = dict(locals())
        rules = {name: arguments[name] for name in DeskDefinition.model_fields if arguments[name] is not None}
        others = ("id", "required_permissions", "triggers", "exit_words", "sentences", "default_locale", "avatar_url")
        values = {name: arguments[name] for name in others if arguments[name] not in (None, ())}
        values |= {**_make_texts(arguments), "kind": AgentKind.DESK, "desk": rules}
        self._define(CallSite.of_caller({}, first="id"), values, is_described=description is not None)

    def __repr__(self) -> str:
        return f"<desk {self.definition.id}>"


def get_id(agent: Agent | str) -> str:
    """Return the id of an agent, which may be given as its id."""
    return agent.id if isinstance(agent, Agent) else agent


def _make_texts(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the agent's name and description. The default of the name is made from the id.

    The default of the description is the name.
    """
    words = str(arguments.get("id", "")).replace("-", " ").replace("_", " ").strip()
    name = arguments.get("name") or words[:1].upper() + words[1:]
    return {"name": name, "description": arguments.get("description") or name}


def _to_fields(arguments: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Return the fields in the form of a YAML file. Problems of unsuitable values are added to ``problems``."""
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        match name:
            case "prompt":
                values["system_prompt"] = value
            case "output_type":
                try:
                    values["answer_schema"] = make_object_schema(value)
                except ValueError as problem:
                    problems.append(Problem(("answer_schema",), str(problem)))
            case "tools":
                values[name] = [
                    _to_tool_definition(item, index, problems) for index, item in enumerate(_to_sequence(value))
                ]
            case "sub_agents" | "background_agents":
                values[name] = [get_id(item) for item in _to_sequence(value)]
            case "handoffs":
                values[name] = [item.id if isinstance(item, Agent) else item for item in _to_sequence(value)]
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


def _to_sequence(value: Any) -> Any:
    """Return a sequence unchanged. Put any other value into a list, so that the check can refuse it."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _to_tool_definition(item: Any, index: int, problems: list[Problem]) -> Any:
    """Return the tool definition of a function, or another value unchanged.

    ``index`` is the position in the field ``tools``, for problems that are added to ``problems``.
    """
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
            Problem(("tools", index), validation_problem.what)
            for validation_problem in describe_validation_problems({}, error)
        ]
    except ValueError as problem:
        problems.append(Problem(("tools", index), str(problem)))
    return item

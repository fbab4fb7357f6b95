"""The parts of an agent: handoffs, a guided workflow, and tools that are no functions.

Each function returns the same definition as the corresponding lines of a YAML file. Each raises
``pydantic.ValidationError`` or ``WrongArgument`` for wrong arguments; the import of the agents adds file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from baton.authoring.agent import Agent, get_id
from baton.authoring.errors import WrongArgument
from baton.authoring.json_schemas import make_object_schema
from baton.authoring.tools import Tool, tool
from baton.authoring.type_checks import make_type_check
from baton.domain.agents import tool as tools
from baton.domain.agents.guardrail import Guardrail as GuardrailDefinition
from baton.domain.definition import Definition
from baton.domain.handoffs.completion import Completion as CompletionDefinition
from baton.domain.handoffs.handoff import ContextMode, HandoffDefinition
from baton.domain.handoffs.workflow_definition import Condition as ConditionDefinition
from baton.domain.handoffs.workflow_definition import Transition as TransitionDefinition
from baton.domain.handoffs.workflow_definition import WorkflowDefinition, WorkflowState
from baton.domain.tenants.secret import HeaderValue

D = TypeVar("D", bound=Definition)

Headers = Mapping[str, HeaderValue | Mapping[str, Any]]
"""Headers of requests by name: texts, or references to secrets that have the values."""
Mode = ContextMode | Literal["summary", "recent", "full", "forked"]


class _Unset:
    """The type of the default of ``equals``, which cannot be None because None is a value of JSON."""


_UNSET: Any = _Unset()
_ALWAYS_SET = ("type", "equals")
"""Fields that are set even if the value is the default or None."""


def Handoff(  # noqa: N802  it stands where a class would
    agent: Agent | str,
    *,
    context_mode: Mode = ContextMode.SUMMARY,
    recent_messages: int = 10,
    show_tool_calls: bool = False,
    preserve_state: bool = True,
    return_expected: bool = True,
    reason: str | None = None,
    required_permissions: Sequence[str] = (),
) -> HandoffDefinition:
    """An agent to which another agent may hand the conversation over.

    Args:
        agent: The target, or its id.
        context_mode: The part of the conversation that it gets: ``summary``, ``recent``, ``full`` or ``forked``.
        recent_messages: The number of messages that the modes ``recent`` and ``forked`` include.
        show_tool_calls: Whether it sees other agents' tool calls, as plain text.
        preserve_state: Whether its workflow is saved when the user leaves.
        return_expected: Whether it may return to the main agent itself. Otherwise only the user can end the handoff.
        reason: The situation in which to hand over, for the model of the agent that hands over.
        required_permissions: Permissions that the user needs in addition to those of the target.
    """
    return _make_definition(HandoffDefinition, locals(), agent=get_id(agent))


def Workflow(  # noqa: N802
    name: str,
    states: Sequence[WorkflowState | Mapping[str, Any]],
    *,
    title: str | None = None,
    untitled: str | None = None,
    expiry_days: float = 30,
    on_exit: Literal["save", "discard"] = "save",
    produces: Literal["skill"] | None = None,
    on_complete: CompletionDefinition | Tool[..., Any] | Callable[..., Any] | str | Mapping[str, Any] | None = None,
) -> WorkflowDefinition:
    """The guided workflow of an agent. The order of states is the order of steps; the first is the start.

    Args:
        name: Its name for users.
        states: The states, with ``State(...)``.
        title: The name of one workflow in progress, with placeholders for collected data: ``your {name} skill``.
        untitled: Its name before that data is collected. Default: ``name``.
        expiry_days: The days for which an unfinished workflow can be continued.
        on_exit: The treatment of an unfinished workflow when the user leaves: ``save`` or ``discard``.
        produces: ``skill`` if a completed workflow becomes a private skill of the user for the main agent.
        on_complete: The tool that Baton calls with the collected data at the end: a function, the name of one of the
            agent's tools, or ``Completion(...)``. The workflow is completed once the call has succeeded.
    """
    return _make_definition(WorkflowDefinition, locals(), on_complete=_to_completion(on_complete))


def Completion(  # noqa: N802
    tool: Tool[..., Any] | Callable[..., Any] | str,
    *,
    arguments: Mapping[str, str] | None = None,
    back_to: str | None = None,
) -> CompletionDefinition:
    """The tool that completes a workflow, and its arguments.

    Args:
        tool: A function, or the name of one of the agent's tools.
        arguments: The collected data for arguments that are named neither like a field nor like a state: a field,
            ``state.field``, or a state for all of its data.
        back_to: The state to return to if the tool refuses. Default: the state before the end. A function may return
            ``Refuse("...", state="...")``.
    """
    completion = _to_completion(tool)
    name = completion if isinstance(completion, str) else completion.tool
    definition = _make_definition(CompletionDefinition, {"arguments": arguments, "back_to": back_to}, tool=name)
    return definition.of(completion.function) if isinstance(completion, CompletionDefinition) else definition


def State(  # noqa: N802
    name: str,
    label: str,
    *,
    instructions: str = "",
    collects: Mapping[str, Any] | type | None = None,
    transitions: Sequence[TransitionDefinition | str] | None = None,
    final: bool = False,
    can_exit: bool = True,
) -> WorkflowState:
    """One state of a workflow.

    Args:
        name: Its name for transitions and for the model.
        label: The name of the step for users.
        instructions: Instructions for the model in this state.
        collects: The data that must be collected before the next states: a pydantic model, a dataclass, a
            ``TypedDict`` or a JSON Schema of type object. Validators of a model check the data, too.
        transitions: The transitions, or names of states. Default: to the next state and back to every earlier one.
        final: Whether reaching it completes the workflow.
        can_exit: Whether clients offer the user to leave in this state.
    """
    state = _make_definition(WorkflowState, locals(), collects=_make_data_schema(collects))
    return state.of_type(make_type_check(collects))


def Transition(to: str, *, when: ConditionDefinition | None = None) -> TransitionDefinition:  # noqa: N802
    """A transition to another state of the workflow.

    Args:
        to: The name of the state.
        when: The condition, with ``Condition(...)``. Default: no condition.
    """
    return _make_definition(TransitionDefinition, locals())


def Condition(  # noqa: N802
    field: str, *, equals: Any = _UNSET, present: bool | None = None, one_of: Sequence[Any] | None = None
) -> ConditionDefinition:
    """A condition on collected data: exactly one of ``equals``, ``present`` and ``one_of``.

    Args:
        field: A field that the state itself collects, or ``state.field``.
        equals: The value that the field must have, which may be None.
        present: True if the field must have a value; False if it must have none.
        one_of: The values that the field may have.

    Raises:
        pydantic.ValidationError: Not exactly one of the three is set.
    """
    return _make_definition(ConditionDefinition, locals())


def HttpTool(  # noqa: N802
    name: str,
    description: str,
    url: str,
    *,
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET",
    parameters: Mapping[str, Any] | None = None,
    headers: Headers | None = None,
    requires_approval: bool = False,
    asks: str | None = None,
    label: str | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
    background: Mapping[str, Any] | None = None,
) -> tools.HttpTool:
    """One HTTP operation as a tool.

    Args:
        name: Its name for models.
        description: Its purpose, for models.
        url: The URL. Each ``{placeholder}`` in path and query is a required argument.
        method: The HTTP method.
        parameters: JSON Schema of the arguments. Those without a placeholder go to the query or the body.
        headers: Headers, or where their values are: ``{"secret": "name"}``.
        requires_approval: Whether a person must agree to each call.
        asks: The question for that person, with placeholders for arguments: ``Book {days} days[ of {kind}]?``
        label: Its name for people. Default: its name for models.
        required_permissions: The permissions a user needs.
        timeout_seconds: The time limit of one call.
        background: For a tool that may answer 202 and report later: ``{"expires_hours": 24, "cancel": False}``.
    """
    return _make_definition(tools.HttpTool, locals(), type="http")


def Guardrail(  # noqa: N802
    name: str,
    url: str,
    *,
    checks: Sequence[
        Literal["input", "output", "before_model", "after_model", "before_tool", "after_tool", "on_handoff"]
    ]
    | None = None,
    headers: Headers | None = None,
    timeout_seconds: float = 5,
    on_failure: Literal["closed", "open"] = "closed",
) -> GuardrailDefinition:
    """An endpoint that judges texts of users and of the agent, and actions of the agent.

    Args:
        name: Its name in metadata, in records and in stubs of tests.
        url: The URL, which gets POST requests with JSON.
        checks: The texts and points of hooks that it judges, of ``input``, ``output``, ``before_model``,
            ``after_model``, ``before_tool``, ``after_tool`` and ``on_handoff``. Default: ``input`` and ``output``.
        headers: Headers, or where their values are: ``{"secret": "name"}``.
        timeout_seconds: The time limit of one request.
        on_failure: ``closed`` if a failure counts as a refusal, ``open`` if the turn continues after a failure.
    """
    return _make_definition(GuardrailDefinition, locals())


def OpenApiTool(  # noqa: N802
    spec: str,
    operation_id: str,
    *,
    name: str | None = None,
    base_url: str | None = None,
    headers: Headers | None = None,
    requires_approval: bool = False,
    asks: str | None = None,
    label: str | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
) -> tools.OpenApiTool:
    """One operation of an API that an OpenAPI document describes, as a tool.

    Args:
        spec: URL of the document, or its path below the folder ``agents/``.
        operation_id: The operation's id in the document.
        name: Its name for models. Default: the operation's id.
        base_url: The API's base URL. Default: the document's first server.
        headers: Headers, or where their values are.
        requires_approval: Whether a person must agree to each call.
        asks: The question for that person, with placeholders for arguments: ``Book {days} days[ of {kind}]?``
        label: Its name for people. Default: its name for models.
        required_permissions: The permissions a user needs.
        timeout_seconds: The time limit of one call.
    """
    return _make_definition(tools.OpenApiTool, locals(), type="openapi")


def McpServer(  # noqa: N802
    name: str,
    url: str,
    *,
    include: Sequence[str] | None = None,
    headers: Headers | None = None,
    requires_approval: bool | Sequence[str] = False,
    asks: Mapping[str, str] | None = None,
    label: Mapping[str, str] | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
    background: Mapping[str, Any] | None = None,
) -> tools.McpServer:
    """The tools of an MCP server with streamable HTTP.

    Args:
        name: The server's name. It is put before the name of a tool if another source has a tool of the same name.
        url: The server's URL.
        include: The offered tools, by the server's names. Default: all.
        headers: Headers, or where their values are.
        requires_approval: Whether a person must agree to each call: of all tools, or of those listed.
        asks: The questions for that person by the server's names of tools, with placeholders for arguments.
        label: Names of tools for people, by the server's names.
        required_permissions: The permissions a user needs.
        timeout_seconds: The time limit of one call.
        background: For a server whose tools may answer with a task: ``{"expires_hours": 24}``.
    """
    return _make_definition(tools.McpServer, locals(), type="mcp")


def _make_data_schema(kind: Mapping[str, Any] | type | None) -> dict[str, Any] | None:
    """Return the JSON Schema of the data that a state collects; None without any. Raises ``WrongArgument``."""
    if kind is None:
        return None
    try:
        return make_object_schema(kind)
    except ValueError as problem:
        raise WrongArgument(f"collects: {problem}") from problem


def _to_completion(kind: Any) -> Any:
    """Return the definition of a function that completes a workflow, or another value unchanged."""
    if not callable(kind):
        return kind
    function = (kind if isinstance(kind, Tool) else tool(kind)).definition
    return CompletionDefinition(tool=function.name).of(function)


def _make_definition(definition: type[D], arguments: Mapping[str, Any], **converted: Any) -> D:
    """Return the definition, with those fields set whose arguments differ from the default.

    The values of ``converted`` replace those of ``arguments``. Raises ``pydantic.ValidationError``.
    """
    defaults = definition.model_fields
    values = {
        name: value
        for name, value in {**arguments, **converted}.items()
        if value is not _UNSET and (name in _ALWAYS_SET or (value is not None and value != defaults[name].default))
    }
    return definition.model_validate(values)

"""Finds the definitions of a deployment that cannot be used at present, for the start of the local cloud.

It also makes the search indices, as a deployment does.

Deployed functions do not run these checks, because a cold start must not wait for other servers. In a deployment, the
first turn finds the problem and logs the same line.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from baton.authoring.errors import CannotLoad
from baton.authoring.signatures import read_result_schema
from baton.authoring.tools import Tool
from baton.composition import deployed_ports
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.agents.guardrail import Refuse
from baton.domain.agents.model_providers import route
from baton.domain.agents.sentences import find_result_placeholder_problems
from baton.domain.agents.tool import PythonTool, ToolDefinition
from baton.domain.definition import find_similar_name
from baton.domain.errors import EmbedderUnavailable, WrongEmbeddings
from baton.domain.handoffs.completion_arguments import find_completion_problems
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.tenants.egress_policy import EgressRefused
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import ToolFailed

EMBEDDER_SECONDS = 5.0
"""The time limit of a call of the embedding model."""


async def make_indices() -> list[str]:
    """Make the missing search indices. Return one line for each index of another model or release.

    Raises ``SearchUnavailable``.
    """
    administration = deployed_ports().search_administration
    if administration is None:
        return []
    return [
        f"The index {state.version} is of another release or of the embedding model {state.embedder or '(none)'}: "
        f"until `python -m baton.composition.admin search reindex {state.index}` has run, "
        "new documents are found by words only."
        for state in await administration.migrate(deployed_ports().embedder)
        if not state.is_current
    ]


async def find_problems(*, with_embedder: bool = False) -> list[str]:
    """Return one line for each tool, function, guardrail, remote agent, model and token issuer that cannot be used.

    ``with_embedder`` tries the embedding model too.

    A line has the place of the definition, the problem, and its effect. Every server is called once, concurrently, for
    at most a few seconds.
    """
    checks = [_check_tools(), _check_remote_agents(), _check_issuers(), *([_check_embedder()] if with_embedder else [])]
    answers = await gather_all(*checks)
    return [*_check_models(), *_check_functions(), *_check_guardrails(), *(line for lines in answers for line in lines)]


def _check_models() -> list[str]:
    """Return a line for each agent's model that belongs to no provider of the settings."""
    ports = deployed_ports()
    try:
        providers = ports.model_providers
    except ValidationError:
        return []  # the check of settings reports the mistake
    return [
        f"{ports.agent_files.find_position(agent, *location)}: {name!r} begins with the name of no provider "
        f"({', '.join(sorted(providers))}), and there is no default one (OPENAI_BASE_URL): the agent cannot answer."
        for agent in ports.agent_files.all()
        for location, name in _list_named_models(agent.model)
        if route(name, providers).provider not in providers
    ]


def _check_guardrails() -> list[str]:
    """Return a line for each guardrail whose host may not be called."""
    ports = deployed_ports()
    results = []
    for agent in ports.agent_files.all():
        for number, guardrail in enumerate(agent.guardrails):
            try:
                ports.settings.egress.check_url(guardrail.url)
            except EgressRefused as problem:
                location = ports.agent_files.find_position(agent, "guardrails", number, "url")
                results.append(f"{location}: {problem} The guardrail {guardrail.name} fails until then.")
    return results


def _list_named_models(choice: ModelChoice) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the models that an agent names, each with the path of its field."""
    if choice.name is not None:
        yield ("model", "name"), choice.name
    for number, name in enumerate(choice.fallback):
        yield ("model", "fallback", number), name


def _check_functions() -> list[str]:
    """Return a line for each function of an agent in Python that cannot be called."""
    ports, results = deployed_ports(), []
    for function, arguments in (function for agent in ports.agent_files.all() for function in agent.code.functions):
        try:
            ports.functions.check(function, arguments)
        except CannotLoad as problem:
            results.append(f"{ports.agent_files.find_function_position(function)}: {problem}")
    return results


async def _check_tools() -> list[str]:
    """Return a line for each tool that cannot be used, and for each problem of tools that complete workflows."""
    tools = [tool for agent in deployed_ports().agent_files.all() for tool in agent.tools]
    if not tools:
        return []
    return [*await deployed_ports().outside.toolbox.check(tools), *await _check_completions()]


async def _check_completions() -> list[str]:
    """Return a line for each problem of a workflow with the tool that completes it."""
    files, results = deployed_ports().agent_files, []
    for agent in files.all():
        completion = agent.workflow.on_complete if agent.workflow is not None else None
        if agent.workflow is None or completion is None:
            continue
        everything = frozenset(name for tool in agent.tools for name in tool.required_permissions)
        offered = await deployed_ports().outside.toolbox.offered(agent, Scope("check", "check", everything))
        tool = next((tool for tool in offered.tools if tool.spec.name == completion.tool), None)
        wrong = (
            list(find_completion_problems(agent.workflow, completion, tool.spec.parameters)) if tool is not None else []
        )
        if tool is None and not offered.missing:
            wrong.append(f"there is no tool {completion.tool!r}")
        if tool is not None and tool.requires_approval and _is_forked_to(agent.id):
            wrong.append(f"{tool.spec.name} needs an approval, which a forked conversation cannot wait for")
        where = files.find_position(agent, "workflow", "on_complete")
        results += [f"{where}: {what}. The workflow cannot be completed until then." for what in wrong]
        definition = next((candidate for candidate in agent.tools if candidate.name == completion.tool), None)
        instead = f"to {completion.back_to}" if completion.back_to else "to the state before the end"
        results += [
            f"{where}: {what}. It goes {instead} instead." for what in _find_unknown_states(agent.workflow, definition)
        ]
        results += [
            f"{files.find_position(agent, 'sentences', locale, name)}: {what}. The sentence is not said until then."
            for locale, name, what in find_result_placeholder_problems(agent, _find_result_schema(definition))
        ]
    return results


def _find_result_schema(tool: ToolDefinition | None) -> Mapping[str, Any]:
    """Return the schema of a tool's result; a schema that allows anything if it is unknown."""
    function = _find_function(tool)
    return (read_result_schema(function) if function is not None else None) or {"additionalProperties": True}


def _find_function(tool: ToolDefinition | None) -> Callable[..., Any] | None:
    """Return the function of a tool; None if the tool is not a function, or its module is not imported."""
    if not isinstance(tool, PythonTool):
        return None
    module, _, name = tool.entry_point.partition(":")
    function = tool.function or getattr(sys.modules.get(module), name, None)
    return function.function if isinstance(function, Tool) else function


def _find_unknown_states(workflow: WorkflowDefinition, tool: ToolDefinition | None) -> Iterator[str]:
    """Yield a line for each state that a function's code names in a refusal, but the workflow does not have."""
    function = _find_function(tool)
    if function is None:
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, SyntaxError, TypeError):
        return  # no source, or the source of more than a function
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "id", getattr(call.func, "attr", None))
        for argument in call.keywords if name in (Refuse.__name__, ToolFailed.__name__) else ():
            state = argument.value.value if isinstance(argument.value, ast.Constant) else None
            if argument.arg == "state" and isinstance(state, str) and workflow.find_state(state) is None:
                similar = find_similar_name(state.upper(), [entry.name for entry in workflow.states])
                advice = f" (did you mean {similar}?)" if similar else ""
                yield f"{function.__name__} refuses to the state {state!r}, which does not exist{advice}"


def _is_forked_to(agent_id: str) -> bool:
    """Return whether an agent hands over to another one in a fork."""
    handoffs = [handoff for agent in deployed_ports().agent_files.all() for handoff in agent.handoffs]
    return any(handoff.agent == agent_id and handoff.context_mode is ContextMode.FORKED for handoff in handoffs)


async def _check_remote_agents() -> list[str]:
    """Return a line for each remote agent that cannot be asked."""
    files = deployed_ports().agent_files
    remote = [agent for agent in files.all() if agent.remote is not None]
    if not remote:
        return []
    client = deployed_ports().outside.remote_agents
    reasons = await gather_all(*(client.check(agent) for agent in remote))
    return [
        f"{files.find_position(agent, 'remote', 'card_url')}: {agent.id} cannot be asked: {reason.rstrip('.')}. Agents "
        "that need it answer without it; it is tried again when it is asked."
        for agent, reason in zip(remote, reasons, strict=True)
        if reason is not None
    ]


async def _check_issuers() -> list[str]:
    """Return a line for each token issuer whose keys cannot be read."""
    unreadable = await asyncio.to_thread(deployed_ports().jwt_verifier.find_unreadable_issuers)
    return [
        f"BATON_TOKEN_ISSUERS: the keys of {issuer} cannot be read: {reason.rstrip('.')}. Its tokens are refused until "
        "they can be."
        for issuer, reason in unreadable.items()
    ]


async def _check_embedder() -> list[str]:
    """Return a line if the embedding model cannot be used; none if embeddings are off."""
    embedder = deployed_ports().embedder
    if not embedder.dimensions:
        return []
    try:
        await embedder.embed(["ready"], seconds=EMBEDDER_SECONDS)
    except WrongEmbeddings as wrong:
        return [f"BATON_EMBEDDING_MODEL={embedder.name}: {wrong.detail} Until then no document can be added."]
    except EmbedderUnavailable:
        return [
            f"BATON_EMBEDDING_MODEL={embedder.name}: it does not answer; the log has the reason. Documents wait for "
            "it, and search finds words only."
        ]
    return []
